/** Random specs with faults planted where it is known that they must be reported. */
import fc, { type Arbitrary } from 'fast-check'
import type { NaiveBin, NaiveSpec } from '../naive/naive-evaluator.ts'
import { edgeValues, isInRange } from '../naive/naive-evaluator.ts'
import {
  categoricalBody,
  exactly,
  numericBody,
  RESERVED_NAMES,
  validSpec,
} from './spec-arbitraries.ts'

/** A fault that was planted: what it is, and the places at or under which it may be reported. */
interface Fault {
  about: string
  paths: string[]
}
type Planted = { spec: unknown; faults: Fault[] }

/** The places of the two features that wait for a fault, and a number to choose by. */
type Site = Record<'numeric' | 'categorical' | 'dice', number>

/** `area` is the part of the spec that the fault spoils; faults in different areas stand alone. */
interface FaultKind {
  about: string
  area: string
  plant: (spec: NaiveSpec, site: Site) => string[]
}

const UNREADABLE = '|abc|(1, 2|1, 2]|(1 2]|(1, 2, 3]|{1, 2}|(a, b]|(NaN, 2]|(1, ]|(, 2]|missing'
const EMPTY =
  '(5, 5]|[5, 5)|(5, 5)|[6, 5]|(5.0, 5e0]|(-0, 0]|(0.1, 0.10000000000000000000001]|(1e-400, 0]|' +
  '[0, -5e-324]|(Infinity, 5]|(5, -Infinity)|(Infinity, Infinity)'
const bin = (text: string) => ({ range: text, value: text, points: 1 })
const grade = (min: number | null, max: number | null) => ({
  grade: `from ${min}`,
  min_score: min,
  max_score: max,
})
const MANY_BINS = Array.from({ length: 1001 }, (_, n) => bin(`(${n}, ${n + 1}]`))
const MANY_FEATURES = MANY_BINS.map((one) => ({ name: one.value, type: 'numeric', bins: [one] }))

/**
 * A path (`#`: the planted feature of either type, `#n`: the numeric one, `#c`: the categorical
 * one,
 * `*`: any of its bins) and the values that are wrong there; `undefined` takes the property away.
 */
const WRONG_VALUES: Array<[path: string, ...values: unknown[]]> = [
  ['name', undefined, null, 7],
  ['version', undefined, 1],
  ['target', undefined, false],
  ['spec_version', '2.0', '0.9', '10.0'],
  ['base_points', undefined, null, '480', true, Infinity],
  ['features', undefined, null, {}, []],
  ['features', MANY_FEATURES],
  ['scaling', undefined, null, 5],
  ['scaling.base_score', undefined, '600', Infinity],
  ['scaling.base_odds', undefined, '50', 0, -0, -50],
  ['scaling.pdo', undefined, '20', 0, -0],
  ['risk_grades', 'A', 5, [grade(null, 10), grade(9.5, null)]],
  ['risk_grades', [grade(null, null), grade(5, 5)], [grade(0, 10), grade(-5, 20)]],
  ['features[#]', null, 'age'],
  ['features[#].name', undefined, 7, ...RESERVED_NAMES],
  ['features[#].type', undefined, 'ordinal'],
  ['features[#].bins', undefined, null, {}],
  ['features[#].bins', MANY_BINS],
  ['features[#n].bins', [bin('(0, Infinity]'), bin('(5, 9]')]],
  ['features[#n].bins', [bin('(0, 1e999]'), bin('(1e999, Infinity)')]],
  ['features[#n].bins', [bin('(-Infinity, -1e999)'), bin('(-1e999, 0]')]],
  ['features[#].bins[*]', null, 5],
  ['features[#].bins[*].points', undefined, null, '5', true, Infinity, -Infinity],
  ['features[#n].bins[*].range', undefined, 5, ...UNREADABLE.split('|')],
  ['features[#n].bins[*].range', ...EMPTY.split('|')],
  ['features[#c].bins[*].value', undefined, null, 5],
  ['features[#].woe_values', 'x', [], Array(99).fill(0), { a: '1' }],
]

function wrongValues([path, ...values]: [path: string, ...values: unknown[]]): FaultKind[] {
  if (path.includes('#]')) {
    return ['#n', '#c'].flatMap((place) => wrongValues([path.replace('#', place), ...values]))
  }
  const first = JSON.stringify(values[0])?.slice(0, 60) ?? 'absent'
  const area = /#.|^\w+/.exec(path.replace('features[', ''))?.[0] ?? ''
  const plant = (spec: NaiveSpec, site: Site) => {
    const at = path.replace('#n', `${site.numeric}`).replace('#c', `${site.categorical}`)
    const count = spec.features[area === '#n' ? site.numeric : site.categorical]?.bins?.length ?? 1
    const real = at.replace('*', `${site.dice % count}`)
    const keys = real.split(/[.[\]]+/).filter((key) => key !== '')
    const last = keys.pop() ?? ''
    const holder = keys.reduce((inner: object, key) => Object(Reflect.get(inner, key)), spec)
    const value = values[site.dice % values.length]
    Reflect.set(holder, last, value)
    if (value === undefined) Reflect.deleteProperty(holder, last)
    return [real]
  }
  return [{ about: `${path}: ${first} and its like`, area, plant }]
}

const overlap: FaultKind['plant'] = (spec, { numeric, dice }) => {
  const { bins = [], ...rest } = spec.features[numeric] ?? { name: '', type: 'numeric' }
  const other = bins.findIndex(({ range }) => range !== 'Missing')
  const { range = '' } = bins[other] ?? {}
  const edges = edgeValues({ ...rest, bins: [{ range, points: 0 }] })
  const inside = edges.filter((value) => isInRange(range, value))
  const value = inside[dice % inside.length]
  bins.push({ range: dice % 3 ? `[${value}, ${value}]` : range, points: 1 })
  return [other, bins.length - 1].map((index) => `features[${numeric}].bins[${index}].range`)
}

const categoryTwice: FaultKind['plant'] = (spec, { categorical, dice }) => {
  const bins = spec.features[categorical]?.bins ?? []
  const other = bins.findIndex(({ value }) => value !== 'Missing')
  const parts = (bins[other]?.value ?? '').split('%,%').filter((part) => part !== 'Missing')
  const part = parts[dice % parts.length] ?? ''
  bins.push({ value: dice % 3 ? part : `planted%,%${part}`, points: 1 })
  return [other, bins.length - 1].map((index) => `features[${categorical}].bins[${index}].value`)
}

function missingTwice(type: 'numeric' | 'categorical'): FaultKind['plant'] {
  const key = type === 'numeric' ? 'range' : 'value'
  return (spec, site) => {
    const bins = spec.features[site[type]]?.bins ?? []
    const isMissing = (bin: NaiveBin) => bin[key] === 'Missing'
    while (bins.filter(isMissing).length < 2) bins.push({ [key]: 'Missing', points: 0 })
    // A joined value may hold the category `Missing`, which then is in two bins as well.
    const isInvolved = (bin: NaiveBin) => bin[key]?.split('%,%').includes('Missing')
    const places = bins.flatMap((bin, index) => (isInvolved(bin) ? [index] : []))
    return places.map((index) => `features[${site[type]}].bins[${index}].${key}`)
  }
}

const nameTwice: FaultKind['plant'] = (spec, { numeric, categorical }) => {
  const other = numeric === 0 ? 1 : 0
  Object.assign(spec.features[categorical] ?? {}, { name: spec.features[other]?.name })
  return [other, categorical].map((index) => `features[${index}].name`)
}

/** Every rule of the "Invalid:" list of decisions section 3, and the required fields. */
export const FAULT_KINDS: readonly FaultKind[] = [
  ...WRONG_VALUES.flatMap(wrongValues),
  { about: 'overlapping ranges, by one value or wholly', area: '#n', plant: overlap },
  { about: 'a category in two bins, alone or behind another', area: '#c', plant: categoryTwice },
  { about: 'two Missing bins of numbers', area: '#n', plant: missingTwice('numeric') },
  { about: 'two Missing bins of categories', area: '#c', plant: missingTwice('categorical') },
  { about: 'two features of one name', area: '#c', plant: nameTwice },
]

/** Plants the kinds in a valid spec that has got one feature of each type for them. */
function readFaultySpec(kinds: Arbitrary<FaultKind[]>): Arbitrary<Planted> {
  return fc
    .tuple(kinds, validSpec(), numericBody, categoricalBody, fc.nat(98), fc.nat(9999))
    .map(([planted, valid, numericPart, categoricalPart, place, dice]) => {
      const spec = structuredClone(valid)
      const numeric = place % (spec.features.length + 1)
      spec.features.splice(numeric, 0, { name: 'planted number', ...structuredClone(numericPart) })
      spec.features.push({ name: 'planted text', ...structuredClone(categoricalPart) })
      const site = { numeric, categorical: spec.features.length - 1, dice }
      const faults = planted.map(({ about, plant }) => ({ about, paths: plant(spec, site) }))
      return { spec, faults }
    })
}

/** Specs with one fault, of the given kinds. */
export function faultySpec(kinds = FAULT_KINDS): Arbitrary<{ spec: unknown } & Fault> {
  const one = fc.constantFrom(...kinds).map((kind) => [kind])
  return readFaultySpec(one).map(({ spec, faults }) => ({
    about: '',
    paths: [],
    ...faults[0],
    spec,
  }))
}

/** Specs with two faults in different areas; none spoils the list of features as a whole. */
export function twiceFaultySpec(): Arbitrary<Planted> {
  const local = fc.constantFrom(...FAULT_KINDS.filter(({ area }) => area !== 'features'))
  const two = fc.array(local, exactly(2)).filter(([one, other]) => one?.area !== other?.area)
  return readFaultySpec(two)
}
