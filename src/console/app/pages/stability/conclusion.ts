import type { Schemas, Verdict } from '../../api/types.ts'
import type { FeatureName } from '../../ui/card.ts'
import { shortDay } from '../../ui/dates.ts'
import { counted, index, percent } from '../../ui/figures.ts'
import { firstInWords } from '../../ui/names.ts'

type Stability = Schemas['Stability']
type Feature = Schemas['FeatureStability']
type Point = Schemas['StabilityPoint']

/** From the best to the worst. */
const RANKS: readonly Verdict[] = ['stable', 'insufficient_data', 'moderate_shift', 'major_shift']
const NAMED_MAX = 3
export const NO_SAMPLE = 'There is no development sample to compare with'
/** A percentage point more than usual is worth a sentence. */
const UNUSUAL_MIN = 0.01

/** The verdict of a period: the worst of the score's and the features'. */
export function worstVerdict({ score, features }: Stability): Verdict | null {
  const all = [score.verdict, ...features.map(({ verdict }) => verdict)]
  const known = all.filter((verdict) => verdict !== null)
  return known.toSorted((a, b) => RANKS.indexOf(b) - RANKS.indexOf(a))[0] ?? null
}

export function isShift(verdict: Verdict | null): boolean {
  return verdict === 'moderate_shift' || verdict === 'major_shift'
}

/** Returns what moved, since when, whether chance explains it, and whether it matters. */
export function conclude(
  stability: Stability,
  points: readonly Point[],
  featureName: FeatureName,
): string {
  const { features, baseline } = stability
  if (baseline === null) return `${NO_SAMPLE}.`
  return [
    scoreSentence(stability, points),
    ...movedSentence(features, points, featureName),
    ...unusualSentence(features, featureName),
  ].join(' ')
}

function scoreSentence({ score, n }: Stability, points: readonly Point[]): string {
  const { psi, cv_95: chance, verdict, bands } = score
  if (bands.length === 0) {
    return 'The development sample counts bins only, so the scores have nothing to be compared with.'
  }
  if (verdict === 'insufficient_data' || psi === null) {
    return `${counted(n, 'applicant')}: too few for a verdict on the score.`
  }
  const isReal = chance !== null && psi > chance
  const figures = `PSI ${index(psi)}; chance alone explains up to ${index(chance)}`
  if (!isShift(verdict)) {
    return isReal
      ? `The scores have moved a little (${figures}): real, and too small to matter.`
      : `The scores have not moved (${figures}).`
  }
  const since = findStart(points, (point) => point.score.verdict)
  const start = since === null ? '' : ` since ${shortDay(since)}`
  const how = verdict === 'major_shift' ? 'much' : 'noticeably'
  return `The scores have moved ${how}${start} (${figures}): it is not chance, and it matters.`
}

function movedSentence(
  features: readonly Feature[],
  points: readonly Point[],
  featureName: FeatureName,
): string[] {
  const moved = features.filter(({ verdict }) => isShift(verdict)).toSorted(byIndex)
  if (moved.length === 0) return []
  const dated = moved.map(({ name, csi_psi }) => {
    return { name, csi_psi, since: featureSince(points, name) }
  })
  return [`Moved: ${listMoved(dated, featureName, NAMED_MAX)}.`]
}

type Moved = Pick<Feature, 'name' | 'csi_psi'> & { readonly since: string | null }

/** The first features that moved, each with its own start and PSI. */
export function listMoved(moved: readonly Moved[], featureName: FeatureName, max: number): string {
  const named = moved.map(({ name, csi_psi: psi, since }) => {
    const start = since === null ? '' : ` since ${shortDay(since)}`
    return `${featureName(name)}${start} (${index(psi)})`
  })
  return firstInWords(named, max)
}

/** Points up to the end of a period: later ones tell nothing of since when it moved. */
export function upTo(points: readonly Point[], { to }: Stability): readonly Point[] {
  return points.filter(({ from }) => to === null || from < to)
}

/** The start of the run of intervals, up to the newest, in which a feature is moved; or null. */
export function featureSince(points: readonly Point[], name: string): string | null {
  return findStart(
    points,
    ({ features }) => features.find((feature) => feature.name === name)?.verdict ?? null,
  )
}

function findStart(
  points: readonly Point[],
  read: (point: Point) => Verdict | null,
): string | null {
  const calm = points.findLastIndex((point) => !isShift(read(point)))
  return points[calm + 1]?.from ?? null
}

function unusualSentence(features: readonly Feature[], featureName: FeatureName): string[] {
  const found = features
    .map((feature) => ({ name: feature.name, share: unusualShare(feature) ?? 0 }))
    .filter(({ share }) => share >= UNUSUAL_MIN)
  if (found.length === 0) return []
  const named = found
    .toSorted((a, b) => b.share - a.share)
    .map(({ name, share }) => `${featureName(name)} (${percent(share)})`)
  return [`Missing or in no bin: ${firstInWords(named, NAMED_MAX)}.`]
}

/** Share of values that are missing or fit no bin; null without applicants. */
export function unusualShare(feature: Feature): number | null {
  const { missing_share: missing, unseen_share, no_bin_share, not_a_number_share } = feature
  if (missing === null) return null
  return missing + (unseen_share ?? 0) + (no_bin_share ?? 0) + (not_a_number_share ?? 0)
}

type Indexed = Pick<Feature, 'csi_psi'>

export function byIndex(a: Indexed, b: Indexed): number {
  return (b.csi_psi ?? -1) - (a.csi_psi ?? -1)
}

type Drawn = Pick<Point, 'from' | 'n' | 'score' | 'features'>

const NO_SCORE = { mean: null, psi: null, cv_95: null, p_value: null, verdict: null }

/** Adds an empty point where intervals without scores are left out: no line may cross them. */
export function withGaps(points: readonly Point[]): readonly Drawn[] {
  return points.flatMap((point, place): Drawn[] => {
    const end = points[place - 1]?.to
    if (end === undefined || end >= point.from) return [point]
    return [{ from: end, n: 0, score: NO_SCORE, features: [] }, point]
  })
}
