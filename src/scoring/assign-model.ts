import { BUCKETS, bucketsIn, findBucket } from '../registry/deployments/buckets.ts'
import type { ServingDeployment, ServingModel } from './serving.ts'

/** The position of the champion in a table of assignments; challengers have theirs from 0. */
export const CHAMPION = -1

/** The position of the model for each bucket of a live split. */
export function assignmentTable(
  challengers: readonly { readonly bucketRanges: readonly number[] }[],
): Int16Array {
  const table = new Int16Array(BUCKETS).fill(CHAMPION)
  for (const [position, { bucketRanges }] of challengers.entries()) {
    for (const bucket of bucketsIn(bucketRanges)) table[bucket] = position
  }
  return table
}

/** The outcome of a live split for one subject. */
interface Assignment {
  /** 0 to 9,999; null without a live split. */
  readonly bucket: number | null
  /** Position of the challenger, or `CHAMPION`. */
  readonly position: number
}

const CHAMPION_ANSWERS: Assignment = { bucket: null, position: CHAMPION }

/**
 * Chooses the model that answers a request: by the subject's bucket in a live split, else the
 * champion.
 *
 * @param subject the routing key of the request, or its id
 */
export function assignModel(
  { state, assignments }: ServingDeployment,
  subject: string,
): Assignment {
  if (assignments === null) return CHAMPION_ANSWERS
  const bucket = findBucket(state.deploymentId, subject)
  return { bucket, position: assignments[bucket] ?? CHAMPION }
}

/** The model at a position; the champion stands in for a challenger that is not ready. */
export function modelAt(
  { champion, challengers }: ServingDeployment,
  position: number,
): ServingModel {
  return challengers[position]?.serving ?? champion
}
