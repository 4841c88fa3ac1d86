import type { ServingDeployment } from './serving.ts'
import type { ValueTotals } from './value-counts.ts'

/** The response to a batch, in memory that is used again. */
export interface BatchResponse {
  readonly bytes: Buffer
  /**
   * To be called once, after the last byte was sent; never if the response was not sent completely.
   */
  readonly sent: () => void
}

interface ScoredBatchFacts {
  readonly deployment: ServingDeployment
  readonly response: BatchResponse
  /** Its rows in the score log. */
  readonly rows: Uint8Array
  readonly records: number
  readonly bucket: number | null
  /** Position of the model that answered, the champion's is 0. */
  readonly served: number
  readonly scoredAtMs: number
  readonly values: ValueTotals
}

/** A batch that a thread has scored, and that is not logged yet. */
export class ScoredBatch {
  readonly facts: ScoredBatchFacts

  constructor(facts: ScoredBatchFacts) {
    this.facts = facts
  }
}
