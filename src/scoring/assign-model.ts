import { BUCKETS, bucketOf, bucketsIn } from '../deployments/buckets.ts'
import type { ServingDeployment, ServingModel } from './cache.ts'

/** Stands for the champion in a table of draws; challengers have their position, from 0. */
export const CHAMPION = -1

/** Who answers each bucket of a live split. */
export function drawTable(
  challengers: readonly { readonly bucketRanges: readonly number[] }[],
): Int16Array {
  const table = new Int16Array(BUCKETS).fill(CHAMPION)
  for (const [position, { bucketRanges }] of challengers.entries()) {
    for (const bucket of bucketsIn(bucketRanges)) table[bucket] = position
  }
  return table
}

/** The outcome of a live split for one subject. */
export interface Draw {
  /** 0 to 9,999; null where nothing was drawn. */
  readonly bucket: number | null
  /** Position of the challenger, or `CHAMPION`. */
  readonly position: number
}

const NO_DRAW: Draw = { bucket: null, position: CHAMPION }

/**
 * Draws the model that answers a request: in a live split by the subject's bucket, else the champion.
 *
 * @param subject the routing key of the request, or its id
 */
export function draw({ state, draws }: ServingDeployment, subject: string): Draw {
  if (draws === null) return NO_DRAW
  const bucket = bucketOf(state.deploymentId, subject)
  return { bucket, position: draws[bucket] ?? CHAMPION }
}

/** The model at a position; the champion stands in for a challenger that is not ready. */
export function modelAt(
  { champion, challengers }: ServingDeployment,
  position: number,
): ServingModel {
  return challengers[position]?.serving ?? champion
}
