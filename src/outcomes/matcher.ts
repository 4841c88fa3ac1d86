import type { Environment } from '../access/caller.ts'
import { isId } from '../platform/ids/ids.ts'
import { hashOfReference } from '../score-log/erasure/reference-hash.ts'
import type { LogReader } from '../score-log/reading/log-reader.ts'
import { SearchLimit } from '../score-log/reading/search-limit.ts'
import type { LoggedRequest } from '../score-log/record/logged-request.ts'
import { applicantOf, isLaterScoring, referenceOf, type ScoredApplicant } from './applicant.ts'
import { windowsOfIds } from './id-windows.ts'
import type { OutcomeTarget } from './item.ts'

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
export interface MatchScope {
  readonly teamId: string
  /** Only deployments of this environment; null: all. */
  readonly environment: Environment | null
}

/** Applicants that already have an outcome. */
export interface KnownApplicants {
  ofRequests(teamId: string, requestIds: readonly string[]): Promise<readonly ScoredApplicant[]>
  ofReferences(
    teamId: string,
    deploymentId: string,
    hashes: readonly string[],
  ): Promise<readonly ScoredApplicant[]>
  /** Environments of those of the deployments that the team has. */
  environmentsOf(
    teamId: string,
    deploymentIds: readonly string[],
  ): Promise<ReadonlyMap<string, Environment>>
}

/** Up to so many are looked up one by one; more of them in a pass over the log. */
const LOOKED_UP_MAX = 20
const days = (count: number) => (count === 1 ? 'a day' : `${count} days`)

/**
 * Finds the applicants that outcomes name: in the log and its spool, and among those that already
 * have an outcome, which the log may have forgotten.
 *
 * The log of older versions has no index for references: they are looked for in its newest 100,000
 * requests of the deployment, or in 40 MiB of batches.
 */
export class OutcomeMatcher {
  private readonly reader: LogReader
  private readonly known: KnownApplicants
  private readonly notYet: string

  /** @param holdDays how long an outcome waits for its score */
  constructor(reader: LogReader, known: KnownApplicants, holdDays: number) {
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
    const byRequest = await this.requestsOf(scope, targets)
    const byReference = await this.referencesOf(scope, targets, sinceMs)
    return targets.map((target) =>
      target.by === 'request'
        ? matchOfRequest(target, byRequest.get(target.requestId) ?? null, this.notYet)
        : (byReference.get(target.deploymentId)?.(target.reference) ?? UNKNOWN_DEPLOYMENT),
    )
  }

  private async requestsOf(
    { teamId, environment }: MatchScope,
    targets: readonly OutcomeTarget[],
  ): Promise<ReadonlyMap<string, readonly Candidate[]>> {
    const wanted = targets.filter((target) => target.by === 'request')
    const found = new Map<string, Candidate[]>()
    const ids = [...new Set(wanted.map(({ requestId }) => requestId))]
    const isOne = ids.filter((id) => isId(id, 'req_'))
    if (isOne.length === 0) return found
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
    for await (const request of this.logged(teamId, missing)) {
      if (request.teamId !== teamId) continue
      if (request.rows.length === 0) {
        empty.set(request.requestId, request.deploymentId)
        continue
      }
      found.set(
        request.requestId,
        request.rows.map(({ id }, recordIndex) => ({
          applicant: applicantOf(request, recordIndex),
          recordId: id === null ? null : String(id),
        })),
      )
    }
    return this.visible({ teamId, environment }, found, empty)
  }

  private async *logged(
    teamId: string,
    requestIds: readonly string[],
  ): AsyncGenerator<LoggedRequest> {
    if (requestIds.length <= LOOKED_UP_MAX) {
      for (const requestId of requestIds) {
        const request = await this.reader.find(requestId)
        if (request !== null) yield request
      }
      return
    }
    for (const { fromMs, toMs, requestIds: ofWindow } of windowsOfIds(requestIds)) {
      const query = { teamId, deploymentId: null, fromMs, toMs }
      const picked = { requestIds: ofWindow, references: new Set<string>() }
      for await (const requests of this.reader.pick(query, picked)) yield* requests
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
    const environments = await this.known.environmentsOf(teamId, ids)
    for (const [requestId, deploymentId] of deployments) {
      if (environments.get(deploymentId) !== environment) found.delete(requestId)
    }
    return found
  }

  private async referencesOf(
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
    const environments = await this.known.environmentsOf(teamId, [...wanted.keys()])
    for (const [deploymentId, references] of wanted) {
      const own = environments.get(deploymentId)
      if (own === undefined || (environment !== null && own !== environment)) continue
      const scorings = await this.scoringsOf({
        teamId,
        deploymentId,
        references,
        waiting,
        sinceMs,
      })
      matches.set(deploymentId, (reference) => {
        const found = scorings.get(hashOfReference(teamId, reference))
        if (found === undefined) return { kind: 'unmatched', message: this.notYet, isLater: true }
        return { kind: 'matched', applicant: found.last, matchedOf: found.seen.size + found.others }
      })
    }
    return matches
  }

  private async scoringsOf({
    teamId,
    deploymentId,
    references,
    waiting,
    sinceMs,
  }: WantedScorings): Promise<ReadonlyMap<string, Scorings>> {
    const scorings = new Map<string, Scorings>()
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
        const own = referenceOf(request, index)
        if (own !== null && references.has(own)) add(applicantOf(request, index), isLogged)
      }
    }
    for (const request of waiting) take(request, false)
    if (references.size <= LOOKED_UP_MAX) {
      for (const reference of references) {
        const limit = new SearchLimit()
        const found = this.reader.search({ ...query, reference, before: null, limit })
        for await (const request of found) take(request, true)
      }
    } else {
      const picked = { requestIds: new Set<string>(), references }
      for await (const requests of this.reader.pick(query, picked)) {
        for (const request of requests) take(request, true)
      }
    }
    return scorings
  }
}

/** An applicant with the id of its record, where it comes from the log. */
interface Candidate {
  readonly applicant: ScoredApplicant
  readonly recordId: string | null
}

interface WantedScorings {
  readonly teamId: string
  readonly deploymentId: string
  readonly references: ReadonlySet<string>
  /** Those of all deployments in the spool. */
  readonly waiting: readonly LoggedRequest[]
  readonly sinceMs: number
}

interface Scorings {
  last: ScoredApplicant
  /** Those that are stored with outcomes, and those in the spool. */
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
