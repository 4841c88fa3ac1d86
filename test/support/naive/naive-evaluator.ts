/**
 * The second opinion on a score.
 *
 * Written from docs/scorecards.md and docs/decisions.md 3 and 4 alone, without a look at the
 * engine, in the slowest and plainest way: every bin is looked at, every range text is read again
 * for every value. It must stay too simple to be wrong; speed has no say here.
 */

export interface NaiveBin {
  range?: string
  value?: string
  points: number
}

export interface NaiveFeature {
  name: string
  type: 'numeric' | 'categorical'
  bins: NaiveBin[]
  woe_values?: number[] | Record<string, number>
}

export interface NaiveGrade {
  grade: string
  min_score: number | null
  max_score: number | null
}

export interface NaiveSpec {
  name: string
  version: string
  spec_version?: string
  target: string
  base_points: number
  features: NaiveFeature[]
  scaling: { base_score: number; base_odds: number; pdo: number }
  risk_grades?: NaiveGrade[]
}

export type Applicant = Readonly<Record<string, unknown>>

interface NaiveResult {
  /** Base points plus the points of every feature, in spec order; not rounded. */
  score: number
  /** Probability of default, 0 to 1, both ends reachable by rounding. */
  pd: number
  riskGrade: string | null
  /** Feature name and points, in spec order. A list, since an object moves integer-like names. */
  contributions: Array<[string, number]>
  /** For each feature the index of the bin whose points were used, -1 for none. */
  bins: number[]
  /**
   * For each feature its cell in the score log: 0 unseen category, 1 in no bin, 2 not a number,
   * 3 missing or the text of the Missing bin, 4 + bin; -1 for an invalid value.
   */
  cells: number[]
  /** Features with a value that no bin matches, even where the Missing bin then gave the points. */
  unmatched: string[]
  /** Features that are absent from the applicant or null. */
  missing: string[]
  /** Whether the applicant has a key for any feature at all, be its value null. */
  namesNone: boolean
  /** The applicant's own keys that are no feature, in request order. */
  unknown: string[]
  /** Features whose value no score may be made from; the service rejects such an applicant. */
  invalid: string[]
}

interface Range {
  min: number
  minClosed: boolean
  max: number
  maxClosed: boolean
}

/**
 * Scores one applicant by the letter of the texts.
 *
 * An invalid feature counts 0 points here, only so that the other features can still be compared:
 * its applicant is rejected and has no score.
 *
 * @param spec a valid spec; a faulty one gives an exception or nonsense
 * @param applicant feature values as JSON.parse gives them; only own properties count
 * @source docs/scorecards.md; docs/decisions.md 3 and 4
 */
export function evaluateNaively(spec: NaiveSpec, applicant: Applicant): NaiveResult {
  const names = spec.features.map((feature) => feature.name)
  const contributions: Array<[string, number]> = []
  const bins: number[] = []
  const cells: number[] = []
  const unmatched: string[] = []
  const missing: string[] = []
  const invalid: string[] = []
  let score = spec.base_points

  for (const feature of spec.features) {
    const value = Object.hasOwn(applicant, feature.name) ? applicant[feature.name] : null
    let bin = -1
    if (value === null) {
      missing.push(feature.name)
      bin = missingBin(feature)
    } else if (typeof value === 'string' || (typeof value === 'number' && Number.isFinite(value))) {
      bin = matchingBin(feature, value)
      if (bin === -1) {
        unmatched.push(feature.name)
        // Only a categorical value falls to the Missing bin; a number in a hole gets 0 points.
        if (feature.type === 'categorical') bin = missingBin(feature)
      }
    } else {
      invalid.push(feature.name)
    }
    const points = feature.bins[bin]?.points ?? 0
    bins.push(bin)
    cells.push(findCell(feature, value))
    contributions.push([feature.name, points])
    score = score + points
  }

  const unknown = Object.keys(applicant).filter((name) => !names.includes(name))
  const namesNone = names.every((name) => !Object.keys(applicant).includes(name))
  const pd = probabilityOfDefault(spec.scaling, score)
  const riskGrade = readGrade(spec.risk_grades ?? [], score)
  const found = { cells, unmatched, missing, namesNone, unknown, invalid }
  return { score, pd, riskGrade, contributions, bins, ...found }
}

function findCell(feature: NaiveFeature, value: unknown): number {
  if (value === null) return 3
  if (typeof value !== 'string' && !(typeof value === 'number' && Number.isFinite(value))) return -1
  const bin = matchingBin(feature, value)
  if (bin !== -1) return bin === missingBin(feature) ? 3 : 4 + bin
  if (feature.type === 'categorical') return 0
  return typeof value === 'number' ? 1 : 2
}

function matchingBin(feature: NaiveFeature, value: string | number): number {
  for (let index = 0; index < feature.bins.length; index++) {
    const bin = feature.bins[index] ?? { points: 0 }
    const isMatch =
      feature.type === 'numeric'
        ? isInRange(bin.range ?? '', value)
        : isInCategories(bin.value ?? '', value)
    if (isMatch) return index
  }
  return -1
}

function missingBin(feature: NaiveFeature): number {
  return feature.bins.findIndex(
    (bin) => (feature.type === 'numeric' ? bin.range : bin.value) === 'Missing',
  )
}

/** Whether a value of a numeric feature matches the bin with this range text. */
export function isInRange(text: string, value: string | number): boolean {
  if (typeof value === 'string') return false // a string matches no bin of a numeric feature
  if (text === 'Missing') return false
  const { min, minClosed, max, maxClosed } = parseRange(text)
  const isAboveMin = minClosed ? min <= value : min < value
  const isBelowMax = maxClosed ? value <= max : value < max
  return isAboveMin && isBelowMax
}

/** A number is compared by its shortest decimal form, which is what `String` gives. */
function isInCategories(joined: string, value: string | number): boolean {
  const text = String(value)
  return joined.split('%,%').some((category) => category === text)
}

/**
 * Reads interval notation: `(` and `)` leave the bound out, `[` and `]` take it in.
 *
 * @param text two bounds in decimal form or `-Infinity`, `Infinity`; white space is free
 * @throws Error when the text is not an interval: the caller promised a valid spec
 */
function parseRange(text: string): Range {
  const trimmed = text.trim()
  const opening = trimmed.slice(0, 1)
  const closing = trimmed.slice(-1)
  const bounds = trimmed.slice(1, -1).split(',')
  const [min, max] = bounds.map((bound) => (bound.trim() === '' ? Number.NaN : Number(bound)))
  const isInterval = '(['.includes(opening) && '])'.includes(closing) && bounds.length === 2
  if (!isInterval || min === undefined || max === undefined || !(min <= max)) {
    throw new Error(`no interval: ${text}`)
  }
  return { min, minClosed: opening === '[', max, maxClosed: closing === ']' }
}

/** One of the decimal texts that read back as the same double; which one, `form` says (0 to 7). */
export function decimalText(value: number, form: number): string {
  if (!Number.isFinite(value)) return String(value)
  const forms = [String(value), `${value}.0`, value.toExponential(), value.toPrecision(25)]
  forms.push(value.toExponential(20).toUpperCase(), value.toFixed(20), value.toPrecision(90))
  const text = forms[form] ?? (value === 0 ? '-0' : `${value}e0`)
  return Number(text) === value ? text : String(value)
}

/**
 * PD = 1 / (1 + exp((score - offset) / factor)), operation by operation as the texts write it.
 *
 * Where `offset` or `factor` passes the largest double the written form is Infinity / Infinity; the
 * same exponent is then taken from the calibration point. Such scales are outside what the engine
 * is compared with bit for bit.
 */
function probabilityOfDefault(scaling: NaiveSpec['scaling'], score: number): number {
  const factor = scaling.pdo / Math.log(2)
  const offset = scaling.base_score - factor * Math.log(scaling.base_odds)
  const exponent = (score - offset) / factor
  if (!Number.isNaN(exponent)) return 1 / (1 + Math.exp(exponent))
  return 1 / (1 + Math.exp((score - scaling.base_score) / factor + Math.log(scaling.base_odds)))
}

/** Closed ranges; an end that two grades share belongs to the grade that starts there. */
function readGrade(grades: NaiveGrade[], score: number): string | null {
  const holding = grades.filter(
    (grade) =>
      (grade.min_score === null || grade.min_score <= score) &&
      (grade.max_score === null || score <= grade.max_score),
  )
  const starting = holding.find((grade) => grade.min_score === score)
  return (starting ?? holding[0])?.grade ?? null
}

const DOUBLE = new DataView(new ArrayBuffer(8))

/** The next double above a finite `value`; Infinity above the largest. */
export function nextUp(value: number): number {
  if (value === 0) return Number.MIN_VALUE
  DOUBLE.setFloat64(0, value)
  DOUBLE.setBigInt64(0, DOUBLE.getBigInt64(0) + (value > 0 ? 1n : -1n))
  return DOUBLE.getFloat64(0)
}

/** The next double below a finite `value`; -Infinity below the lowest. */
export function nextDown(value: number): number {
  return -nextUp(-value)
}

/**
 * The values of a feature that can go wrong: each bound, the doubles beside it and what lies
 * between; or each category, the same in upper case, and the number that it reads as.
 */
export function edgeValues(feature: NaiveFeature): Array<string | number> {
  if (feature.type === 'categorical') {
    const categories = feature.bins.flatMap((bin) => (bin.value ?? '').split('%,%'))
    const numbers = categories.map(Number).filter(Number.isFinite)
    return [...categories, ...categories.map((text) => text.toUpperCase()), ...numbers]
  }
  const ranges = feature.bins.flatMap(({ range = '' }) =>
    range === 'Missing' ? [] : [parseRange(range)],
  )
  const bounds = ranges.flatMap(({ min, max }) => [min, max]).filter(Number.isFinite)
  const edges = bounds.sort((a, b) => a - b)
  const middles = edges.map((edge, index) => edge / 2 + (edges[index + 1] ?? edge) / 2)
  const besides = edges.flatMap((edge) => [nextDown(edge), nextUp(edge)])
  const far = [Number.MAX_VALUE, -Number.MAX_VALUE, 0, -0]
  return [...edges, ...besides, ...middles, ...far].filter(Number.isFinite)
}
