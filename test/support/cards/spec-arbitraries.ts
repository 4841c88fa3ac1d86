/**
 * Random specs and applicants, biased to where scoring goes wrong: bin edges and the doubles
 * beside them, holes, texts that look like numbers, names that every object inherits. What the
 * texts leave open is not generated, so that a failing property is a defect and no matter of taste.
 */
import fc, { type Arbitrary } from 'fast-check'
import type {
  Applicant,
  NaiveBin,
  NaiveFeature,
  NaiveGrade,
  NaiveSpec,
} from '../naive/naive-evaluator.ts'
import { decimalText, edgeValues, nextDown, nextUp } from '../naive/naive-evaluator.ts'

type Body = Omit<NaiveFeature, 'name'>

export const exactly = (length: number) => ({
  minLength: length,
  maxLength: length,
  size: 'max' as const,
})

const PROTOTYPE_NAMES = ['toString', 'constructor', 'hasOwnProperty', 'valueOf', '__defineGetter__']
export const RESERVED_NAMES = ['strict_mode', 'id', '__proto__']
const ODD_NAMES = '10|2|-1|1.5|age|Age| |a b|"|\'|line\nbreak|length|🦄|é|e\u0301|\0|%,%|a.b[0]'
const knownName = fc.constantFrom(...PROTOTYPE_NAMES, ...ODD_NAMES.split('|'))
const featureName = fc
  .oneof(knownName, fc.string({ unit: 'grapheme', maxLength: 5 }))
  .filter((name) => name !== '' && !RESERVED_NAMES.includes(name))

// Bounded so that no sum of 1 + 14 terms passes the largest double.
const EDGE_POINTS = [0, -0, 0.1, -0.3, 1e-300, -5e-324, 1e15, -1e15, 2 ** 53, 1e100]
const points = fc.oneof(
  { weight: 5, arbitrary: fc.integer({ min: -200, max: 200 }) },
  { weight: 3, arbitrary: fc.integer({ min: -20_000, max: 20_000 }).map((n) => n / 100) },
  { weight: 2, arbitrary: fc.constantFrom(...EDGE_POINTS) },
)

const EDGE_NUMBERS = [0, 0.1, 0.1 + 0.2, 0.3, 1e-7, 1e21, 2 ** 53, 5e-324, -5e-324, 2 ** -1022]
EDGE_NUMBERS.push(25, Number.MAX_VALUE, -Number.MAX_VALUE)
const cut = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: -50, max: 50 }) },
  { weight: 3, arbitrary: fc.integer({ min: -5000, max: 5000 }).map((n) => n / 100) },
  { weight: 2, arbitrary: fc.constantFrom(...EDGE_NUMBERS) },
  { weight: 2, arbitrary: fc.double({ noNaN: true, noDefaultInfinity: true }) },
)

/** Ascending distinct finite doubles, some one ulp apart; adding 0 turns -0 into 0. */
const cuts = fc
  .array(fc.record({ at: cut, hasTwin: fc.boolean() }), { minLength: 1, maxLength: 5 })
  .map((drawn) => {
    const all = drawn.flatMap(({ at, hasTwin }) => (hasTwin ? [at, nextUp(at)] : [at]))
    return [...new Set(all.map((at) => at + 0).filter(Number.isFinite))].sort((a, b) => a - b)
  })

/**
 * How one bin looks, and to whom the cut above it belongs: a neighbour, a bin of its own, nobody.
 */
const slot = fc.record({
  points,
  order: fc.nat(999),
  isHole: fc.nat(6).map((n) => n === 5),
  owner: fc.constantFrom('left', 'left', 'right', 'right', 'itself', 'nobody'),
  isClosedAtInfinity: fc.boolean(),
  space: fc.constantFrom(' ', '  ', '\t', '\r\n'),
  spaceMask: fc.nat(63),
  forms: fc.tuple(fc.nat(7), fc.nat(7)),
})
type Slot = typeof slot extends Arbitrary<infer T> ? T : never

/** `isClosed` and `bounds` hold the lower end, then the upper. */
function rangeText(bounds: [number, number], isClosed: [boolean, boolean], look: Slot): string {
  const space = (place: number) => ((look.spaceMask >> place) & 1 ? look.space : '')
  const [min, max] = [decimalText(bounds[0], look.forms[0]), decimalText(bounds[1], look.forms[1])]
  const head = `${space(0)}${isClosed[0] ? '[' : '('}${space(1)}${min}${space(2)}`
  return `${head},${space(3)}${max}${space(4)}${isClosed[1] ? ']' : ')'}${space(5)}`
}

/**
 * Lays bins over the line between and at the cuts. An open stretch without a double in it is left
 * out: the texts do not say whether `(a, b)` is empty when no double lies between its bounds.
 */
function layBins(ascendingCuts: number[], slots: Slot[]): NaiveBin[] {
  const placed: Array<{ order: number; bin: NaiveBin }> = []
  const last = ascendingCuts.length
  const place = (bounds: [number, number], isClosed: [boolean, boolean], look: Slot) => {
    const bin = { range: rangeText(bounds, isClosed, look), points: look.points }
    placed.push({ order: look.order, bin })
  }
  for (const [index, look] of slots.slice(0, last + 1).entries()) {
    const min = ascendingCuts[index - 1] ?? -Infinity
    const max = ascendingCuts[index] ?? Infinity
    const holdsMin = index > 0 && slots[index - 1]?.owner === 'right'
    const holdsMax = index < last && look.owner === 'left'
    if (index < last && look.owner === 'itself') {
      place([max, max], [true, true], slots[last + 1 + index] ?? look)
    }
    if (look.isHole || (!holdsMin && !holdsMax && nextUp(min) === max)) continue
    const isMinClosed = index === 0 ? look.isClosedAtInfinity : holdsMin
    place([min, max], [isMinClosed, index === last ? look.isClosedAtInfinity : holdsMax], look)
  }
  if (placed.length === 0) return [{ range: '(-Infinity, Infinity)', points: 1 }]
  return placed.sort((a, b) => a.order - b.order).map(({ bin }) => bin)
}

const missingPlace = fc.option(fc.record({ at: fc.nat(99), points }), { freq: 2 })

export const numericBody: Arbitrary<Body> = cuts.chain((ascendingCuts) =>
  fc
    .tuple(fc.array(slot, exactly(2 * ascendingCuts.length + 1)), missingPlace)
    .map(([slots, missing]) => {
      const bins = layBins(ascendingCuts, slots)
      const bin = { range: 'Missing', points: missing?.points ?? 0 }
      if (missing) bins.splice(missing.at % (bins.length + 1), 0, bin)
      return { type: 'numeric', bins }
    }),
)

const ODD_CATEGORIES =
  '| |car|Car| car|a, b|3|3.0|-0|0|1e+21|1e21|0.1|null|%|,|100%|\'|"|Missing|(1, 2]|é|e\u0301|🦄'
const category = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...ODD_CATEGORIES.split('|'), ...PROTOTYPE_NAMES) },
  { weight: 1, arbitrary: fc.string({ unit: 'grapheme', maxLength: 4 }) },
  { weight: 1, arbitrary: fc.string({ unit: fc.constantFrom('%', ',', 'a'), maxLength: 6 }) },
)

/**
 * Joined texts whose parts all differ. Joining categories that contain `%` or `,` can make other
 * parts than went in, so uniqueness is decided on what splitting gives.
 */
function distinctValues(joined: string[]): string[] {
  const seen = new Set<string>()
  return joined.filter((value) => {
    const parts = value.split('%,%')
    if (new Set(parts).size < parts.length || parts.some((part) => seen.has(part))) return false
    for (const part of parts) seen.add(part)
    return true
  })
}

export const categoricalBody: Arbitrary<Body> = fc
  .record({
    drawn: fc.array(fc.record({ text: category, bin: fc.nat(7) }), { minLength: 1, maxLength: 12 }),
    binPoints: fc.array(points, exactly(10)),
    missing: missingPlace,
  })
  .map(({ drawn, binPoints, missing }) => {
    const byBin = Object.values(Object.groupBy(drawn, ({ bin }) => bin))
    const joined = byBin.map((members = []) => members.map(({ text }) => text).join('%,%'))
    joined.push('sure') // so that there is a bin other than Missing
    if (missing) joined.splice(missing.at % (joined.length + 1), 0, 'Missing')
    const bins = distinctValues(joined).map((value, index) => ({
      value,
      points: binPoints[index] ?? 0.5,
    }))
    return { type: 'categorical', bins }
  })

/** A feature without, with a list of, or with an object of `woe_values`, which scoring ignores. */
const feature: Arbitrary<NaiveFeature> = fc
  .record({ name: featureName, body: fc.oneof(numericBody, categoricalBody), woe: fc.nat(2) })
  .map(({ name, body, woe }) => {
    const list = body.bins.map((_, index) => index / -8)
    const woe_values = woe === 1 ? list : Object.fromEntries(list.entries())
    return woe === 0 ? { name, ...body } : { name, ...body, woe_values }
  })

// Kept where factor and offset stay finite, so that PD as written can be compared bit for bit.
const scaling = fc.record({
  base_score: fc.oneof(fc.integer({ min: -1000, max: 1000 }), fc.constantFrom(600.5, -1e6, 0)),
  base_odds: fc.constantFrom(50, 19, 1, 1 / 19, 0.02, 3.7, 1e-300, 1e300),
  pdo: fc.oneof(
    fc.constantFrom(20, 50, -20, 0.001, -1e6, 1e-300, 5e-324),
    fc.integer({ min: 1, max: 9999 }).map((n) => n / 8),
  ),
})

/**
 * Disjoint closed ranges upwards along the cuts; `shared` lets the next start where this one ends.
 * Two grades never start at one score: which of them owns it the texts do not say.
 */
const riskGrades = fc
  .record({
    edges: fc.uniqueArray(fc.integer({ min: -800, max: 1600 }), { minLength: 2, maxLength: 7 }),
    kinds: fc.array(fc.constantFrom('shared', 'apart', 'hole', 'point'), exactly(6)),
    flags: fc.array(fc.boolean(), exactly(3)),
  })
  .map(({ edges, kinds, flags }) => {
    const ascending = edges.map((edge) => edge / 2).sort((a, b) => a - b)
    const grades: NaiveGrade[] = []
    for (let at = 0; at < ascending.length - 1; at++) {
      const [min, next, kind] = [ascending[at] ?? 0, ascending[at + 1] ?? 0, kinds[at] ?? 'hole']
      const ends = { shared: next, apart: nextDown(next), hole: next, point: min }
      grades.push({ grade: `grade ${at}`, min_score: min, max_score: ends[kind] })
      if (kind === 'hole') at++
    }
    if (flags[0]) Object.assign(grades[0] ?? {}, { min_score: null })
    if (flags[1]) Object.assign(grades.at(-1) ?? {}, { max_score: null })
    return flags[2] ? grades.reverse() : grades
  })

/** Specs that the service must accept: 1 to 12 features, every notation of decisions section 3. */
export function validSpec(): Arbitrary<NaiveSpec> {
  const features = { minLength: 1, maxLength: 12, selector: ({ name }: NaiveFeature) => name }
  return fc.record(
    {
      name: fc.constant('Random card'),
      version: fc.constant('1.0.0'),
      spec_version: fc.constantFrom('1.0', '1.7', '1.10'),
      target: fc.constant('default_12m'),
      base_points: fc.oneof(fc.integer({ min: 0, max: 800 }), points),
      features: fc.uniqueArray(feature, features),
      scaling,
      risk_grades: riskGrades,
    },
    { requiredKeys: ['name', 'version', 'target', 'base_points', 'features', 'scaling'] },
  )
}

const ABSENT = Symbol('the variable is not in the request')
const STRAY_VALUES = ['Missing', 'missing', '', '25', 'toString', 3, -0, 1e21, 1e-7, 0.1]
const REJECTED_VALUES = [true, false, [], ['car'], { a: 1 }, Infinity, -Infinity]

function valueFor(feature: NaiveFeature): Arbitrary<unknown> {
  return fc.oneof(
    { weight: 70, arbitrary: fc.constantFrom(...edgeValues(feature)) },
    { weight: 12, arbitrary: fc.constantFrom(ABSENT, null) },
    { weight: 8, arbitrary: fc.constantFrom(...STRAY_VALUES) },
    { weight: 1, arbitrary: fc.constantFrom<unknown>(...REJECTED_VALUES) },
  )
}

/**
 * Applicants as JSON.parse gives them, few with a value that must be rejected, some with unknown
 * variables before and after the features. `__proto__` becomes an own property, as in JSON.parse;
 * integer-like unknown names are left out, since every object lists those first.
 */
export function applicantFor(spec: NaiveSpec): Arbitrary<Applicant> {
  const names = spec.features.map(({ name }) => name)
  const strange = [...RESERVED_NAMES, ...PROTOTYPE_NAMES, '', 'Age ', 'unknown', '💥']
  const unknownName = fc.constantFrom(...strange.filter((name) => !names.includes(name)))
  const anyJson = fc.constantFrom<unknown>(1, -0, 'text', null, true, [], { a: [1] })
  const unknown = fc.array(fc.tuple(unknownName, anyJson), { maxLength: 2 })
  return fc
    .tuple(fc.tuple(...spec.features.map(valueFor)), unknown, unknown, fc.nat(2), fc.nat(9))
    .map(([values, before, after, plainness, emptiness]) => {
      const own = names.map((name, index): [string, unknown] => [name, values[index]])
      // Now and then an applicant names no feature at all.
      const present = emptiness === 0 ? [] : own.filter(([, value]) => value !== ABSENT)
      return Object.fromEntries(plainness === 0 ? [...before, ...present, ...after] : present)
    })
}
