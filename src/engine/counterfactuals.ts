import { type CompiledModel, isMissingBin } from './compile.ts'
import { nextDown } from './interval.ts'
import { findDirection } from './reasons.ts'
import { findGradeIndex } from './scaling.ts'
import type { ScorecardSpec } from './spec.ts'

export interface BinChange {
  /** Indexes in the spec. */
  readonly feature: number
  readonly bin: number
  /** Points that the change adds, in the direction of less risk; above 0. */
  readonly gain: number
}

/** The score or grade that an applicant would have to reach. */
export interface ScoreTarget {
  /** The least score that reaches it, or the highest one where a higher score is a higher risk. */
  readonly score: number
  readonly cutoff: number | null
  /** Null with a cut-off. */
  readonly grade: string | null
}

export interface Counterfactuals {
  /** Points to the target; 0 where it is reached. */
  readonly need: number
  /** Changes of one feature that reach it, the least gain first, then in spec order. */
  readonly single: readonly BinChange[]
  /** The fewest changes that reach it; null where one is enough, or none are. */
  readonly leastSet: readonly BinChange[] | null
}

/** An applicant as a card has placed them. */
interface ChangedApplicant {
  readonly spec: ScorecardSpec
  readonly model: CompiledModel
  readonly slots: ArrayLike<number>
}

interface CounterfactualOptions {
  /** Tells whether somebody could change the feature. */
  readonly isActionable: (feature: number) => boolean
  /** True if `single` has the least sufficient change of each feature only, for a large card. */
  readonly leastOnly: boolean
}

/** The score of an applicant with a feature in another bin. */
export interface OtherBin {
  readonly bin: number
  readonly points: number
  readonly score: number
  readonly grade: string | null
}

/**
 * The start of the next better grade.
 *
 * @returns null if no grade is better
 */
export function findNextGrade(
  spec: ScorecardSpec,
  { grades }: CompiledModel,
  score: number,
): ScoreTarget | null {
  const { names, low, high } = grades
  const target = (grade: number, at: number) => ({
    score: at,
    cutoff: null,
    grade: names[grade]!,
  })
  if (findDirection(spec) === 1) {
    const next = low.findIndex((start) => start > score)
    return next === -1 ? null : target(next, low[next]!)
  }
  for (let grade = names.length - 1; grade >= 0; grade--) {
    const end = high[grade]!
    // An end that two grades share belongs to the one that starts there.
    const last = findGradeIndex(grades, end) === grade ? end : nextDown(end)
    if (last < score && last >= low[grade]!) return target(grade, last)
  }
  return null
}

/**
 * The changes that would have reached a target.
 *
 * Points add up, so the fewest changes are those with the largest gains. A change is confirmed by
 * adding up the changed applicant's points as scoring does, wherever a rounding could decide.
 *
 * @param applicant their card, and the slots of every feature, each valid
 */
export function listCounterfactuals(
  { spec, model, slots }: ChangedApplicant,
  { score: target }: ScoreTarget,
  { isActionable, leastOnly }: CounterfactualOptions,
): Counterfactuals {
  const sign = findDirection(spec)
  const sums = new ChangedScore(model, slots)
  const need = sign * (target - sums.with([]))
  if (!(need > 0)) return { need: 0, single: [], leastSet: null }
  const isClose = (gain: number) =>
    Math.abs(gain - need) <= ROUNDING * (Math.abs(target) + Math.abs(need) + Math.abs(gain))
  const reaches = (changes: readonly BinChange[]) => {
    const gain = changes.reduce((sum, change) => sum + change.gain, 0)
    return isClose(gain) ? sign * (sums.with(changes) - target) >= 0 : gain > need
  }
  const single: BinChange[] = []
  const best: BinChange[] = []
  for (const feature of model.features.keys()) {
    if (!isActionable(feature)) continue
    const gains = listGains(spec, model, { feature, slot: slots[feature]!, sign })
    const { bins } = spec.features[feature]!
    const byPoints = (one: BinChange, other: BinChange) =>
      sign * (bins[one.bin]!.points - bins[other.bin]!.points)
    if (leastOnly) single.push(...findLeast(gains, { byPoints, isClose, reaches }))
    else single.push(...gains.filter((change) => reaches([change])))
    const most = gains.reduce<BinChange | null>(
      (found, change) => (found === null || change.gain > found.gain ? change : found),
      null,
    )
    if (most !== null) best.push(most)
  }
  single.sort((one, other) => one.gain - other.gain)
  if (single.length > 0) return { need, single, leastSet: null }
  best.sort((one, other) => other.gain - one.gain)
  for (let count = 2; count <= best.length; count++) {
    const changes = best.slice(0, count)
    if (reaches(changes)) return { need, single, leastSet: changes }
  }
  return { need, single, leastSet: null }
}

interface Sufficiency {
  /** Orders changes of a feature by points, because gains that are equal may be rounded. */
  readonly byPoints: (one: BinChange, other: BinChange) => number
  readonly isClose: (gain: number) => boolean
  readonly reaches: (changes: readonly BinChange[]) => boolean
}

/**
 * The least sufficient of the changes of a feature: none or one. All points are added up only for
 * changes whose gain is close to what is needed, and only for a few of these: a greater gain never
 * gives a smaller sum.
 */
function findLeast(
  gains: readonly BinChange[],
  { byPoints, isClose, reaches }: Sufficiency,
): readonly BinChange[] {
  const close = gains.filter(({ gain }) => isClose(gain)).sort(byPoints)
  let [from, to] = [0, close.length]
  while (from < to) {
    const middle = (from + to) >>> 1
    if (reaches(close.slice(middle, middle + 1))) to = middle
    else from = middle + 1
  }
  if (from < close.length) return close.slice(from, from + 1)
  let least: BinChange | null = null
  for (const change of gains) {
    if (isClose(change.gain) || !reaches([change])) continue
    if (least === null || change.gain < least.gain) least = change
  }
  return least === null ? [] : [least]
}

/** Relative error that a sum of a thousand points can have, with room. */
const ROUNDING = 1e-9

interface FeatureNow {
  readonly feature: number
  readonly slot: number
  readonly sign: 1 | -1
}

/** The changes of a feature that gain points; a missing value is none of them. */
function listGains(
  spec: ScorecardSpec,
  model: CompiledModel,
  { feature, slot, sign }: FeatureNow,
): BinChange[] {
  const card = spec.features[feature]!
  const now = model.points[slot]!
  const changes: BinChange[] = []
  for (const [bin, { points }] of card.bins.entries()) {
    const gain = sign * (points - now)
    if (gain > 0 && !isMissingBin(card, bin)) changes.push({ feature, bin, gain })
  }
  return changes
}

/**
 * The score with each other bin of a feature, the Missing bin included; the bin that gave the
 * points is left out.
 */
export function findOtherBins(
  spec: ScorecardSpec,
  model: CompiledModel,
  slots: ArrayLike<number>,
  feature: number,
): OtherBin[] {
  const sums = new ChangedScore(model, slots)
  const own = model.binOfSlot[slots[feature]!]
  const others: OtherBin[] = []
  for (const [bin, { points }] of spec.features[feature]!.bins.entries()) {
    if (bin === own) continue
    const score = sums.with([{ feature, bin, gain: 0 }])
    const grade = model.grades.names[findGradeIndex(model.grades, score)] ?? null
    others.push({ bin, points, score, grade })
  }
  return others
}

/** Adds up points in spec order, as scoring does, with some features in other bins. */
class ChangedScore {
  private readonly model: CompiledModel
  private readonly slots: ArrayLike<number>

  constructor(model: CompiledModel, slots: ArrayLike<number>) {
    this.model = model
    this.slots = slots
  }

  with(changes: readonly BinChange[]): number {
    const { model, slots } = this
    const changed = new Map(changes.map(({ feature, bin }) => [feature, bin]))
    let score = model.basePoints
    for (let feature = 0; feature < slots.length; feature++) {
      const bin = changed.get(feature)
      score += bin === undefined ? model.points[slots[feature]!]! : this.readPoints(feature, bin)
    }
    return score
  }

  private readPoints(feature: number, bin: number): number {
    const { slotStart, binOfSlot, points } = this.model
    const end = slotStart[feature + 1]!
    for (let slot = slotStart[feature]!; slot < end; slot++) {
      if (binOfSlot[slot] === bin) return points[slot]!
    }
    return 0
  }
}
