import type { ScalingSpec } from '../../engine/index.ts'
import { AppError } from '../../errors.ts'
import type { Coverage } from './coverage.ts'
import type { Difference, Parity } from './parity.ts'
import type { ScaleCheck } from './scale-check.ts'

/** Refuses a model that scores applicants of its sample differently from its tool. */
export function parityFailed({
  differing,
  rows,
  differences,
  finding,
  ...parity
}: Parity): AppError {
  const what =
    differing > 0
      ? `${differing} of ${rows} applicants of the sample would get another score, points or ` +
        `probability of default${finding === null ? '' : ` (${finding})`}`
      : meanText(parity)
  return new AppError('parity_failed', `${what}, so nothing was registered`, {
    details: differences.map((difference) => ({
      path: `sample, ${difference.path}`,
      message: formatMessage(difference),
    })),
  })
}

/** Says how far the mean is off where each applicant alone is within the rounding. */
export function meanText({
  meanDifference,
  meanDifferenceMax,
  scale,
}: Pick<Parity, 'meanDifference' | 'meanDifferenceMax' | 'scale'>): string {
  const bySample = Math.abs(scale?.meanPoints ?? 0) > Math.abs(meanDifference)
  const mean = bySample ? -(scale?.meanPoints ?? 0) : meanDifference
  const text =
    `the scores are ${roundedText(mean)} points off ${bySample ? 'the probabilities of the sample ' : ''}` +
    `in the mean, and rounding explains ${roundedText(meanDifferenceMax ?? 0)}`
  return scale === null ? text : `${text}: ${scaleText(scale)}`
}

/** The given scale and the one that the sample shows. */
export function scaleText({ given, fitted }: ScaleCheck): string {
  const scale = ({ base_score: score, base_odds: odds, pdo }: ScalingSpec) =>
    `${roundedText(score)} points at odds of ${roundedText(odds)}, pdo ${roundedText(pdo)}`
  return `the card has ${scale(given)}; the sample shows ${fitted === null ? 'no scale' : scale(fitted)}`
}

function roundedText(value: number): string {
  return String(Number(value.toPrecision(5)))
}

/** Signs by which a bin counts as reached. */
interface Reached extends Pick<Coverage, 'bins' | 'binsUnreached'> {
  readonly unreached: readonly Pick<
    Coverage['unreached'][number],
    'feature' | 'bins' | 'moreBins'
  >[]
}

/**
 * Refuses to register a card of which bins were never compared.
 *
 * @throws AppError `parity_failed`
 */
export function requireReached({ bins, binsUnreached, unreached }: Reached): void {
  if (binsUnreached === 0) return
  const details = unreached.flatMap(({ feature, bins: labels, moreBins }) => {
    if (labels.length + moreBins === 0) return []
    const more = moreBins > 0 ? ` and ${moreBins} more` : ''
    return [{ path: feature, message: `no applicant is in ${labels.join(', ')}${more}` }]
  })
  throw new AppError(
    'parity_failed',
    `no applicant of the sample reaches ${binsUnreached} of ${bins} bins, so that nothing proves ` +
      'their points: send applicants who do, or accept it with accept_unreached',
    { details },
  )
}

function formatMessage({ expectedScore, actualScore, expectedPd, actualPd }: Difference): string {
  const scores = `has the score ${expectedScore}, the engine gives ${actualScore}`
  return expectedPd === null || actualPd === null
    ? scores
    : `${scores}; the probability of default ${expectedPd}, the engine gives ${actualPd}`
}
