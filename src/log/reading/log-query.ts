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

export interface SearchQuery extends ScanQuery {
  readonly reference: string
  /** Only this request and older ones; null: from the newest. */
  readonly before: LogPosition | null
}

/** Bound of a search by a part of a reference, as no index has parts. */
export interface PartBound {
  /** After so many applicants it ends with the block. */
  readonly applicantsMax: number
  /** Set by the search: it looked at everything after this moment; null: at all of its range. */
  searchedAfterMs: number | null
}

/** Which requests of a scan to read: those with one of the ids or references. */
export interface PickedRequests {
  readonly requestIds: ReadonlySet<string>
  /** References of single requests, or ids of records as text. */
  readonly references: ReadonlySet<string>
  /** Receives each block that can't be read; the others are. Absent: the reading fails. */
  readonly onUnread?: (block: UnreadBlock) => void
}

/** A block that can't be read, and what it can hold. */
export interface UnreadBlock {
  readonly error: Error
  /** Least and greatest time in its request ids. */
  readonly idFromMs: number
  readonly idToMs: number
  /** Returns those of a team's references that it can hold. */
  referencesIn(teamId: string, references: Iterable<string>): Promise<ReadonlySet<string>>
}
