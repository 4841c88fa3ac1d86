/**
 * Bodies that are almost right: good ones with values, names and forms in them that nobody expects.
 */
import fc, { type Arbitrary } from 'fast-check'

const nested = (open: string, inner: string, close: string, levels: number) =>
  open.repeat(levels) + inner + close.repeat(levels)

/** JSON texts, because some of these values no `JSON.stringify` writes. */
const NASTY_VALUES = [
  ...['null', 'true', 'false', '[]', '[null]', '[[]]', '[{}]', '{}', '{"":""}'],
  ...['0', '-0', '-1', '0.1', '1e400', '-1e400', '1e-400', '5e-324', '9007199254740993'],
  ...['""', '" "', '"0"', '"null"', '"{}"', '"Missing"', '"%,%"', '"(0, 1]"', '"(1e999, 5]"'],
  ...['"\\u0000"', '"\\ud800"', '"\\udc00x"', '"\\u2028"', '"🦄"', '"__proto__"', '"toString"'],
  ...['"production"', '"score"', '"../../etc/passwd"', '"$&"', '"\'; drop table users"'],
  ...['{"__proto__":1}', '{"length":1001}', '{"toString":null,"valueOf":1}', '{"toJSON":1}'],
  ...['{"constructor":{"prototype":1}}', '{"then":1}'],
  nested('[', '', ']', 2_000),
  nested('{"a":', '1', '}', 2_000),
  `"${'x'.repeat(20_000)}"`,
  `[${'0,'.repeat(1_500)}0]`,
  `[${'{},'.repeat(1_000)}{}]`,
]
const NASTY_NAMES = [
  ...['', '0', '10', '\0', '\ud800', '"', '🦄', 'x'.repeat(9_000)],
  ...['toString', 'constructor', 'hasOwnProperty', 'toJSON', 'then'],
  ...['spec', 'records', 'applicant', 'strict_mode'],
]

const nastyValue = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...NASTY_VALUES) },
  { weight: 1, arbitrary: fc.json({ maxDepth: 3 }) },
)

const change = fc.record({
  kind: fc.constantFrom('replace', 'replace', 'replace', 'remove', 'add', 'wrap', 'double'),
  place: fc.nat(9_999),
  value: nastyValue,
  name: fc.constantFrom(...NASTY_NAMES),
})
type Change = typeof change extends Arbitrary<infer T> ? T : never

/** A few changes anywhere in a good body; sometimes no JSON at all. */
export function hostileBody(good: object): Arbitrary<string> {
  const changed = fc
    .array(change, { minLength: 1, maxLength: 3 })
    .map((changes) => applyAll(good, changes))
  return fc.oneof(
    { weight: 12, arbitrary: changed },
    { weight: 1, arbitrary: nastyValue },
    { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 40 }) },
    { weight: 1, arbitrary: fc.tuple(changed, fc.nat()).map(cut) },
  )
}

function cut([text, at]: [string, number]): string {
  return text.slice(0, at % (text.length + 1))
}

/** Puts marks into a copy of the body, and the values' texts into the places of the marks. */
function applyAll(good: object, changes: readonly Change[]): string {
  const root = { body: structuredClone(good) }
  const texts: string[] = []
  for (const { kind, place, value, name } of changes) {
    const places = placesIn(root)
    const [holder, key] = places[place % places.length] ?? [root, 'body']
    const inner: unknown = Reflect.get(holder, key)
    const mark = () => `@${texts.push(value) - 1}@`
    if (kind === 'remove' && holder !== root) Reflect.deleteProperty(holder, key)
    else if (kind === 'wrap') Reflect.set(holder, key, [inner])
    else if (kind === 'double' && Array.isArray(inner)) inner.push(...inner)
    else if (kind === 'add' && typeof inner === 'object' && inner !== null) {
      Object.defineProperty(inner, name, { value: mark(), enumerable: true, configurable: true })
    } else Reflect.set(holder, key, mark())
  }
  return (JSON.stringify(root.body) ?? '').replaceAll(
    /"@(\d+)@"/g,
    (_, index) => texts[index] ?? '',
  )
}

/** Every property and item below, as the object that holds it and its key. */
function placesIn(holder: object): Array<[holder: object, key: string]> {
  return Object.entries(holder).flatMap(([key, value]): Array<[object, string]> => {
    const here: [object, string] = [holder, key]
    return typeof value === 'object' && value !== null ? [here, ...placesIn(value)] : [here]
  })
}
