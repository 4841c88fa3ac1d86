import fc from 'fast-check'
import { expect, test } from 'vitest'
import { jsonSteps, parseJson } from '../../../src/platform/json.ts'

/** Writes JSON with some characters of every string, names included, as `\u` escapes. */
function writeEscaped(value: unknown, isEscaped: (code: number) => boolean): string {
  if (typeof value === 'string') {
    const parts = Array.from({ length: value.length }, (_, index) => {
      const code = value.charCodeAt(index)
      const mustBe = code < 0x20 || code === 0x22 || code === 0x5c
      const hex = code.toString(16).padStart(4, '0')
      return mustBe || isEscaped(code) ? `\\u${hex}` : value[index]
    })
    return `"${parts.join('')}"`
  }
  if (Array.isArray(value))
    return `[${value.map((one) => writeEscaped(one, isEscaped)).join(' , ')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const properties = Object.entries(value).map(
    ([name, one]) => `${writeEscaped(name, isEscaped)} : ${writeEscaped(one, isEscaped)}`,
  )
  return `{\n${properties.join(',\t')} }`
}

const similarName = fc.oneof(
  fc.constantFrom(
    'gr\\u0',
    'größe',
    'alter',
    'a\\',
    'a"',
    '\\u0061',
    'a',
    'constructor',
    'toString',
  ),
  fc.string({ unit: 'binary', maxLength: 6 }),
)
const value = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.oneof(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.integer(), fc.boolean()),
    fc.oneof(fc.constant(null), fc.string({ unit: 'binary' })),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(
      similarName.filter((name) => name !== '__proto__'),
      tie('value'),
      { maxKeys: 5 },
    ),
  ),
})).value

// V8 takes an escaped name for an earlier one of the process: another applicant's, another team's.
test('a value is read as it was written, whatever is escaped and whatever was read before', () => {
  fc.assert(
    fc.property(value, fc.integer({ min: 1, max: 5 }), (written, every) => {
      const text = writeEscaped(written, (code) => code % every === 0)
      // Compared by its own text: -0 is 0 in JSON, and the order of names counts.
      expect(JSON.stringify(parseJson(text))).toBe(JSON.stringify(written))
    }),
    { numRuns: 20_000 },
  )
})

test("an earlier request can't rename a feature of a later one", () => {
  parseJson('{"alter":1,"gr\\\\u0":0}')
  expect(parseJson('{"alter": 40, "gr\\u00f6\\u00dfe": 180}')).toEqual({ alter: 40, größe: 180 })
})

test('texts that are no JSON are refused, and only those', () => {
  const tokens =
    '{|}|[|]|,|:|"|"a"|"a\\n"|"\\x"|"\\u12"|1|-|01|1.|1e5|.5|true|nul|null| |\n|\\|\u00a0|x'
  const noise = fc.array(fc.constantFrom(...tokens.split('|')), { maxLength: 8 })
  fc.assert(
    fc.property(noise, (parts) => {
      const text = `${parts.join('')} ["\\n"`
      for (const candidate of [text, `${text}]`, `[${text}]]`, parts.join('')]) {
        expect(
          isRead(() => parseJson(candidate)),
          candidate,
        ).toBe(isRead(() => JSON.parse(candidate)))
      }
    }),
    { numRuns: 20_000 },
  )
})

test.each([
  ['{"__proto__": 1}', /__proto__/],
  ['{"a": 1, "b": [{"c": 2, "__proto__" \r\n\t : {}}]}', /__proto__/],
  ['{"a": {"__pr\\u006fto__": 1}}', /__proto__/],
  ['', /is empty/],
  [' \n', /is empty/],
  ['{"secret": 12', /^the body is not valid JSON \(at line 1, column 14\)$/],
  ['{"secret": 1,\n  secret: 2}', /^the body is not valid JSON \(at line 2, column 3\)$/],
  ['{"secret": NaN}', /^the body has NaN, .* \(at line 1, column 12\): send null/],
  ['[-Infinity]', /^the body has -Infinity, .* \(at line 1, column 2\): send null/],
  [`{"secret": 12${' '.repeat(1024 * 1024)}`, /^the body is not valid JSON$/],
  ['{"secret": "\\n" 12}', /^the body is not valid JSON \(at line 1, column 17\)$/],
  [`"\\n"`.padStart(9_000, '['), /nested deeper/],
])('%j is refused without being quoted', (text, message) => {
  expect(() => parseJson(text)).toThrow(expect.objectContaining({ code: 'invalid_request' }))
  expect(() => parseJson(text)).toThrow(message)
  expect(() => parseJson(text)).not.toThrow(/secret/)
})

test('a byte order mark is skipped, and the last of equal names counts', () => {
  expect(parseJson('\ufeff{"a":1,"a":"\\n"}')).toEqual({ a: '\n' })
})

function isRead(read: () => unknown): boolean {
  try {
    read()
    return true
  } catch {
    return false
  }
}

// A sample of quoted fields is one text with a million escapes: read at once, it took 0.1 s.
test('a long text is read as it was written, in steps, wherever its escapes are', () => {
  const escapes = fc.constantFrom('\\', '"', '\n', '\u0001', 'ö', '\u{1f600}', '\ud83d', 'x')
  const around = fc.array(escapes, { minLength: 1, maxLength: 9 })
  fc.assert(
    fc.property(around, fc.integer({ min: 65_525, max: 65_540 }), (some, before) => {
      const written = { a: ['x'.repeat(before), some.join('').repeat(20_000)] }
      for (const text of [
        JSON.stringify(written),
        writeEscaped(written, (code) => code === 0x78),
      ]) {
        const steps = jsonSteps(text)
        let step = steps.next()
        let count = 1
        for (; step.done !== true; count++) step = steps.next()
        expect(step.value).toEqual(written)
        expect(count).toBeGreaterThan(text.length / 70_000)
      }
    }),
    { numRuns: 30 },
  )
})

test.each(['\\', '\\x', '\\u12', '\\u12x4', '\n'])('a long text with %j is refused', (fault) => {
  for (const before of [65_530, 65_534, 65_535, 65_536]) {
    expect(() => parseJson(`["${'x'.repeat(before)}${fault}", "\\n"]`)).toThrow('is not valid JSON')
  }
})
