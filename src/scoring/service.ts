import type { KeyCaller } from '../auth/caller.ts'
import { ByteText } from '../byte-text.ts'
import type { Clock } from '../clock.ts'
import type { Applicant } from '../engine/index.ts'
import { AppError, deploymentNotFound } from '../errors.ts'
import { Histogram } from '../histogram.ts'
import { type RequestFacts, ServedTexts } from '../scorelog/record-texts.ts'
import type { ScoreLog, Told } from '../scorelog/score-log.ts'
import { type AnswerFrame, recordIdText } from './answer.ts'
import { AnswerBuffers } from './answer-buffers.ts'
import type { ServingCache, ServingDeployment } from './cache.ts'
import type { ChallengerFaults } from './challenger-faults.ts'
import { CHAMPION, draw, modelAt } from './draw.ts'
import { RequestFaults } from './faults.ts'
import { logResults } from './logged.ts'
import { checkOnAll, scoreOnAll, shadowScores } from './panel.ts'

/** How an answer names its deployment: `/api/v1` calls it a scorecard. */
export type AnswerForm = 'deployment' | 'scorecard'

export interface ScoreRequest {
  readonly requestId: string
  readonly deploymentId: string
  readonly strictMode: boolean
  readonly form: AnswerForm
  /** Keeps a subject on one model of a live split; absent: drawn by the request id. */
  readonly routingKey: string | undefined
  /** When its headers had come, on the clock that never goes back. */
  readonly receivedAtMs: number
}

export interface SingleRequest extends ScoreRequest {
  readonly applicant: Applicant
  /** A key of the applicant object that is no variable. */
  readonly reservedName: string | undefined
}

export interface BatchRequest extends ScoreRequest {
  readonly records: readonly Applicant[]
  readonly includeContributions: boolean
}

/** The answer to a batch, in memory that will be used again. */
export interface BatchAnswer {
  readonly bytes: Buffer
  /** To be called when the last byte has been sent, once and no earlier; never when it was not sent as a whole. */
  readonly sent: () => void
}

/** Told once: the answer, or why there is none. */
export type Answered<Answer> = (outcome: Answer | Error) => void

export interface ScoringOptions {
  readonly cache: ServingCache
  readonly challengerFaults: ChallengerFaults
  readonly log: ScoreLog
  readonly clock: Clock
}

const BATCH_BOUNDS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000]

/**
 * Scores applicants against deployments. Answers are JSON texts, a batch's as bytes, ready to be sent; each is given when its record
 * is safe in the score log. A request that is refused leaves none.
 */
export class ScoringService {
  /** Records of the batches that were scored. */
  readonly batchRecords = new Histogram(BATCH_BOUNDS)
  private readonly buffers = new AnswerBuffers()
  private readonly cache: ServingCache
  private readonly challengerFaults: ChallengerFaults
  private readonly log: ScoreLog
  private readonly clock: Clock

  constructor({ cache, challengerFaults, log, clock }: ScoringOptions) {
    this.cache = cache
    this.challengerFaults = challengerFaults
    this.log = log
    this.clock = clock
  }

  /**
   * Scores one applicant.
   *
   * @param answered told of the answer, or of AppError `deployment_not_found`, `invalid_request` for a value of
   *   an impossible type, `strict_mode_violation`, `unavailable` when the score can't be logged
   * @throws AppError the same, where it is known at once
   */
  score(caller: KeyCaller, request: SingleRequest, answered: Answered<string>): void {
    const found = this.cache.get(request.deploymentId)
    if (found instanceof Promise) {
      found
        .then((held) => this.scoreOn(caller, visibleTo(caller, held), request, answered))
        .catch(answered)
    } else this.scoreOn(caller, visibleTo(caller, found), request, answered)
  }

  /**
   * Scores the records of a batch on one model; all of them or, for any fault, none.
   *
   * @param answered as `score`, with every fault of every record
   */
  scoreBatch(caller: KeyCaller, request: BatchRequest, answered: Answered<BatchAnswer>): void {
    const found = this.cache.get(request.deploymentId)
    if (found instanceof Promise) {
      found
        .then((held) => this.scoreBatchOn(caller, visibleTo(caller, held), request, answered))
        .catch(answered)
    } else this.scoreBatchOn(caller, visibleTo(caller, found), request, answered)
  }

  private scoreOn(
    { keyId }: KeyCaller,
    deployment: ServingDeployment,
    request: SingleRequest,
    answered: Answered<string>,
  ): void {
    const { applicant, reservedName } = request
    const log = this.log.begin(deployment.logTexts.head)
    const failed = scoreOnAll(deployment, applicant, reservedName, this.challengerFaults)
    const faults = new RequestFaults(request.strictMode)
    const place = { property: request.form === 'scorecard' ? 'applicant' : '', index: null }
    checkOnAll(deployment, failed, faults, applicant, reservedName, place)
    faults.throwIfAny()
    const { bucket, position } = draw(deployment, request.routingKey ?? request.requestId)
    const served = failed?.has(position) ? CHAMPION : position
    const { sheet, answer, logged } = modelAt(deployment, served)
    const shadowText = shadowScores(deployment, failed)
    const scoredAtMs = this.clock.epochMs()
    const frame = frameOf(request, scoredAtMs, reservedName, shadowText)
    const text = answer.single(sheet, applicant, frame)
    logResults(log, deployment, failed, 'null', 'single')
    const servedTexts = new ServedTexts()
    servedTexts.add(sheet, logged)
    const facts = { keyId, bucket, served, scoredAtMs, isBatch: false }
    this.logged(deployment, request, { facts, servedTexts }, (failure) => answered(failure ?? text))
  }

  private scoreBatchOn(
    { keyId }: KeyCaller,
    deployment: ServingDeployment,
    request: BatchRequest,
    answered: Answered<BatchAnswer>,
  ): void {
    const { bucket, position } = draw(deployment, request.routingKey ?? request.requestId)
    const scoredAtMs = this.clock.epochMs()
    // One model answers the whole batch: where a challenger fails on any record, it is the champion.
    let served = deployment.challengers[position]?.serving === null ? CHAMPION : position
    let batch = this.batchFrom(deployment, served, request, scoredAtMs)
    if (batch === null) {
      served = CHAMPION
      batch = this.batchFrom(deployment, CHAMPION, request, scoredAtMs)
    }
    if (batch === null) throw new Error('the champion has no result for a record')
    const { text, servedTexts } = batch
    const facts = { keyId, bucket, served, scoredAtMs, isBatch: true }
    const answer = { bytes: text.written, sent: () => this.buffers.giveBack(text.memory) }
    this.logged(deployment, request, { facts, servedTexts }, (failure) =>
      answered(failure ?? answer),
    )
  }

  /** @returns null when the challenger at the position failed on a record */
  private batchFrom(
    deployment: ServingDeployment,
    position: number,
    request: BatchRequest,
    scoredAtMs: number,
  ): { readonly text: ByteText; readonly servedTexts: ServedTexts } | null {
    const { sheet, answer, logged } = modelAt(deployment, position)
    const servedTexts = new ServedTexts()
    const log = this.log.begin(deployment.logTexts.head)
    const faults = new RequestFaults(request.strictMode)
    const property = request.form === 'scorecard' ? 'applicants' : 'records'
    const { records, includeContributions: withContributions } = request
    const bytesExpected = answer.batchBytes(records.length, withContributions)
    const text = new ByteText(this.buffers.lend(Math.min(bytesExpected, ANSWER_BYTES_EXPECTED_MAX)))
    answer.openBatch(text)
    for (const [index, record] of records.entries()) {
      const failed = scoreOnAll(deployment, record, RECORD_ID, this.challengerFaults)
      if (failed?.has(position)) return null
      const place = { property, index }
      if (checkOnAll(deployment, failed, faults, record, RECORD_ID, place)) continue
      const shadowText = shadowScores(deployment, failed)
      const idText = recordIdText(record['id'])
      const isFirst = index === 0
      answer.record(text, sheet, record, { isFirst, idText, withContributions, shadowText })
      if (text.length > ANSWER_BYTES_MAX) throw answerTooLarge()
      logResults(log, deployment, failed, idText, 'batch')
      servedTexts.add(sheet, logged)
    }
    faults.throwIfAny()
    answer.noteBytes(text.length, records.length, withContributions)
    this.batchRecords.observe(records.length)
    const frame = frameOf(request, scoredAtMs, undefined, '')
    answer.closeBatch(text, records.length, frame)
    return { text, servedTexts }
  }

  /** Ends the record of a request; its answer is given when that is safe. */
  private logged(
    { logTexts }: ServingDeployment,
    { requestId, receivedAtMs }: ScoreRequest,
    { facts: { served, ...facts }, servedTexts }: LoggedAnswer,
    told: Told,
  ): void {
    const latencyMs = Math.round(1000 * (this.clock.monotonicMs() - receivedAtMs)) / 1000
    const all = { ...facts, requestId, latencyMs, served: served + 1 }
    this.log.end(requestId, logTexts.facts(all, servedTexts), told)
  }
}

/** What the log is told of an answer beside its results. */
interface LoggedAnswer {
  readonly facts: Omit<RequestFacts, 'requestId' | 'latencyMs'>
  readonly servedTexts: ServedTexts
}

function frameOf(
  request: ScoreRequest,
  scoredAtMs: number,
  reservedName: string | undefined,
  shadowText: string,
): AnswerFrame {
  const { requestId, deploymentId, form } = request
  const deploymentText = `"deployment_id":"${deploymentId}"`
  return {
    requestId,
    scoredAt: isoOf(scoredAtMs),
    deploymentText:
      form === 'scorecard' ? `"scorecard_id":"${deploymentId}",${deploymentText}` : deploymentText,
    reservedName,
    shadowText,
  }
}

let lastMs = -1
let lastIso = ''

/** Remembers the last millisecond: under load many answers share it. */
function isoOf(epochMs: number): string {
  if (epochMs !== lastMs) {
    lastMs = epochMs
    lastIso = new Date(epochMs).toISOString()
  }
  return lastIso
}

/** Taken at once for an answer; one that is larger grows. */
const ANSWER_BYTES_EXPECTED_MAX = 4 * 1024 * 1024
/** Longer answers would stall the others while they are written and sent. */
const ANSWER_BYTES_MAX = 64 * 1024 * 1024

function answerTooLarge(): AppError {
  return new AppError(
    'payload_too_large',
    'the answer would be larger than 64 MiB: send fewer records, or leave out the contributions',
  )
}

/** The key of a record that is no variable. */
const RECORD_ID = 'id'

/** A deployment of another team or environment answers as one that does not exist. */
function visibleTo(caller: KeyCaller, deployment: ServingDeployment | null): ServingDeployment {
  if (
    deployment === null ||
    !deployment.state.isActive ||
    deployment.state.teamId !== caller.teamId ||
    (caller.environment !== null && caller.environment !== deployment.state.environment)
  ) {
    throw deploymentNotFound()
  }
  return deployment
}
