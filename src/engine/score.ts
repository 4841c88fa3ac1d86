import { slotOfCategory } from './category-table.ts'
import {
  type CompiledFeature,
  type CompiledModel,
  SLOT_MISSING,
  SLOT_NO_BIN,
  SLOT_NOT_A_NUMBER,
  SLOT_UNSEEN_CATEGORY,
} from './compile.ts'
import { gradeIndexOf } from './grades.ts'
import { intervalOf } from './interval-table.ts'
import { probabilityOfDefault } from './scaling.ts'

/**
 * What happened to one feature. `unseen_category`: a value that equals no category; `no_bin`: a
 * number between the bins; `not_a_number`: a text for a numeric feature; `invalid`: a value of
 * another type, for which no score may be given.
 */
export type Outcome =
  | 'matched'
  | 'missing'
  | 'unseen_category'
  | 'no_bin'
  | 'not_a_number'
  | 'invalid'

/** Outcomes of the slots before those of the bins. */
const OUTCOMES: readonly Outcome[] = (() => {
  const outcomes: Outcome[] = []
  outcomes[SLOT_UNSEEN_CATEGORY] = 'unseen_category'
  outcomes[SLOT_NO_BIN] = 'no_bin'
  outcomes[SLOT_NOT_A_NUMBER] = 'not_a_number'
  outcomes[SLOT_MISSING] = 'missing'
  return outcomes
})()

/** Outcome of a slot, counted from the first of its feature; a cell has the same first numbers. */
export function outcomeOfOffset(offset: number): Outcome {
  return OUTCOMES[offset] ?? 'matched'
}

/** Whether a value matched no bin, for whatever reason. */
export function isUnmatched(outcome: Outcome): boolean {
  return outcome === 'unseen_category' || outcome === 'no_bin' || outcome === 'not_a_number'
}

/** One applicant as `JSON.parse` returns it; scoring reads own keys only. */
export type Applicant = Readonly<Record<string, unknown>>

const SLOT_INVALID = -1

/**
 * From this many keys on, `JSON.parse` makes a hash table: its lookups are fast, `values` is slow.
 */
const HASHED_KEYS_MIN = 128

/** Number of keys beyond the features whose position `ModelScore` remembers. */
const EXTRA_KEYS_EXPECTED = 8

/**
 * The result of one model for one applicant. `scoreApplicant` fills it, and callers reuse it: each
 * call overwrites all of it, so the result must be read before the next applicant is scored.
 */
export class ModelScore {
  readonly model: CompiledModel
  /** Base points plus the points of the matched bins, not rounded. */
  score = 0
  /**
   * Probability that the applicant is bad, 0..1; NaN when the model has no scale. Not null, because
   * V8 would then allocate memory for each number in this property.
   */
  pd = 0
  grade: string | null = null
  /** Index of the grade in the names of the model's grades; -1 when the score has none. */
  gradeIndex = -1
  /** Number of features that the applicant names, with a value or with null. */
  namedCount = 0
  /** Number of features that are absent or null. */
  missingCount = 0
  /** Number of features whose value matches no bin. */
  unmatchedCount = 0
  /** Number of the applicant's own keys that are not features. */
  unknownCount = 0
  /**
   * Number of features whose value is neither a finite number nor a string. If it is above 0, score
   * and pd are not valid.
   */
  invalidCount = 0
  /** Slot of each feature, `SLOT_INVALID` for an invalid value. */
  readonly slots: Int32Array
  /**
   * The feature that was last found at each key position: a guess that is always checked. All keys
   * beyond the last position share it.
   */
  readonly expected: CompiledFeature[]

  constructor(model: CompiledModel) {
    this.model = model
    const { features } = model
    this.slots = new Int32Array(features.length)
    const extra = new Array<CompiledFeature>(EXTRA_KEYS_EXPECTED).fill(features[0]!)
    this.expected = [...features, ...extra]
  }

  /** Index in the spec of the bin whose points were used; -1 when no bin was used. */
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
    return outcomeOfOffset(slot - this.model.slotStart[feature]!)
  }
}

/**
 * Scores one applicant: score = base points + the points of the matched bins, summed in spec order
 * in double precision, so that it is reproducible to the bit.
 *
 * Iterates over the applicant's own keys rather than the features: in V8 a lookup by a variable
 * name costs ten times as much as one step of the iteration. `modelScore` remembers which feature
 * each key position led to, because the next applicant usually has the same keys in the same order.
 * While the keys are in the order of the spec, the loop sums up the points.
 *
 * The iteration allocates the keys and the values, which takes 50 ns for 20 features. `for in` with
 * `applicant[name]` avoids this, but only until V8 has met one applicant with another object
 * layout: with 128 keys, with a number as a key, or with a whole number where others of the batch
 * have a fraction. From then on every applicant costs 1 us more.
 *
 * @param applicant feature values: a finite number, a string, or null for missing
 * @param modelScore receives the result
 * @param reservedName a key that may appear among the features but is not one (`strict_mode`, `id`)
 */
export function scoreApplicant(
  applicant: Applicant,
  modelScore: ModelScore,
  reservedName?: string,
): void {
  const { model, slots, expected } = modelScore
  const { features, points } = model
  let score = model.basePoints
  let isInOrder = true
  /** All features before this one have their slot and are in the sum. */
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
      score = addAbsent(modelScore, score, next, index)
      next = index
    }
    slots[index] = slot
    if (index === next) {
      next++
      if (slot !== SLOT_INVALID) score += points[slot]!
    } else isInOrder = false
  }
  score = addAbsent(modelScore, score, next, features.length)
  const named = names.length - others
  modelScore.namedCount = named
  modelScore.missingCount = nulls + features.length - named
  modelScore.unmatchedCount = unmatched
  modelScore.unknownCount = unknown
  modelScore.invalidCount = invalid
  setScore(modelScore, isInOrder ? score : sumPoints(modelScore))
}

/**
 * Treats the features from `first` to before `end` as missing.
 *
 * @returns the sum including their points
 */
function addAbsent({ model, slots }: ModelScore, sum: number, first: number, end: number): number {
  let score = sum
  for (let feature = first; feature < end; feature++) {
    const slot = model.features[feature]!.missingSlot
    slots[feature] = slot
    score += model.points[slot]!
  }
  return score
}

/** Adds the points in spec order, independent of the order of the applicant's keys. */
function sumPoints({ model, slots }: ModelScore): number {
  let score = model.basePoints
  for (let feature = 0; feature < slots.length; feature++) {
    const slot = slots[feature]!
    if (slot !== SLOT_INVALID) score += model.points[slot]!
  }
  return score
}

function setScore(modelScore: ModelScore, score: number): void {
  const { model } = modelScore
  modelScore.score = score
  const { scale } = model
  modelScore.pd = scale === null ? Number.NaN : probabilityOfDefault(scale, score)
  const grade = gradeIndexOf(model.grades, score)
  modelScore.gradeIndex = grade
  modelScore.grade = model.grades.names[grade] ?? null
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

/** A text never counts as a number: a numeric feature has no category that could match it. */
function slotOf(model: CompiledModel, feature: CompiledFeature, value: unknown): number {
  // The sign makes V8 read the number once; otherwise it checks the type at each use.
  if (typeof value === 'number') return slotOfNumber(model, feature, +value)
  if (typeof value === 'string') return slotOfCategory(feature.categories, value)
  return value === null ? feature.missingSlot : SLOT_INVALID
}

/** Slot of a number: its interval, or the category that equals its shortest decimal form. */
function slotOfNumber(model: CompiledModel, feature: CompiledFeature, value: number): number {
  if (!Number.isFinite(value)) return SLOT_INVALID
  if (feature.intervals === 0) {
    return feature.isNumeric ? feature.noBinSlot : slotOfCategory(feature.categories, String(value))
  }
  const interval = intervalOf(model, feature, value)
  return interval === -1 ? feature.noBinSlot : interval + feature.intervalSlot
}
