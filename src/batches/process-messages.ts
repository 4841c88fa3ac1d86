import type { DrainedBlock } from '../score-log/blocks/encode-blocks.ts'
import type { StoredSpec } from '../scoring/make-serving.ts'
import type { DeploymentState } from '../scoring/serving.ts'
import type { BatchOptions, BatchPosition, UnknownColumns } from './batch.ts'

/** What the thread of a batch begins with. */
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

/** What the service asks of the thread. */
export interface ToThread {
  readonly kind: 'score'
  readonly requestId: string
  readonly scoredAtMs: number
}

/** What the service asks of the process, which passes on what is for its thread. */
export type ToProcess =
  | { readonly kind: 'open'; readonly task: BatchTask; readonly memoryBytesMax: number }
  | ToThread

/** What the thread says, and the process about it. */
export type FromProcess =
  /** The answer comes by a pipe, see `byte-pipe.ts`. */
  | {
      readonly kind: 'read'
      readonly from: number
      readonly bytes: number
      /** What is being read, such as a column of a row group; null: no part of it. */
      readonly place: string | null
    }
  | { readonly kind: 'chunk'; readonly chunk: ScoredPortion | null }
  | { readonly kind: 'failed'; readonly code: string; readonly message: string }
  /** The file takes more memory or time than it may: the process ends. */
  | { readonly kind: 'overrun'; readonly of: 'memory' | 'time' }

/** A chunk that is scored and encoded. */
export interface ScoredPortion {
  readonly results: Uint8Array
  readonly errors: Uint8Array
  /** The record of the log, for an erasure that comes meanwhile; null where nobody was scored. */
  readonly payload: Uint8Array | null
  readonly blocks: readonly DrainedBlock[]
  readonly scored: number
  readonly faulty: number
  readonly warned: number
  readonly position: BatchPosition
  readonly unknownColumns: UnknownColumns
  /** Records of the whole file, where it is known. */
  readonly total: number | null
}
