import { BATCH_RECORDS_MAX } from '../../../schemas/scoring.ts'
import type { ServingDeployment } from '../serving.ts'

const OPEN_OBJECT = 0x7b
/** A cell of a record, named or not, costs as much as so many bytes of a usual body. */
const CELL_BYTES = 8
/** Many models and features weigh no more than the largest body: no legal batch is without room. */
const WEIGHT_MAX = 16 * 1024 * 1024

/**
 * Weighs a batch, in bytes of a usual body that takes as long to score. A record takes as long as
 * its card has features, also where it names none: 1,000 times `{}` on a card of 1,000 features
 * held up single scores for 270 ms.
 *
 * @param features of all models, see `countFeatures`
 */
export function weighBatch(body: Uint8Array, features: number): number {
  const cells = Math.min(CELL_BYTES * features * countRecords(body), WEIGHT_MAX)
  return Math.max(body.length, cells)
}

/** The features that each record of a batch is looked through for. */
export function countFeatures({ champion, challengers }: ServingDeployment): number {
  let count = champion.modelScore.slots.length
  for (const { serving } of challengers) count += serving?.modelScore.slots.length ?? 0
  return count
}

/** At least the number of records, each of which is an object, up to those of a legal batch. */
function countRecords(body: Uint8Array): number {
  let count = 0
  for (let at = body.indexOf(OPEN_OBJECT); at !== -1; at = body.indexOf(OPEN_OBJECT, at + 1)) {
    if (++count === BATCH_RECORDS_MAX) break
  }
  return count
}
