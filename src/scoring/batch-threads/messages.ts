import type { AppError } from '../../errors.ts'
import type { ReasonBaseline } from '../reason-baseline.ts'
import type { AnswerForm } from '../requests.ts'
import type { DeploymentState } from '../serving.ts'
import type { ValueTotals } from '../value-counts.ts'

// What the thread that answers and a thread for batches say to each other. All of it can be cloned.

/** To a thread for batches, in this order for a deployment: `hold`, `score`, `drop`. */
export type BatchMessage = HoldMessage | DropMessage | ScoreMessage | MemoryMessage

/** Makes a state of a deployment ready in the thread. */
export interface HoldMessage {
  readonly kind: 'hold'
  readonly heldId: number
  readonly state: DeploymentState
  /** The text in which the spec of each model is stored, as it was sent. */
  readonly specTexts: ReadonlyMap<string, string>
  readonly baselines: ReadonlyMap<string, ReasonBaseline>
}

interface DropMessage {
  readonly kind: 'drop'
  readonly heldId: number
}

interface ScoreMessage {
  readonly kind: 'score'
  readonly heldId: number
  readonly order: BatchOrder
}

/** Memory of an answer that was sent. */
interface MemoryMessage {
  readonly kind: 'memory'
  readonly memory: ArrayBuffer
}

/** The needs of a batch beside its deployment. */
export interface BatchOrder {
  /** Whose body it is; one of `/api/v1` names its deployment itself. */
  readonly form: AnswerForm
  readonly requestId: string
  readonly routingKey: string | undefined
  readonly body: Uint8Array
  /** See `weighBatch`. */
  readonly weight: number
  readonly scoredAtMs: number
}

/** `given_up`: by the thread; null: to a message of another kind. */
export type BatchReply = BatchDone | BatchRefused | 'given_up' | null

/** A batch that the service refuses: the facts of its AppError. */
interface BatchRefused {
  readonly refusal: Pick<AppError, 'code' | 'message' | 'details'>
}

export interface BatchDone {
  /** The answer is at its start. */
  readonly memory: ArrayBuffer
  readonly answerBytes: number
  /** The rows of its record in the score log. */
  readonly rows: Uint8Array<ArrayBuffer>
  readonly records: number
  readonly bucket: number | null
  /** Position of the model that answered, the champion's is 0. */
  readonly served: number
  readonly values: ValueTotals
}
