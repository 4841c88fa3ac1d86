import { findCategorySlot, findInterval } from './bin-tables.ts'
import {
  type CompiledFeature,
  type CompiledModel,
  SLOT_MISSING,
  SLOT_NO_BIN,
  SLOT_NOT_A_NUMBER,
  SLOT_UNSEEN_CATEGORY,
} from './compile.ts'
import { findGradeIndex, probabilityOfDefault } from './scaling.ts'

/**
 * Result of looking up one feature. `unseen_category`: a value that equals no category; `no_bin`: a
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
export function readOutcomeAtOffset(offset: number): Outcome {
  return OUTCOMES[offset] ?? 'matched'
}

/** Tells whether a value matched no bin, for whatever reason. */
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
  /** Number of the applicant's own keys that are features neither of this model nor of others. */
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
  /** Names that are no feature of this model, but of one beside it; null for none. */
  readonly others: ReadonlySet<string> | null

  constructor(model: CompiledModel, others: ReadonlySet<string> | null = null) {
    this.model = model
    this.others = others
    const { features } = model
    this.slots = new Int32Array(features.length)
    const extra = new Array<CompiledFeature>(EXTRA_KEYS_EXPECTED).fill(features[0]!)
    this.expected = [...features, ...extra]
  }

  /** Index in the spec of the bin whose points were used; -1 when no bin was used. */
  readBin(feature: number): number {
    return this.model.binOfSlot[this.slots[feature]!] ?? -1
  }

  readPoints(feature: number): number {
    return this.model.points[this.slots[feature]!] ?? 0
  }

  readOutcome(feature: number): Outcome {
    const slot = this.slots[feature]!
    if (slot === SLOT_INVALID) return 'invalid'
    return readOutcomeAtOffset(slot - this.model.slotStart[feature]!)
  }
}

/**
 * Scores one applicant: score = base points + the points of the matched bins, summed in spec order
 * in double precision, so that it is reproducible to the bit.
 *
 * Iterates over the applicant's own keys rather than the features: in V8 a lookup by a variable
 * name costs ten times as much as one step of the iteration. While the keys are in the order of the
 * spec, with any of them left out and others between, the inner loop finds the slots and sums up
 * their points. Rare cases are outside of it, which saves up to a quarter of the time.
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
  const { model, slots } = modelScore
  const { features, points } = model
  const names = Object.keys(applicant)
  const values = readValues(applicant, names)
  startCounts(modelScore, names.length)
  let score = model.basePoints
  let position = 0
  /** All features before this one have their slot and are in the sum. */
  let next = 0
  for (;;) {
    const keys = Math.min(names.length, position + features.length - next)
    while (position < keys) {
      const feature = features[next]!
      if (feature.name !== names[position]) break
      const slot = findSlot(model, feature, values[position])
      if (slot <= feature.missingSlot) {
        // `takeRest` counts it.
        if (slot === SLOT_INVALID) break
        countWithoutBin(modelScore, feature, slot)
      }
      slots[next] = slot
      score += points[slot]!
      next++
      position++
    }
    if (position === keys) break
    const found = featureAt(modelScore, names, position)
    if (found === null) countOther(modelScore, names[position++]!, reservedName)
    else if (found.index <= next) break
    else {
      // The sign tells V8 that the sum is a number. After one absent feature, V8 would otherwise
      // allocate memory for the sum at each feature of every applicant: 12 ns each.
      score = +addAbsent(modelScore, score, next, found.index)
      next = found.index
    }
  }
  score = addAbsent(modelScore, score, next, features.length)
  if (position < names.length && takeRest(modelScore, { names, values, position, reservedName })) {
    score = sumPoints(modelScore)
  }
  modelScore.missingCount += features.length - modelScore.namedCount
  setScore(modelScore, score)
}

/** In the order of the keys. */
function readValues(applicant: Applicant, names: readonly string[]): unknown[] {
  return names.length < HASHED_KEYS_MIN
    ? Object.values(applicant)
    : names.map((name) => applicant[name])
}

interface Rest {
  readonly names: readonly string[]
  readonly values: readonly unknown[]
  /** Position of the first key of the rest. */
  readonly position: number
  readonly reservedName: string | undefined
}

/**
 * Finds the slots of the keys from `position` on, which may be in any order.
 *
 * @returns whether there is a feature among them
 */
function takeRest(
  modelScore: ModelScore,
  { names, values, position, reservedName }: Rest,
): boolean {
  const { model, slots } = modelScore
  let hasFeature = false
  for (let at = position; at < names.length; at++) {
    const feature = featureAt(modelScore, names, at)
    if (feature === null) {
      countOther(modelScore, names[at]!, reservedName)
      continue
    }
    const slot = findSlot(model, feature, values[at])
    if (slot <= feature.missingSlot) countWithoutBin(modelScore, feature, slot)
    slots[feature.index] = slot
    hasFeature = true
  }
  return hasFeature
}

/** Tries the feature that was last found at this position. @returns null if the key names none */
function featureAt(
  { model, expected }: ModelScore,
  names: readonly string[],
  position: number,
): CompiledFeature | null {
  const name = names[position]!
  const place = Math.min(position, expected.length - 1)
  const guess = expected[place]!
  if (guess.name === name) return guess
  const index = model.featureIndex.get(name)
  if (index === undefined) return null
  const feature = model.features[index]!
  expected[place] = feature
  return feature
}

function startCounts(modelScore: ModelScore, keys: number): void {
  modelScore.namedCount = keys
  modelScore.missingCount = 0
  modelScore.unmatchedCount = 0
  modelScore.unknownCount = 0
  modelScore.invalidCount = 0
}

function countOther(modelScore: ModelScore, name: string, reservedName: string | undefined): void {
  modelScore.namedCount--
  if (name !== reservedName && modelScore.others?.has(name) !== true) modelScore.unknownCount++
}

function countWithoutBin(modelScore: ModelScore, feature: CompiledFeature, slot: number): void {
  if (slot === SLOT_INVALID) modelScore.invalidCount++
  else if (slot === feature.missingSlot) modelScore.missingCount++
  else modelScore.unmatchedCount++
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
  const grade = findGradeIndex(model.grades, score)
  modelScore.gradeIndex = grade
  modelScore.grade = model.grades.names[grade] ?? null
}

/**
 * Own keys of the applicant that are neither a feature, of this model or of those beside it, nor
 * `reservedName`, in request order.
 */
export function unknownVariables(
  { model, others }: Pick<ModelScore, 'model' | 'others'>,
  applicant: Applicant,
  reservedName?: string,
): string[] {
  return Object.keys(applicant).filter(
    (name) => !model.featureIndex.has(name) && others?.has(name) !== true && name !== reservedName,
  )
}

/** A text never counts as a number: a numeric feature has no category that could match it. */
function findSlot(model: CompiledModel, feature: CompiledFeature, value: unknown): number {
  // The sign makes V8 read the number once; otherwise it checks the type at each use.
  if (typeof value === 'number') return slotOfNumber(model, feature, +value)
  if (typeof value === 'string') return findCategorySlot(feature.categories, value)
  return value === null ? feature.missingSlot : SLOT_INVALID
}

/** Slot of a number: its interval, or the category that equals its shortest decimal form. */
function slotOfNumber(model: CompiledModel, feature: CompiledFeature, value: number): number {
  if (!Number.isFinite(value)) return SLOT_INVALID
  if (feature.intervals === 0) {
    return feature.isNumeric
      ? feature.noBinSlot
      : findCategorySlot(feature.categories, String(value))
  }
  const interval = findInterval(model, feature, value)
  return interval === -1 ? feature.noBinSlot : interval + feature.intervalSlot
}
