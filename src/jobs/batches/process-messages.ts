import type { DrainedBlock } from '../../log/index.ts'
import type { StoredSpec } from '../../scoring/make-serving.ts'
import type { DeploymentState } from '../../scoring/serving.ts'
import type { BatchOptions, BatchPosition, UnknownColumns } from './batch.ts'

/** The start message of the thread of a batch. */
export interface BatchTask {
  readonly batchId: string
  readonly by: string
  readonly state: DeploymentState
  /** Specs of the models of the state by id; a model without one can't be made ready. */
  readonly specs: ReadonlyMap<string, StoredSpec>
  readonly options: BatchOptions
  readonly fileBytes: number
  readonly position: BatchPosition
  /** True if nothing of the file is done. */
  readonly isAtStart: boolean
}

/** A reference of the team that was erased: records that were scored until then lose it. */
export interface ErasedReference {
  /** See `hashOfReference`. */
  readonly hash: string
  readonly untilMs: number
}

export type ToThread =
  | { readonly kind: 'score'; readonly requestId: string; readonly scoredAtMs: number }
  /** Known from now on, beside those before. */
  | { readonly kind: 'erased'; readonly references: readonly ErasedReference[] }
  /** Encodes the log of a chunk again, without what is erased by now. */
  | { readonly kind: 'encode'; readonly requestId: string }

/** Messages of the service to the process, which passes on what is for its thread. */
export type ToProcess =
  | { readonly kind: 'open'; readonly task: BatchTask; readonly memoryBytesMax: number }
  | ToThread

/** Messages of the thread and of its process, and the process about it. */
export type FromProcess =
  /** The answer comes by a pipe, see `byte-pipe.ts`. */
  | {
      readonly kind: 'read'
      readonly from: number
      readonly bytes: number
      /** The part that is being read, such as a column of a row group; null: no part of it. */
      readonly place: string | null
    }
  | { readonly kind: 'chunk'; readonly chunk: HandedPortion | null }
  | { readonly kind: 'encoded'; readonly blocks: readonly DrainedBlock[] }
  | ProcessFailure
  /** The file takes more memory or time than it may: the process ends. */
  | { readonly kind: 'overrun'; readonly of: 'memory' | 'time' }

export interface ProcessFailure {
  readonly kind: 'failed'
  /** The failed part. */
  readonly of: Exclude<ToThread['kind'], 'erased'>
  readonly code: string
  readonly message: string
}

/** Facts of a chunk that is scored and encoded. */
interface PortionFacts {
  readonly blocks: readonly DrainedBlock[]
  readonly scored: number
  readonly faulty: number
  readonly warned: number
  readonly unmatched: Readonly<Record<string, number>>
  readonly position: BatchPosition
  readonly unknownColumns: UnknownColumns
  /** Records of the whole file, where it is known. */
  readonly total: number | null
  /** Checksums of results and errors, where they are made: on the way nothing may change. */
  readonly resultSum: number
  readonly errorSum: number
}

/** A chunk whose results, then its errors, come by the pipe. */
export interface HandedPortion extends PortionFacts {
  readonly resultBytes: number
  readonly errorBytes: number
}

/** A chunk with its results and errors. */
export interface ScoredPortion extends PortionFacts {
  readonly requestId: string
  /** Number of times that erased references went to the process before it was scored. */
  readonly erasures: number
  readonly results: Uint8Array
  readonly errors: Uint8Array
}
