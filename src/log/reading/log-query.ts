/** A request in the order of the log: by time, then by id. */
export interface LogPosition {
  readonly scoredAtMs: number
  readonly requestId: string
}

/** Which requests to read: from `fromMs` to before `toMs`, either may be infinite. */
export interface ScanQuery {
  readonly teamId: string
  /** A deployment of the team; null: all. */
  readonly deploymentId: string | null
  readonly fromMs: number
  readonly toMs: number
}

/** Ends a search early, and says where it has stopped. */
export interface SearchBound {
  /** The oldest request that was looked at; null while the bound is not reached. */
  readonly stoppedAt: LogPosition | null
  /** Counts a step that has come to this request. @returns whether the search ends there */
  endsAt(position: LogPosition): boolean
}

export interface SearchQuery extends ScanQuery {
  readonly reference: string
  /** Only this request and older ones; null: from the newest. */
  readonly before: LogPosition | null
  /** Bounds the work; absent: the search goes to the end. */
  readonly limit?: SearchBound
}

/** Which requests of a scan to read: those with one of the ids or references. */
export interface PickedRequests {
  readonly requestIds: ReadonlySet<string>
  /** References of single requests, or ids of records as text. */
  readonly references: ReadonlySet<string>
}
