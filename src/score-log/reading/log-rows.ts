import type { LoggedRequest } from '../record/logged-request.ts'
import { type CellColumns, cellColumnsOfRequests } from './cell-columns.ts'
import { columnsOfRequests, type ScannedColumns } from './columns.ts'
import { type FirstFormRow, requestOfRow } from './first-form.ts'
import type { LogPosition, PickedRequests, ScanQuery, SearchQuery } from './log-query.ts'
import type { LogPart } from './log-reader.ts'
import type { TimedColumns } from './timed-columns.ts'
import { TurnTaker } from './turn-taker.ts'

export interface FirstFormFind {
  readonly requestId: string
  readonly fromMs: number
  readonly toMs: number
}

export interface FirstFormScan extends ScanQuery {
  readonly after: LogPosition | null
}

export interface FirstFormSearch extends Omit<SearchQuery, 'before' | 'limit'> {
  /** Only requests before this one. */
  readonly before: LogPosition | null
}

/** What one statement of a search has found. */
export interface SearchedPart {
  /** Newest first. */
  readonly rows: readonly FirstFormRow[]
  /** Where it has come; null at the end. */
  readonly next: LogPosition | null
}

/** Reads the table of the first form. */
export interface FirstFormStore {
  find(query: FirstFormFind): Promise<FirstFormRow | null>
  /** The next requests, oldest first; empty at the end. */
  portion(query: FirstFormScan): Promise<readonly FirstFormRow[]>
  /** Looks at a bounded part of the rows; with a deployment at its rows alone, by an index. */
  search(query: FirstFormSearch): Promise<SearchedPart>
  /** The time before which so many requests of the scan lie behind newer ones; null for fewer. */
  timeBehind(query: ScanQuery, requests: number): Promise<number | null>
  /** Ids of the deployments that a team has and had. */
  deploymentsOf(teamId: string): Promise<readonly string[]>
}

/**
 * How far a request's time may lie after the time in its id: the body and the score take a while.
 * Clocks that are set back explain the time before it. Most requests are in the first range, and
 * the wide one has to pass over many others.
 */
const NEAR = { beforeMs: 1_000, afterMs: 2_000 }
const FAR = { beforeMs: 120_000, afterMs: 600_000 }

/** As many as a search by one reference looks at. */
const PICKED_REQUESTS_MAX = 100_000

/** Requests of the first form: rows of `score_log`. */
export class LogRows implements LogPart {
  private readonly store: FirstFormStore

  constructor(store: FirstFormStore) {
    this.store = store
  }

  async find(requestId: string, idMs: number): Promise<LoggedRequest | null> {
    for (const { beforeMs, afterMs } of [NEAR, FAR]) {
      const range = { fromMs: idMs - beforeMs, toMs: idMs + afterMs }
      const row = await this.store.find({ requestId, ...range })
      if (row !== null) return requestOfRow(row)
    }
    return null
  }

  async *search({ before, limit, ...query }: SearchQuery): AsyncGenerator<LoggedRequest> {
    // The request at the position belongs to the answer: a batch can go on there.
    let next: LogPosition | null =
      before === null ? null : { ...before, requestId: `${before.requestId}~` }
    const turns = new TurnTaker()
    do {
      const part: SearchedPart = await this.store.search({ ...query, before: next })
      for (const row of part.rows) {
        yield requestOfRow(row)
        await turns.giveWay()
      }
      next = part.next
    } while (next !== null && limit?.endsAt(next) !== true)
  }

  /** References are looked for in the newest requests alone: no index leads to them. */
  async *pick(
    query: ScanQuery,
    { requestIds, references }: PickedRequests,
  ): AsyncGenerator<readonly LoggedRequest[]> {
    const startMs =
      references.size === 0 ? null : await this.store.timeBehind(query, PICKED_REQUESTS_MAX)
    const fromMs = Math.max(query.fromMs, startMs ?? query.fromMs)
    for await (const requests of this.scan({ ...query, fromMs })) {
      yield requests.filter(
        ({ requestId, rows }) =>
          requestIds.has(requestId) ||
          rows.some(({ id }) => id !== null && references.has(String(id))),
      )
    }
  }

  async *columns(query: ScanQuery): AsyncGenerator<readonly ScannedColumns[]> {
    for await (const requests of this.scan(query)) yield columnsOfRequests(requests)
  }

  /** Rows are in no block: where there is one, the log can't be read by blocks alone. */
  async columnsByTime(query: ScanQuery): Promise<AsyncIterable<TimedColumns> | null> {
    const newestMs = await this.store.timeBehind(query, 0)
    return newestMs === null ? noColumns() : null
  }

  async *cells(query: ScanQuery): AsyncGenerator<readonly CellColumns[]> {
    for await (const requests of this.scan(query)) yield cellColumnsOfRequests(requests)
  }

  async *scan(query: ScanQuery): AsyncGenerator<readonly LoggedRequest[]> {
    let after: LogPosition | null = null
    const turns = new TurnTaker()
    for (;;) {
      const rows: readonly FirstFormRow[] = await this.store.portion({ ...query, after })
      const last = rows.at(-1)
      if (last === undefined) return
      const requests: LoggedRequest[] = []
      for (const row of rows) {
        requests.push(requestOfRow(row))
        await turns.giveWay()
      }
      yield requests
      after = { scoredAtMs: last.scored_at_ms, requestId: last.request_id }
    }
  }
}

async function* noColumns(): AsyncGenerator<TimedColumns> {}
