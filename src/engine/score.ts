import { slotOfCategory } from './category-table.ts'
import { type CompiledModel, SLOT_FIRST_BIN, SLOT_MISSING, SLOT_UNMATCHED } from './compile.ts'
import { gradeOf } from './grades.ts'
import { probabilityOfDefault } from './scaling.ts'

/** What happened to one feature; `invalid` means that no score may be given. */
export type Outcome = 'matched' | 'missing' | 'unmatched' | 'invalid'

/** One applicant as `JSON.parse` gives it: own keys only are read. */
export type Applicant = Readonly<Record<string, unknown>>

const SLOT_INVALID = -1
const SLOT_ABSENT = -2

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
  /** Feature that the key at each position of the applicant last was: a guess, always checked. */
  readonly expected: Int32Array

  constructor(model: CompiledModel) {
    this.model = model
    this.slots = new Int32Array(model.featureNames.length)
    this.expected = new Int32Array(model.featureNames.length + EXTRA_KEYS_EXPECTED)
  }

  /** Index in the spec of the bin whose points were used; -1 where no bin was. */
  binOf(feature: number): number {
    const slot = this.slots[feature]!
    const outcome = slot - this.model.slotStart[feature]!
    if (outcome >= SLOT_FIRST_BIN) return outcome - SLOT_FIRST_BIN
    const fallsToMissing =
      outcome === SLOT_MISSING ||
      (outcome === SLOT_UNMATCHED && this.model.isNumeric[feature] === 0)
    return fallsToMissing ? this.model.missingBin[feature]! : -1
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
 * costs V8 three times as much as a step of `for in`. Where each key led is remembered in the sheet,
 * because the next applicant mostly has the same keys in the same order.
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
  const { featureNames, featureIndex, slotStart } = model
  slots.fill(SLOT_ABSENT)
  let position = 0
  let unmatched = 0
  let missing = 0
  let unknown = 0
  let invalid = 0
  for (const name in applicant) {
    let feature = position < expected.length ? expected[position]! : 0
    if (featureNames[feature] !== name) {
      feature = featureIndex.get(name) ?? -1
      if (feature === -1) {
        if (name !== reservedName) unknown++
        position++
        continue
      }
      if (position < expected.length) expected[position] = feature
    }
    position++
    const value = applicant[name]
    const start = slotStart[feature]!
    let slot: number
    if (typeof value === 'number') slot = slotOfNumber(model, feature, value)
    else if (typeof value === 'string') slot = slotOfText(model, feature, value)
    else slot = value === null ? start + SLOT_MISSING : SLOT_INVALID
    if (slot < start + SLOT_FIRST_BIN) {
      if (slot === SLOT_INVALID) invalid++
      else if (slot === start + SLOT_UNMATCHED) unmatched++
      else missing++
    }
    slots[feature] = slot
  }
  sheet.missingCount = missing
  sheet.unmatchedCount = unmatched
  sheet.unknownCount = unknown
  sheet.invalidCount = invalid
  sumPoints(sheet)
}

/** Adds up in spec order, whatever the order of the applicant's keys. */
function sumPoints(sheet: ScoreSheet): void {
  const { model, slots } = sheet
  const { points, slotStart } = model
  let score = model.basePoints
  for (let feature = 0; feature < slots.length; feature++) {
    let slot = slots[feature]!
    if (slot === SLOT_INVALID) continue
    if (slot === SLOT_ABSENT) {
      slot = slotStart[feature]! + SLOT_MISSING
      slots[feature] = slot
      sheet.missingCount++
    }
    score += points[slot]!
  }
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

/**
 * Slot of a number: the interval that holds it, or the category that its shortest decimal form is.
 *
 * The search for the first interval that ends at or above the value has no branch that depends on
 * it: a mispredicted branch costs more than the comparison.
 */
function slotOfNumber(model: CompiledModel, feature: number, value: number): number {
  if (!Number.isFinite(value)) return SLOT_INVALID
  const unmatched = model.slotStart[feature]! + SLOT_UNMATCHED
  if (model.isNumeric[feature] === 0) {
    return slotOfCategory(model.categories, feature, String(value), unmatched)
  }
  const { intervalHigh } = model
  let first = model.intervalStart[feature]!
  let count = model.intervalStart[feature + 1]! - first
  if (count === 0) return unmatched
  while (count > 1) {
    const half = count >>> 1
    first += half * +(intervalHigh[first + half - 1]! < value)
    count -= half
  }
  return value <= intervalHigh[first]! && model.intervalLow[first]! <= value
    ? model.intervalSlot[first]!
    : unmatched
}

/** A text is no number, whatever it looks like: for a numeric feature it matches nothing. */
function slotOfText(model: CompiledModel, feature: number, text: string): number {
  const unmatched = model.slotStart[feature]! + SLOT_UNMATCHED
  return model.isNumeric[feature] === 1
    ? unmatched
    : slotOfCategory(model.categories, feature, text, unmatched)
}
