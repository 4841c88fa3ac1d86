import type { DrainedBlock } from '../score-log/blocks/encode-blocks.ts'
import type { StoredSpec } from '../scoring/make-serving.ts'
import type { DeploymentState } from '../scoring/serving.ts'
import type { BatchOptions, BatchPosition } from './batch.ts'

/** Start data of the thread of a batch. */
export interface BatchTask {
  readonly batchId: string
  readonly by: string
  readonly state: DeploymentState
  /** Specs of the models of the state by id; a model without one can't be made ready. */
  readonly specs: ReadonlyMap<string, StoredSpec>
  readonly options: BatchOptions
  readonly fileBytes: number
  readonly position: BatchPosition
  /** Whether nothing of the file is done. */
  readonly isAtStart: boolean
}

/** What the process asks of the thread. */
export type ToThread =
  | { readonly kind: 'score'; readonly requestId: string; readonly scoredAtMs: number }
  /** Null: the file can't be read; the process knows why. */
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array | null }

/** What the thread says. */
export type FromThread =
  | { readonly kind: 'read'; readonly from: number; readonly bytes: number }
  | { readonly kind: 'chunk'; readonly chunk: ThreadChunk | null }
  | { readonly kind: 'failed'; readonly code: string; readonly message: string }

/** A chunk that is scored and encoded. */
export interface ThreadChunk {
  readonly results: Uint8Array
  readonly errors: Uint8Array
  /** The record of the log, for an erasure that comes meanwhile; null where nobody was scored. */
  readonly payload: Uint8Array | null
  readonly blocks: readonly DrainedBlock[]
  readonly scored: number
  readonly faulty: number
  readonly warned: number
  readonly position: BatchPosition
  readonly unknownColumns: readonly string[]
  /** Records of the whole file, where it is known. */
  readonly total: number | null
}
