import type { Static } from '@sinclair/typebox'
import { SCORE_RECORDS_DEFAULT, SCORES_DEFAULT, type ScoresQuery } from '../../../schemas/scores.ts'
import { AppError, deploymentNotFound } from '../../errors.ts'
import type { Caller } from '../../http/access/caller.ts'
import { auditRecord } from '../../identity/audit/record.ts'
import type { Clock } from '../../platform/clock.ts'
import { fromBase62, isId, toBase62 } from '../../platform/ids.ts'
import { hashOfReference } from '../erasure/erasure-list.ts'
import type { LoggedRequest } from '../record/logged-request.ts'
import { readTimeRange } from '../rollups/moment.ts'
import type { LogPosition, PartBound } from './log-query.ts'
import { containing, type LogReader, readReference } from './log-reader.ts'
import { type UnequalResult, unequalResult } from './recompute.ts'
import type { ReadingStore } from './store.ts'
import type { StoredModel, StoredModels } from './stored-models.ts'

interface ScoreQuery {
  readonly record?: number | undefined
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

/** A page of the records of a logged request. */
export interface ScorePage {
  readonly request: LoggedRequest
  readonly models: ReadonlyMap<string, StoredModel>
  /** Indexes of the first record of the page and of the one after the last. */
  readonly first: number
  readonly end: number
  readonly nextCursor: string | null
}

export interface FoundScore {
  readonly requestId: string
  readonly recordIndex: number
  readonly deploymentId: string
  readonly scoredAtMs: number
  readonly score: number | null
  readonly grade: string | null
  readonly pd: number | null
  readonly modelVersion: string
  readonly reference: string
}

interface FoundScores {
  readonly scores: readonly FoundScore[]
  readonly nextCursor: string | null
}

/** Requests of the other environment that a page passes over; a next one goes on after them. */
const HIDDEN_MAX = 1_000
/** Applicants that a page looks at for a part of a reference, and the rest of their block. */
const PASSED_MAX = 50_000

interface ReadingOptions {
  readonly reader: LogReader
  readonly models: StoredModels
  readonly store: Pick<ReadingStore, keyof ReadingStore>
  readonly clock: Clock
  /** Called for a score that its bins do not give: its points do not add up to it. */
  readonly onUnequal: (result: UnequalResult) => void
}

export class ScoreReadingService {
  private readonly options: ReadingOptions

  constructor(options: ReadingOptions) {
    this.options = options
  }

  /**
   * The request with this id, if it is the team's and, for a key, of its environment.
   *
   * @throws AppError `score_not_found`; `invalid_request` for a cursor of something else
   */
  async get(caller: Caller, requestId: string, query: ScoreQuery): Promise<ScorePage> {
    const { record, limit = SCORE_RECORDS_DEFAULT, cursor } = query
    const start = cursor === undefined ? 0 : readIndex(cursor)
    const request = await this.options.reader.find(requestId)
    if (request === null || !(await this.isVisible(caller, request))) throw scoreNotFound()
    const total = request.rows.length
    if (record !== undefined && record >= total) throw scoreNotFound()
    const first = Math.min(total, record ?? start)
    const end = Math.min(total, first + (record === undefined ? limit : 1))
    const models = await this.options.models.get(request.models.map(({ modelId }) => modelId))
    await this.note(caller, { action: 'score.read', subject: requestId })
    const hasMore = record === undefined && end < total
    const page = { request, models, first, end, nextCursor: hasMore ? String(end) : null }
    const unequal = unequalResult(page)
    if (unequal !== null) this.options.onUnequal(unequal)
    return page
  }

  /**
   * The scores with this reference, or with one that contains it, newest first. A page can be
   * short, or empty, and have a next one: it passes over a bounded number of scores of the other
   * environment, and of other references where it looks for a part.
   *
   * @throws AppError `invalid_request`, `deployment_not_found`
   */
  async search(caller: Caller, query: Static<typeof ScoresQuery>): Promise<FoundScores> {
    const found = await this.find(caller, query)
    // The hash, not the reference: an erasure of the reference can't change the audit log. A search
    // without a hit is noted as well: it tells the caller that nobody has the reference.
    const reference_sha256 = hashOfReference(caller.teamId, query.reference)
    const after = {
      reference_sha256,
      ...(query.match === 'part' && { match: 'part' }),
      scores: found.scores.length,
    }
    await this.note(caller, { action: 'score.search', subject: caller.teamId, after })
    return found
  }

  private async note(caller: Caller, change: Parameters<typeof auditRecord>[1]): Promise<void> {
    const userId = caller.kind === 'key' ? caller.keyId : caller.userId
    const actor = { userId, teamId: caller.teamId }
    await this.options.store.record(auditRecord(actor, change, this.options.clock.epochMs()))
  }

  private async find(caller: Caller, query: Static<typeof ScoresQuery>): Promise<FoundScores> {
    const { reference, deployment, limit = SCORES_DEFAULT, cursor } = query
    const range = readTimeRange(query)
    const before = cursor === undefined ? null : readPosition(cursor)
    if (deployment !== undefined) await this.requireDeployment(caller, deployment)
    const scores: FoundScore[] = []
    const isVisible = this.visibility(caller)
    let hidden = 0
    let last: ScorePosition | null = null
    const sought = {
      teamId: caller.teamId,
      deploymentId: deployment ?? null,
      reference,
      ...range,
      before,
    }
    const bound: PartBound = { applicantsMax: PASSED_MAX, searchedAfterMs: null }
    const isPart = query.match === 'part'
    const isSought = isPart ? containing(reference) : (own: string) => own === reference
    const requests = isPart
      ? this.options.reader.searchPart(sought, bound)
      : this.options.reader.search(sought)
    for await (const request of requests) {
      if (!(await isVisible(request))) {
        hidden++
        if (hidden < HIDDEN_MAX) continue
        const { requestId, scoredAtMs } = request
        return { scores, nextCursor: writePosition({ requestId, scoredAtMs, recordIndex: 0 }) }
      }
      const { models } = await this.findVersions(request)
      // Within a batch the last record is the newest.
      for (let index = request.rows.length - 1; index >= 0; index--) {
        if (before !== null && isAtOrAfter(before, request, index)) continue
        const row = request.rows[index]
        if (row === undefined) continue
        const own = readReference(request, row.id)
        if (own === null || !isSought(own)) continue
        if (scores.length === limit) {
          return { scores, nextCursor: last === null ? null : writePosition(last) }
        }
        const result = row.results[request.served] ?? null
        const { requestId, scoredAtMs, deploymentId } = request
        last = { requestId, scoredAtMs, recordIndex: index }
        scores.push({
          requestId,
          recordIndex: index,
          deploymentId,
          scoredAtMs,
          score: result?.score ?? null,
          grade: result?.grade ?? null,
          pd: result?.pd ?? null,
          modelVersion: models.get(request.models[request.served]?.modelId ?? '')?.version ?? '',
          reference: own,
        })
      }
    }
    const { searchedAfterMs } = bound
    return { scores, nextCursor: searchedAfterMs === null ? null : writeMoment(searchedAfterMs) }
  }

  /** A deployment of another team or environment looks like one that does not exist. */
  async requireDeployment(caller: Caller, deploymentId: string): Promise<void> {
    const isOne = isId(deploymentId, 'dep_')
    if (!isOne || !(await this.sees(caller, deploymentId))) throw deploymentNotFound()
  }

  private async findVersions(request: LoggedRequest) {
    const served = request.models[request.served]
    return { models: await this.options.models.get(served === undefined ? [] : [served.modelId]) }
  }

  /** As `isVisible`, for many requests: it asks once for each deployment. */
  private visibility(caller: Caller): (request: LoggedRequest) => Promise<boolean> {
    const known = new Map<string, Promise<boolean>>()
    return async (request) => {
      const found = known.get(request.deploymentId) ?? this.isVisible(caller, request)
      known.set(request.deploymentId, found)
      return found
    }
  }

  private async isVisible(caller: Caller, request: LoggedRequest): Promise<boolean> {
    if (request.teamId !== caller.teamId) return false
    if (caller.kind !== 'key' || caller.environment === null) return true
    return this.sees(caller, request.deploymentId)
  }

  private async sees(caller: Caller, deploymentId: string): Promise<boolean> {
    const found = await this.options.store.findEnvironments(caller.teamId, [deploymentId])
    const environment = found.get(deploymentId)
    if (environment === undefined) return false
    const own = caller.kind === 'key' ? caller.environment : null
    return own === null || own === environment
  }
}

/** The same error for a score that is absent, of another team, or of another environment. */
function scoreNotFound(): AppError {
  return new AppError('score_not_found', 'the score log has no such score')
}

/** @throws AppError `invalid_request` */
function readIndex(cursor: string): number {
  if (!/^\d{1,9}$/.test(cursor)) throw new AppError('invalid_request', 'cursor is not of this list')
  return Number(cursor)
}

/** Tells whether a record comes at or before a position in a list that is newest first. */
function isAtOrAfter(
  before: ScorePosition,
  { scoredAtMs, requestId }: LogPosition,
  index: number,
): boolean {
  if (scoredAtMs !== before.scoredAtMs || requestId !== before.requestId) return false
  return index >= before.recordIndex
}

/** A record in the list of scores, which is newest first. */
interface ScorePosition extends LogPosition {
  readonly recordIndex: number
}

const TIME_CHARS = 8
/** Sorts after the id of any request. */
const LAST_REQUEST = `req_${'z'.repeat(22)}`

/** The cursor of the page after this record. */
function writePosition({ scoredAtMs, requestId, recordIndex }: ScorePosition): string {
  return `${toBase62(scoredAtMs, TIME_CHARS)}_${recordIndex}_${requestId}`
}

/** The cursor of the page with the scores of this moment and of earlier ones. */
export function writeMoment(scoredAtMs: number): string {
  return writePosition({ scoredAtMs, requestId: LAST_REQUEST, recordIndex: 0 })
}

/** @throws AppError `invalid_request` for a cursor of something else */
export function readPosition(cursor: string): ScorePosition {
  const [, time = '', index = '', requestId = ''] = /^(\w{8})_(\d{1,9})_(\w+)$/.exec(cursor) ?? []
  const scoredAtMs = fromBase62(time)
  if (scoredAtMs === null || scoredAtMs > LAST_MS || !isId(requestId, 'req_')) {
    throw new AppError('invalid_request', 'cursor is not of this list')
  }
  return { scoredAtMs, requestId, recordIndex: Number(index) }
}

/** The last moment that a database can store. */
const LAST_MS = Date.parse('9999-12-31T23:59:59.999Z')
