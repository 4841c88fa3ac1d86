import { isId, timeOfId } from '../../platform/ids/ids.ts'
import type { LoggedRequest } from '../record/logged-request.ts'
import type { CellColumns } from './cell-columns.ts'
import type { ScannedColumns } from './columns.ts'
import type { LogPosition, PickedRequests, ScanQuery, SearchQuery } from './log-query.ts'
import type { TimedColumns, TimeOrder } from './timed-columns.ts'

/** One form of the log. */
export interface LogPart {
  /** @param idMs the time in the id */
  find(requestId: string, idMs: number): Promise<LoggedRequest | null>
  /** Newest first. */
  search(query: SearchQuery): AsyncIterable<LoggedRequest>
  /** In portions, from the oldest hour of UTC to the newest. */
  scan(query: ScanQuery): AsyncIterable<readonly LoggedRequest[]>
  /** Those of the same requests that have one of the ids or references, in portions. */
  pick(query: ScanQuery, picked: PickedRequests): AsyncIterable<readonly LoggedRequest[]>
  /** The results of the same requests as columns, which is faster. */
  columns(query: ScanQuery): AsyncIterable<readonly ScannedColumns[]>
  /** The same by blocks in the order of time; null if it has requests that are in no block. */
  columnsByTime(query: ScanQuery, order: TimeOrder): Promise<AsyncIterable<TimedColumns> | null>
  /** The cells and the results of the same requests as columns. */
  cells(query: ScanQuery): AsyncIterable<readonly CellColumns[]>
}

/** References of single requests, or ids of records as text, by deployment. */
export type WantedReferences = ReadonlyMap<string, ReadonlySet<string>>

/** Records of this process that the database does not have yet. */
export interface LogTail {
  find(requestId: string, idMs: number): Promise<LoggedRequest | null>
  /**
   * Requests with one of the references.
   *
   * @throws AppError `unavailable` where too much waits to look through it
   */
  waiting(teamId: string, wanted: WantedReferences): Promise<readonly LoggedRequest[]>
}

/**
 * Reads the score log: both forms in the database, and the records in the spool of this process.
 *
 * Callers check that a request belongs to the team and the environment of who asks.
 */
export class LogReader {
  private readonly parts: readonly LogPart[]
  private readonly tail: LogTail | null

  /** @param parts the newest form first */
  constructor(parts: readonly LogPart[], tail: LogTail | null = null) {
    this.parts = parts
    this.tail = tail
  }

  /** The request with this id, or null. */
  async find(requestId: string): Promise<LoggedRequest | null> {
    const idMs = isId(requestId, 'req_') ? timeOfId(requestId) : null
    if (idMs === null) return null
    // The spool first: a record that is drained meanwhile is then found in the database.
    const waiting = await this.tail?.find(requestId, idMs)
    if (waiting != null) return waiting
    for (const part of this.parts) {
      const found = await part.find(requestId, idMs)
      if (found !== null) return found
    }
    return null
  }

  /**
   * Requests of a team with one of the references that are still in the spool of this process. Ask
   * before the database is searched: what is drained meanwhile is then found there.
   *
   * @throws AppError `unavailable` where too much waits to look through it
   */
  async waiting(teamId: string, wanted: WantedReferences): Promise<readonly LoggedRequest[]> {
    return this.tail === null ? [] : this.tail.waiting(teamId, wanted)
  }

  /**
   * Requests that have the reference or hold a record with it, newest first. Where the limit of the
   * query was reached, older ones are left out.
   */
  async *search(query: SearchQuery): AsyncGenerator<LoggedRequest> {
    const lists = this.parts.map((part) => part.search(query)[Symbol.asyncIterator]())
    for await (const request of newestOf(lists)) {
      const stoppedAt = query.limit?.stoppedAt ?? null
      if (stoppedAt !== null && isNewer(stoppedAt, request)) return
      yield request
    }
  }

  /**
   * All requests of a time range, in portions: form by form, each from the oldest to the newest.
   */
  async *scan(query: ScanQuery): AsyncGenerator<readonly LoggedRequest[]> {
    for (const part of this.parts.toReversed()) yield* part.scan(query)
  }

  /** Those of the same requests that have one of the ids or references; it opens every block. */
  async *pick(query: ScanQuery, picked: PickedRequests): AsyncGenerator<readonly LoggedRequest[]> {
    for (const part of this.parts.toReversed()) yield* part.pick(query, picked)
  }

  /** The results of the same requests as columns. */
  async *columns(query: ScanQuery): AsyncGenerator<readonly ScannedColumns[]> {
    for (const part of this.parts.toReversed()) yield* part.columns(query)
  }

  /**
   * The same by blocks in the order of time.
   *
   * @returns null if the range has requests of the first form
   */
  async columnsByTime(
    query: ScanQuery,
    order: TimeOrder,
  ): Promise<AsyncIterable<TimedColumns> | null> {
    const lists: AsyncIterable<TimedColumns>[] = []
    for (const part of this.parts) {
      const list = await part.columnsByTime(query, order)
      if (list === null) return null
      lists.push(list)
    }
    return oneAfterTheOther(lists)
  }

  /** The cells and the results of the same requests as columns. */
  async *cells(query: ScanQuery): AsyncGenerator<readonly CellColumns[]> {
    for (const part of this.parts.toReversed()) yield* part.cells(query)
  }
}

async function* oneAfterTheOther<Item>(lists: readonly AsyncIterable<Item>[]) {
  for (const list of lists) yield* list
}

/** Merges lists that are newest first. */
async function* newestOf(lists: readonly AsyncIterator<LoggedRequest>[]) {
  try {
    const heads = await Promise.all(lists.map((list) => list.next()))
    for (;;) {
      let newest = -1
      for (const [index, head] of heads.entries()) {
        if (head.done === true) continue
        const best = heads[newest]
        if (best === undefined || best.done === true || isNewer(head.value, best.value)) {
          newest = index
        }
      }
      const head = heads[newest]
      const list = lists[newest]
      if (head === undefined || head.done === true || list === undefined) return
      yield head.value
      heads[newest] = await list.next()
    }
  } finally {
    await Promise.all(lists.map((list) => list.return?.()))
  }
}

export function isNewer(one: LogPosition, other: LogPosition): boolean {
  if (one.scoredAtMs !== other.scoredAtMs) return one.scoredAtMs > other.scoredAtMs
  return one.requestId > other.requestId
}

/** Whether a row of a request has the reference: a batch by the ids of its records. */
export function hasReference(
  { isBatch, reference: ofRequest }: Pick<LoggedRequest, 'isBatch' | 'reference'>,
  id: string | number | null,
  reference: string,
): boolean {
  return isBatch ? id !== null && String(id) === reference : ofRequest === reference
}
