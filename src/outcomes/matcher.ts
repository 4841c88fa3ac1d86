import { AppError, isAway } from '../errors.ts'
import type { Environment } from '../http/access/caller.ts'
import {
  hashOfReference,
  type LoggedRequest,
  type LogReader,
  type UnreadBlock,
} from '../log/index.ts'
import { isId, timeOfId } from '../platform/ids.ts'
import { isLaterScoring, readApplicant, readReference, type ScoredApplicant } from './applicant.ts'
import { windowsOfIds } from './id-windows.ts'
import type { OutcomeTarget } from './item.ts'
import type { OutcomeStore } from './store.ts'

export type Match =
  | {
      readonly kind: 'matched'
      readonly applicant: ScoredApplicant
      /** Number of scorings with the reference; 1 for a request. */
      readonly matchedOf: number
    }
  /** `isLater`: its score may come into the log yet. */
  | { readonly kind: 'unmatched'; readonly message: string; readonly isLater: boolean }
  | { readonly kind: 'ambiguous'; readonly message: string }

/** Whose applicants are looked for. */
interface MatchScope {
  readonly teamId: string
  /** Only deployments of this environment; null: all. */
  readonly environment: Environment | null
}

/** Up to so many are looked up one by one; more of them in a pass over the log. */
const LOOKED_UP_MAX = 20
const days = (count: number) => (count === 1 ? 'a day' : `${count} days`)

/**
 * Finds the applicants that outcomes name: in the log and its spool, and among those that already
 * have an outcome, which the log may have forgotten.
 */
export class OutcomeMatcher {
  private readonly reader: LogReader
  private readonly known: OutcomeStore
  private readonly notYet: string

  /** @param holdDays how long an outcome waits for its score */
  constructor(reader: LogReader, known: OutcomeStore, holdDays: number) {
    this.reader = reader
    this.known = known
    this.notYet = `no score of the team is known by this name; it is tried again for ${days(holdDays)}`
  }

  /**
   * One match for each target. Many of them cost one pass over the parts of the log in which they
   * can be: each block is opened, and only the requests with one of the names are read.
   *
   * @param sinceMs references are looked for in scores from then on
   * @throws AppError `unavailable` where too many scores are not in the log yet
   */
  async match(
    scope: MatchScope,
    targets: readonly OutcomeTarget[],
    sinceMs = Number.NEGATIVE_INFINITY,
  ): Promise<Match[]> {
    const { found, open } = await this.findRequests(scope, targets)
    const byReference = await this.listReferences(scope, targets, sinceMs)
    return targets.map((target) =>
      target.by === 'request'
        ? (open.get(target.requestId) ??
          matchOfRequest(target, found.get(target.requestId) ?? null, this.notYet))
        : (byReference.get(target.deploymentId)?.(target.reference) ?? UNKNOWN_DEPLOYMENT),
    )
  }

  private async findRequests(
    { teamId, environment }: MatchScope,
    targets: readonly OutcomeTarget[],
  ): Promise<FoundRequests> {
    const wanted = targets.filter((target) => target.by === 'request')
    const found = new Map<string, Candidate[]>()
    const open = new Map<string, Match>()
    const ids = [...new Set(wanted.map(({ requestId }) => requestId))]
    const isOne = ids.filter((id) => isId(id, 'req_'))
    if (isOne.length === 0) return { found, open }
    for (const applicant of await this.known.ofRequests(teamId, isOne)) {
      const candidates = found.get(applicant.requestId) ?? []
      candidates.push({ applicant, recordId: null })
      found.set(applicant.requestId, candidates)
    }
    const isComplete = (id: string) => {
      const candidates = found.get(id) ?? []
      return candidates.length > 0 && candidates.length === candidates[0]?.applicant.applicants
    }
    // An id is not kept with an outcome: a record that is named by it is looked up in the log.
    const named = new Set(
      wanted.filter(({ recordId }) => recordId !== null).map(({ requestId }) => requestId),
    )
    // Batches without a record, by their deployment.
    const empty = new Map<string, string>()
    const missing = isOne.filter((id) => !isComplete(id) || named.has(id))
    for await (const request of this.logged(teamId, missing, open)) {
      open.delete(request.requestId)
      if (request.teamId !== teamId) continue
      if (request.rows.length === 0) {
        empty.set(request.requestId, request.deploymentId)
        continue
      }
      found.set(
        request.requestId,
        request.rows.map(({ id }, recordIndex) => ({
          applicant: readApplicant(request, recordIndex),
          recordId: id === null ? null : String(id),
        })),
      )
    }
    return { found: await this.visible({ teamId, environment }, found, empty), open }
  }

  /** @param open receives those that can be in a block which can't be read, before the others */
  private async *logged(
    teamId: string,
    requestIds: readonly string[],
    open: Map<string, Match>,
  ): AsyncGenerator<LoggedRequest> {
    if (requestIds.length <= LOOKED_UP_MAX) {
      for (const requestId of requestIds) {
        const request = await this.reader.find(requestId).catch(lastingFault)
        if (request instanceof Error) open.set(requestId, openMatch(request))
        else if (request !== null) yield request
      }
      return
    }
    for (const { fromMs, toMs, requestIds: ofWindow } of windowsOfIds(requestIds)) {
      const query = { teamId, deploymentId: null, fromMs, toMs }
      const found = new Set<string>()
      const onUnread = ({ error, idFromMs, idToMs }: UnreadBlock) => {
        for (const id of ofWindow) {
          const idMs = timeOfId(id) ?? 0
          const isIn = idMs >= Math.floor(idFromMs) && idMs <= Math.ceil(idToMs)
          if (isIn && !found.has(id)) open.set(id, openMatch(error))
        }
      }
      const picked = { requestIds: ofWindow, references: new Set<string>(), onUnread }
      for await (const requests of this.reader.pick(query, picked)) {
        for (const { requestId } of requests) found.add(requestId)
        yield* requests
      }
    }
  }

  /** The requests of the environment, with an empty list for a batch without a record. */
  private async visible(
    { teamId, environment }: MatchScope,
    found: Map<string, Candidate[]>,
    empty: ReadonlyMap<string, string>,
  ): Promise<Map<string, Candidate[]>> {
    const deployments = new Map(empty)
    for (const [requestId, [first]] of found) {
      if (first !== undefined) deployments.set(requestId, first.applicant.deploymentId)
    }
    for (const requestId of empty.keys()) found.set(requestId, [])
    if (environment === null) return found
    const ids = [...new Set(deployments.values())]
    const environments = await this.known.findEnvironments(teamId, ids)
    for (const [requestId, deploymentId] of deployments) {
      if (environments.get(deploymentId) !== environment) found.delete(requestId)
    }
    return found
  }

  private async listReferences(
    { teamId, environment }: MatchScope,
    targets: readonly OutcomeTarget[],
    sinceMs: number,
  ): Promise<ReadonlyMap<string, (reference: string) => Match>> {
    const wanted = new Map<string, Set<string>>()
    for (const target of targets) {
      if (target.by !== 'reference') continue
      const references = wanted.get(target.deploymentId) ?? new Set()
      wanted.set(target.deploymentId, references.add(target.reference))
    }
    const matches = new Map<string, (reference: string) => Match>()
    if (wanted.size === 0) return matches
    // The spool first: what is drained meanwhile is then found in the database.
    const waiting = await this.reader.waiting(teamId, wanted)
    const environments = await this.known.findEnvironments(teamId, [...wanted.keys()])
    for (const [deploymentId, references] of wanted) {
      const own = environments.get(deploymentId)
      if (own === undefined || (environment !== null && own !== environment)) continue
      const { scorings, open } = await this.findScorings({
        teamId,
        deploymentId,
        references,
        waiting,
        sinceMs,
      })
      matches.set(deploymentId, (reference) => {
        const isOpen = open.get(reference)
        if (isOpen !== undefined) return isOpen
        const found = scorings.get(hashOfReference(teamId, reference))
        if (found === undefined) return { kind: 'unmatched', message: this.notYet, isLater: true }
        return { kind: 'matched', applicant: found.last, matchedOf: found.seen.size + found.others }
      })
    }
    return matches
  }

  private async findScorings({
    teamId,
    deploymentId,
    references,
    waiting,
    sinceMs,
  }: WantedScorings): Promise<FoundScorings> {
    const scorings = new Map<string, Scorings>()
    const open = new Map<string, Match>()
    // The log has each scoring once: only those from elsewhere must be remembered.
    const add = (applicant: ScoredApplicant, isLogged: boolean) => {
      const name = applicant.referenceHash ?? ''
      const key = `${applicant.requestId}/${applicant.recordIndex}`
      const found = scorings.get(name)
      const own = found ?? { last: applicant, seen: new Set<string>(), others: 0 }
      scorings.set(name, own)
      if (!isLogged) own.seen.add(key)
      else if (!own.seen.has(key)) own.others++
      if (isLaterScoring(applicant, own.last)) own.last = applicant
    }
    const hashes = [...references].map((reference) => hashOfReference(teamId, reference))
    for (const known of await this.known.ofReferences(teamId, deploymentId, hashes)) {
      add(known, false)
    }
    const range = { fromMs: sinceMs, toMs: Number.POSITIVE_INFINITY }
    const query = { teamId, deploymentId, ...range }
    const take = (request: LoggedRequest, isLogged: boolean) => {
      if (request.deploymentId !== deploymentId) return
      for (const index of request.rows.keys()) {
        const own = readReference(request, index)
        if (own !== null && references.has(own)) add(readApplicant(request, index), isLogged)
      }
    }
    for (const request of waiting) take(request, false)
    if (references.size <= LOOKED_UP_MAX) {
      for (const reference of references) {
        const found = this.reader.search({ ...query, reference, before: null })
        try {
          for await (const request of found) take(request, true)
        } catch (error) {
          // A later scoring, or one more, can be in the block: nothing is known until it is read.
          open.set(reference, openMatch(lastingFault(error)))
        }
      }
    } else {
      const unread: UnreadBlock[] = []
      const onUnread = (block: UnreadBlock) => unread.push(block)
      const picked = { requestIds: new Set<string>(), references, onUnread }
      for await (const requests of this.reader.pick(query, picked)) {
        for (const request of requests) take(request, true)
      }
      for (const { error, referencesIn } of unread) {
        for (const reference of await referencesIn(teamId, references)) {
          open.set(reference, openMatch(error))
        }
      }
    }
    return { scorings, open }
  }
}

/** An applicant with the id of its record, where it comes from the log. */
interface Candidate {
  readonly applicant: ScoredApplicant
  readonly recordId: string | null
}

/** Requests that were found, and those that can be in a block which can't be read. */
interface FoundRequests {
  readonly found: ReadonlyMap<string, readonly Candidate[]>
  readonly open: ReadonlyMap<string, Match>
}

/** The same for references: by their hash, and by themselves. */
interface FoundScorings {
  readonly scorings: ReadonlyMap<string, Scorings>
  readonly open: ReadonlyMap<string, Match>
}

/** @throws `error` if it is not one that lasts until an operator acts */
function lastingFault(error: unknown): AppError {
  if (error instanceof AppError && error.code === 'unavailable' && !isAway(error)) return error
  throw error
}

function openMatch({ message }: Error): Match {
  return {
    kind: 'unmatched',
    message: `its score can be in what can't be read: ${message}`,
    isLater: true,
  }
}

interface WantedScorings {
  readonly teamId: string
  readonly deploymentId: string
  readonly references: ReadonlySet<string>
  /** Scorings of all deployments in the spool. */
  readonly waiting: readonly LoggedRequest[]
  readonly sinceMs: number
}

interface Scorings {
  last: ScoredApplicant
  /** Scorings that are stored with outcomes, and those in the spool. */
  readonly seen: Set<string>
  /** Number of those that only the log has. */
  others: number
}

const UNKNOWN_DEPLOYMENT: Match = {
  kind: 'unmatched',
  message: 'the team has no such deployment',
  isLater: false,
}

const NO_RECORD: Match = {
  kind: 'unmatched',
  message: 'the request has no such record',
  isLater: false,
}

function matchOfRequest(
  { recordIndex, recordId }: OutcomeTarget & { by: 'request' },
  candidates: readonly Candidate[] | null,
  notYet: string,
): Match {
  if (candidates === null) return { kind: 'unmatched', message: notYet, isLater: true }
  const [first] = candidates
  if (first === undefined) return NO_RECORD
  if (first.applicant.isBatch && recordIndex === null && recordId === null) {
    const message = 'the request is a batch: name the record by record_index or record_id'
    return { kind: 'ambiguous', message }
  }
  const named = candidates.filter(({ applicant, recordId: own }) =>
    recordId === null ? applicant.recordIndex === (recordIndex ?? 0) : own === recordId,
  )
  const [found, other] = named
  if (found === undefined) {
    return NO_RECORD
  }
  if (other !== undefined) {
    const message = 'records of the batch share this id: send record_index instead'
    return { kind: 'ambiguous', message }
  }
  return { kind: 'matched', applicant: found.applicant, matchedOf: 1 }
}
