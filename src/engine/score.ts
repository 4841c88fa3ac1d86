import { slotOfCategory } from './category-table.ts'
import {
  type CompiledFeature,
  type CompiledModel,
  SLOT_MISSING,
  SLOT_UNMATCHED,
} from './compile.ts'
import { gradeOf } from './grades.ts'
import { probabilityOfDefault } from './scaling.ts'

/** What happened to one feature; `invalid` means that no score may be given. */
export type Outcome = 'matched' | 'missing' | 'unmatched' | 'invalid'

/** One applicant as `JSON.parse` gives it: own keys only are read. */
export type Applicant = Readonly<Record<string, unknown>>

const SLOT_INVALID = -1

/** From so many keys on `JSON.parse` makes a hash table, which has a quick lookup and slow values. */
const HASHED_KEYS_MIN = 128

/** Keys beyond the features whose place a sheet remembers. */
const EXTRA_KEYS_EXPECTED = 8

/**
 * What one model says of one applicant. Filled by `scoreApplicant` and meant to be reused: each
 * call overwrites all of it, so a sheet is read before the next applicant is scored.
 */
export class ScoreSheet {
  readonly model: CompiledModel
  /** Base points plus the points of the matched bins, not rounded. */
  score = 0
  /** Probability that the applicant is bad, 0..1. */
  pd = 0
  grade: string | null = null
  /** Features absent or null. */
  missingCount = 0
  /** Features whose value matches no bin. */
  unmatchedCount = 0
  /** Own keys of the applicant that are no feature. */
  unknownCount = 0
  /** Features whose value is neither a finite number nor a string; above 0, score and pd are void. */
  invalidCount = 0
  /** Slot of each feature, `SLOT_INVALID` for an invalid value. */
  readonly slots: Int32Array
  /**
   * Feature that the key at each position of the applicant last was: a guess, always checked. All
   * keys beyond the last position share that.
   */
  readonly expected: CompiledFeature[]

  constructor(model: CompiledModel) {
    this.model = model
    const { features } = model
    this.slots = new Int32Array(features.length)
    const extra = new Array<CompiledFeature>(EXTRA_KEYS_EXPECTED).fill(features[0]!)
    this.expected = [...features, ...extra]
  }

  /** Index in the spec of the bin whose points were used; -1 where no bin was. */
  binOf(feature: number): number {
    return this.model.binOfSlot[this.slots[feature]!] ?? -1
  }

  /** Points that the feature added to the score. */
  pointsOf(feature: number): number {
    return this.model.points[this.slots[feature]!] ?? 0
  }

  outcomeOf(feature: number): Outcome {
    const slot = this.slots[feature]!
    if (slot === SLOT_INVALID) return 'invalid'
    const outcome = slot - this.model.slotStart[feature]!
    return outcome === SLOT_UNMATCHED
      ? 'unmatched'
      : outcome === SLOT_MISSING
        ? 'missing'
        : 'matched'
  }
}

/**
 * Scores one applicant: score = base points + the points of the matched bins, summed in spec order
 * in double precision, so that it is reproducible to the bit.
 *
 * Walks the applicant's own keys rather than the features: a lookup by a name that is not constant
 * costs V8 ten times as much as a step of the walk. Where each key led is remembered in the sheet,
 * because the next applicant mostly has the same keys in the same order. As long as that is the order
 * of the spec, points are summed on the way.
 *
 * The walk allocates the keys and the values, 50 ns for 20 features. `for in` with `applicant[name]`
 * does without, until V8 has met one applicant that it lays out otherwise: with 128 keys, with a number
 * for a key, or with a whole number where others of its batch have a fraction. From then on it costs
 * 1 us more, whoever the applicant is.
 *
 * @param applicant feature values: a finite number, a string, or null for missing
 * @param sheet receives the result
 * @param reservedName a key that may stand beside the features and is none (`strict_mode`, `id`)
 */
export function scoreApplicant(
  applicant: Applicant,
  sheet: ScoreSheet,
  reservedName?: string,
): void {
  const { model, slots, expected } = sheet
  const { features, points } = model
  let score = model.basePoints
  let isInOrder = true
  /** Features before this one have their slot, and are in the sum. */
  let next = 0
  let others = 0
  let unknown = 0
  let unmatched = 0
  let nulls = 0
  let invalid = 0
  const names = Object.keys(applicant)
  const values = names.length < HASHED_KEYS_MIN ? Object.values(applicant) : null
  for (let position = 0; position < names.length; position++) {
    const name = names[position]!
    const value = values === null ? applicant[name] : values[position]
    const place = Math.min(position, expected.length - 1)
    let feature = expected[place]!
    if (feature.name !== name) {
      const index = model.featureIndex.get(name)
      if (index === undefined) {
        if (name !== reservedName) unknown++
        others++
        continue
      }
      feature = features[index]!
      expected[place] = feature
    }
    const slot = slotOf(model, feature, value)
    if (slot <= feature.missingSlot) {
      if (slot === SLOT_INVALID) invalid++
      else if (slot === feature.missingSlot) nulls++
      else unmatched++
    }
    const { index } = feature
    if (index > next) {
      score = addAbsent(sheet, score, next, index)
      next = index
    }
    slots[index] = slot
    if (index === next) {
      next++
      if (slot !== SLOT_INVALID) score += points[slot]!
    } else isInOrder = false
  }
  score = addAbsent(sheet, score, next, features.length)
  sheet.missingCount = nulls + features.length - (names.length - others)
  sheet.unmatchedCount = unmatched
  sheet.unknownCount = unknown
  sheet.invalidCount = invalid
  setScore(sheet, isInOrder ? score : sumPoints(sheet))
}

/** Takes the features from `first` to before `end` as missing. @returns the sum with their points */
function addAbsent({ model, slots }: ScoreSheet, sum: number, first: number, end: number): number {
  let score = sum
  for (let feature = first; feature < end; feature++) {
    const slot = model.features[feature]!.missingSlot
    slots[feature] = slot
    score += model.points[slot]!
  }
  return score
}

/** Adds up in spec order, whatever the order of the applicant's keys. */
function sumPoints({ model, slots }: ScoreSheet): number {
  let score = model.basePoints
  for (let feature = 0; feature < slots.length; feature++) {
    const slot = slots[feature]!
    if (slot !== SLOT_INVALID) score += model.points[slot]!
  }
  return score
}

function setScore(sheet: ScoreSheet, score: number): void {
  const { model } = sheet
  sheet.score = score
  sheet.pd = probabilityOfDefault(model.scale, score)
  sheet.grade = gradeOf(model.grades, score)
}

/** Own keys of the applicant that are neither a feature nor `reservedName`, in request order. */
export function unknownVariables(
  model: CompiledModel,
  applicant: Applicant,
  reservedName?: string,
): string[] {
  return Object.keys(applicant).filter(
    (name) => !model.featureIndex.has(name) && name !== reservedName,
  )
}

/** A text is no number, whatever it looks like: a numeric feature has no category to match it. */
function slotOf(model: CompiledModel, feature: CompiledFeature, value: unknown): number {
  if (typeof value === 'number') return slotOfNumber(model, feature, value)
  if (typeof value === 'string') return slotOfCategory(feature.categories, value)
  return value === null ? feature.missingSlot : SLOT_INVALID
}

/**
 * Slot of a number: the interval that holds it, or the category that its shortest decimal form is.
 *
 * The search for the last interval that starts at or below the value has no branch that depends on
 * it: a mispredicted branch costs more than the comparison.
 */
function slotOfNumber(model: CompiledModel, feature: CompiledFeature, value: number): number {
  if (!Number.isFinite(value)) return SLOT_INVALID
  let count = feature.intervals
  if (count === 0) return slotOfCategory(feature.categories, String(value))
  const { intervalLow } = model
  let first = feature.intervalStart
  while (count > 1) {
    const half = count >>> 1
    first += half * +(intervalLow[first + half]! <= value)
    count -= half
  }
  return intervalLow[first]! <= value && value <= model.intervalHigh[first]!
    ? first + feature.intervalSlot
    : feature.unmatchedSlot
}
