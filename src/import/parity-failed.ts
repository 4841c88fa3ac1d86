import { AppError } from '../errors.ts'
import type { Difference, Parity } from './parity.ts'

/** Refuses a model that scores applicants of its sample differently from its tool. */
export function parityFailed({ differing, rows, differences }: Parity): AppError {
  return new AppError(
    'parity_failed',
    `${differing} of ${rows} applicants of the sample would get another score, points or ` +
      'probability of default, so nothing was registered',
    {
      details: differences.map((difference) => ({
        path: `sample, ${difference.path}`,
        message: messageOf(difference),
      })),
    },
  )
}

function messageOf({ expectedScore, actualScore, expectedPd, actualPd }: Difference): string {
  const scores = `has the score ${expectedScore}, the engine gives ${actualScore}`
  return expectedPd === null || actualPd === null
    ? scores
    : `${scores}; the probability of default ${expectedPd}, the engine gives ${actualPd}`
}
