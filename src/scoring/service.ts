import { AppError, deploymentNotFound } from '../errors.ts'
import type { KeyCaller } from '../http/access/caller.ts'
import type { OnOutcome, ResponseFacts, ResultsWriter, Scored, ScoreLog } from '../log/index.ts'
import { Utf8Writer } from '../platform/bytes/utf8-writer.ts'
import type { Clock } from '../platform/clock.ts'
import { Histogram } from '../platform/metrics/registry.ts'
import type { BatchResponse, ScoredBatch } from './batch-request.ts'
import type { ChallengerFailures } from './challenger-failures.ts'
import {
  assignModel,
  CHAMPION,
  type Evaluation,
  logResults,
  modelAt,
  scoreOnAllModels,
  shadowScores,
  validateAgainstAll,
} from './evaluate-models.ts'
import { InputViolations } from './input-faults.ts'
import type { ServingCache } from './model-cache.ts'
import type { ReasonsWanted } from './reason-texts.ts'
import type { BatchRequest, ScoreRequest, SingleRequest } from './requests.ts'
import { requireReasons } from './require-reasons.ts'
import { ResponseBuffers, type ResponseFrame, recordIdText } from './response.ts'
import type { ServingDeployment, ServingModel } from './serving.ts'
import { DeploymentValues, ValueCounts, type ValueTotals } from './value-counts.ts'

interface ScoringOptions {
  readonly cache: Pick<ServingCache, 'get' | 'peek'>
  readonly challengerFailures: Pick<ChallengerFailures, 'note'>
  readonly log: ScoreLog
  readonly clock: Pick<Clock, 'epochMs' | 'monotonicMs'>
  /** Number of deployments whose values are counted by themselves; by default none. */
  readonly countedDeployments?: number
  /** Memory of the answers to batches; by default its own. */
  readonly buffers?: ResponseBuffers
}

/** Facts that scoring needs of a caller. */
export type ScoringCaller = Pick<KeyCaller, 'keyId' | 'teamId' | 'environment'>

/** A batch on its way to a response. */
interface BatchRun {
  readonly deployment: ServingDeployment
  readonly request: BatchRequest
  readonly bucket: number | null
  readonly scoredAtMs: number
}

const BATCH_BOUNDS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000]

/**
 * Scores applicants against deployments.
 *
 * A response is JSON, as text or, for a batch, as bytes. It is given once its record is safe in the
 * score log. A refused request leaves no record.
 */
export class ScoringService {
  /** Records of the batches that were scored. */
  readonly batchRecords = new Histogram(BATCH_BOUNDS)
  /** Outcomes of the values of the applicants that were scored. */
  readonly values = new ValueCounts()
  /** The same by deployment. */
  readonly byDeployment: DeploymentValues
  /** Requests for a single score, refused ones included. */
  singles = 0
  private readonly buffers: ResponseBuffers
  private readonly cache: ScoringOptions['cache']
  private readonly challengerFailures: ScoringOptions['challengerFailures']
  private readonly log: ScoreLog
  private readonly clock: ScoringOptions['clock']

  constructor({ cache, challengerFailures, log, clock, ...options }: ScoringOptions) {
    this.cache = cache
    this.challengerFailures = challengerFailures
    this.log = log
    this.clock = clock
    this.buffers = options.buffers ?? new ResponseBuffers()
    this.byDeployment = new DeploymentValues(options.countedDeployments ?? 0)
  }

  /**
   * Scores one applicant.
   *
   * @param onOutcome receives the response, or AppError `deployment_not_found`, `invalid_request`
   *   for a value of an impossible type, `strict_mode_violation`, `payload_too_large` if the record
   *   in the log would be too large, `unavailable` if the score can't be logged
   * @throws AppError the same, where it is known at once
   */
  score(caller: ScoringCaller, request: SingleRequest, onOutcome: OnOutcome<string>): void {
    this.singles++
    const found = this.cache.get(request.deploymentId)
    if (found instanceof Promise) {
      found
        .then((held) => this.scoreOn(caller, visibleTo(caller, held), request, onOutcome))
        .catch(onOutcome)
    } else this.scoreOn(caller, visibleTo(caller, found), request, onOutcome)
  }

  /**
   * Scores all records of a batch on one model; one violation refuses the whole batch.
   *
   * @param onOutcome as for `score`, with every violation of every record
   */
  scoreBatch(
    caller: ScoringCaller,
    request: BatchRequest,
    onOutcome: OnOutcome<BatchResponse>,
  ): void {
    const found = this.cache.get(request.deploymentId)
    if (found instanceof Promise) {
      found
        .then((held) => this.scoreBatchOn(caller, visibleTo(caller, held), request, onOutcome))
        .catch(onOutcome)
    } else this.scoreBatchOn(caller, visibleTo(caller, found), request, onOutcome)
  }

  /** The deployment, if the caller may use it and it needs no look into the database; else null. */
  inMemoryFor(caller: ScoringCaller, deploymentId: string): ServingDeployment | null {
    const found = this.cache.peek(deploymentId)
    return found !== null && isVisible(caller, found) ? found : null
  }

  /** The same, loaded where that is needed. @throws AppError `deployment_not_found` */
  async loadFor(caller: ScoringCaller, deploymentId: string): Promise<ServingDeployment> {
    return visibleTo(caller, await this.cache.get(deploymentId))
  }

  /**
   * Logs a batch that was scored elsewhere on a deployment that `inMemoryFor` or `loadFor` gave.
   *
   * @param onOutcome receives its response, or AppError as for `scoreBatch`
   * @throws AppError the same, where it is known at once
   */
  logScored(
    { keyId }: ScoringCaller,
    { requestId, receivedAtMs }: Pick<ScoreRequest, 'requestId' | 'receivedAtMs'>,
    { facts: scored }: ScoredBatch,
    onOutcome: OnOutcome<BatchResponse>,
  ): void {
    const { deployment, response, rows, records, bucket, served, scoredAtMs, values } = scored
    const logged = { head: deployment.logHead, requestId, keyId, reference: null, key: null }
    const add = (log: ResultsWriter) => {
      log.addRows(rows, records)
      this.countBatch(deployment, records, values)
      const facts = { bucket, served, scoredAtMs, isBatch: true }
      return { facts: this.responseFacts({ receivedAtMs }, facts), response }
    }
    this.log.append(logged, add, onOutcome)
  }

  private scoreOn(
    { keyId }: ScoringCaller,
    deployment: ServingDeployment,
    request: SingleRequest,
    onOutcome: OnOutcome<string>,
  ): void {
    const { requestId, reference, key = null } = request
    beginEngineStep(request, deployment)
    deployment.logBytes.requireRoomForOne()
    this.log.append(
      { head: deployment.logHead, requestId, keyId, reference, key },
      (rows) => this.scoreOne(deployment, request, rows),
      endingLogStep(request, onOutcome),
    )
  }

  private scoreOne(
    deployment: ServingDeployment,
    request: SingleRequest,
    rows: ResultsWriter,
  ): Scored<string> {
    const { applicant, reservedName, requestId } = request
    const evaluation = scoreOnAllModels(
      deployment,
      applicant,
      reservedName,
      this.challengerFailures,
    )
    const violations = new InputViolations(request.strictMode || deployment.state.strictMode)
    const property = request.form === 'scorecard' ? 'applicant' : ''
    validateAgainstAll(evaluation, violations, { property, index: null })
    violations.throwIfAny()
    const { bucket, position } = assignModel(deployment, request.routingKey ?? requestId)
    const served = evaluation.failed?.has(position) ? CHAMPION : position
    const { modelScore } = modelAt(deployment, served)
    if ((request.reasons ?? null) !== null) requireReasons(deployment)
    const scoredAtMs = this.clock.epochMs()
    const text = writeAnswer(evaluation, request, { served, scoredAtMs })
    logResults(rows, evaluation, null, 'single')
    this.values.note(modelScore)
    this.byDeployment.find(deployment.state.deploymentId)?.note(modelScore)
    const facts = { bucket, served: served + 1, scoredAtMs, isBatch: false }
    return { facts: this.responseFacts(request, facts), response: text }
  }

  private scoreBatchOn(
    { keyId }: ScoringCaller,
    deployment: ServingDeployment,
    request: BatchRequest,
    onOutcome: OnOutcome<BatchResponse>,
  ): void {
    beginEngineStep(request, deployment)
    deployment.logBytes.requireRoomFor(request.records.map((record) => record[RECORD_ID]))
    const { requestId } = request
    const { bucket, position } = assignModel(deployment, request.routingKey ?? requestId)
    const run = { deployment, request, bucket, scoredAtMs: this.clock.epochMs() }
    const facts = { head: deployment.logHead, requestId, keyId, reference: null, key: null }
    const onLogged = endingLogStep(request, onOutcome)
    const scoreOn = (served: number) =>
      this.log.append(facts, (rows) => this.batchFrom(run, served, rows), onLogged)
    // One model scores the whole batch: the champion, if a challenger fails on any record.
    const served = deployment.challengers[position]?.serving === null ? CHAMPION : position
    if (scoreOn(served) || scoreOn(CHAMPION)) return
    throw new Error('the champion has no result for a record')
  }

  /** @returns null when the challenger at the position failed on a record */
  private batchFrom(
    { deployment, request, bucket, scoredAtMs }: BatchRun,
    position: number,
    rows: ResultsWriter,
  ): Scored<BatchResponse> | null {
    const { modelScore, responseParts: response, reasonTexts } = modelAt(deployment, position)
    const { reasons = null } = request
    const values = new ValueCounts()
    const violations = new InputViolations(request.strictMode || deployment.state.strictMode)
    const property = request.form === 'scorecard' ? 'applicants' : 'records'
    const { records, includeContributions: withContributions } = request
    const form = { withContributions, withReasons: reasons !== null }
    const bytesExpected = response.batchBytes(records.length, form)
    const text = new Utf8Writer(
      this.buffers.lend(Math.min(bytesExpected, RESPONSE_BYTES_EXPECTED_MAX)),
    )
    response.openBatch(text)
    const ofRecord =
      reasons === null || reasonTexts === null ? null : { texts: reasonTexts, wanted: reasons }
    for (const [index, record] of records.entries()) {
      const evaluation = scoreOnAllModels(deployment, record, RECORD_ID, this.challengerFailures)
      if (evaluation.failed?.has(position)) return null
      if (validateAgainstAll(evaluation, violations, { property, index })) continue
      response.record(text, modelScore, record, {
        isFirst: index === 0,
        idText: recordIdText(record[RECORD_ID]),
        withContributions,
        furtherText: shadowScores(evaluation),
        reasons: ofRecord,
      })
      if (text.length > RESPONSE_BYTES_MAX) throw responseTooLarge()
      logResults(rows, evaluation, record[RECORD_ID], 'batch')
      values.note(modelScore)
    }
    violations.throwIfAny()
    if (reasons !== null) requireReasons(deployment)
    response.noteBytes(text.length, records.length, form)
    this.countBatch(deployment, records.length, values)
    const furtherText = reasons === null ? '' : (reasonTexts?.frameText ?? '')
    const frame = makeFrame(request, scoredAtMs, undefined, furtherText)
    response.closeBatch(text, records.length, frame)
    const { written, memory } = text
    const facts = { bucket, served: position + 1, scoredAtMs, isBatch: true }
    return {
      facts: this.responseFacts(request, facts),
      response: { bytes: written, sent: () => this.buffers.giveBack(memory) },
    }
  }

  private countBatch({ state }: ServingDeployment, records: number, values: ValueTotals): void {
    this.batchRecords.observe(records)
    this.values.add(values)
    this.byDeployment.find(state.deploymentId)?.add(values)
  }

  /** Takes the latency of a request whose response is made, and goes on to the step of the log. */
  private responseFacts(
    { receivedAtMs, span = null }: Pick<ScoreRequest, 'receivedAtMs' | 'span'>,
    { scoredAtMs, bucket, served, isBatch }: Omit<ResponseFacts, 'latencyMs'>,
  ): ResponseFacts {
    const latencyMs = this.clock.monotonicMs() - receivedAtMs
    span?.endStep('engine')
    span?.beginStep('log')
    return { scoredAtMs, latencyMs, bucket, served, isBatch }
  }
}

/** The engine has a step of its own, from the deployment in memory to the text of the answer. */
function beginEngineStep({ span = null }: ScoreRequest, { state }: ServingDeployment): void {
  if (span === null) return
  span.deploymentId = state.deploymentId
  span.beginStep('engine')
}

/** Ends the step of the log before the outcome is given. */
function endingLogStep<Response>(
  { span = null }: ScoreRequest,
  onOutcome: OnOutcome<Response>,
): OnOutcome<Response> {
  if (span === null) return onOutcome
  return (outcome) => {
    span.endStep('log')
    onOutcome(outcome)
  }
}

/** The answer to a request for a single score: the same facts give the same text. */
export function writeAnswer(
  evaluation: Evaluation,
  request: SingleRequest,
  { served, scoredAtMs }: { readonly served: number; readonly scoredAtMs: number },
): string {
  const { reasons = null, reservedName } = request
  const model = modelAt(evaluation.deployment, served)
  const shadowText = shadowScores(evaluation)
  const furtherText = reasons === null ? '' : singleReasons(model, reasons)
  const frame = makeFrame(request, scoredAtMs, reservedName, shadowText + furtherText)
  return model.responseParts.single(model.modelScore, evaluation.applicant, frame)
}

export function makeFrame(
  request: ScoreRequest,
  scoredAtMs: number,
  reservedName: string | undefined,
  furtherText: string,
): ResponseFrame {
  const { requestId, deploymentId, form } = request
  const deploymentText = `"deployment_id":"${deploymentId}"`
  return {
    requestId,
    scoredAt: formatIso(scoredAtMs),
    deploymentText:
      form === 'scorecard' ? `"scorecard_id":"${deploymentId}",${deploymentText}` : deploymentText,
    reservedName,
    furtherText,
  }
}

/** Reasons with their method, each property with a comma before it. */
export function singleReasons(
  { reasonTexts, modelScore }: ServingModel,
  wanted: ReasonsWanted,
): string {
  if (reasonTexts === null) throw new Error('reasons were required of the model')
  return reasonTexts.reasons(modelScore.slots, wanted) + reasonTexts.frameText
}

let lastMs = -1
let lastIso = ''

/** Remembers the text of the last millisecond: under load many responses share it. */
function formatIso(epochMs: number): string {
  if (epochMs !== lastMs) {
    lastMs = epochMs
    lastIso = new Date(epochMs).toISOString()
  }
  return lastIso
}

/** The largest memory that is reserved for a response at once; a larger response grows. */
const RESPONSE_BYTES_EXPECTED_MAX = 4 * 1024 * 1024
/** To write and send a longer response would delay the others. */
const RESPONSE_BYTES_MAX = 64 * 1024 * 1024

function responseTooLarge(): AppError {
  return new AppError(
    'payload_too_large',
    'the answer would be larger than 64 MiB: send fewer records, or leave out the contributions',
  )
}

/** The key of a record that is not a variable. */
const RECORD_ID = 'id'

/** A deployment of another team or environment answers as one that does not exist. */
export function visibleTo(
  caller: Omit<ScoringCaller, 'keyId'>,
  deployment: ServingDeployment | null,
): ServingDeployment {
  if (deployment === null || !isVisible(caller, deployment)) throw deploymentNotFound()
  return deployment
}

function isVisible(caller: Omit<ScoringCaller, 'keyId'>, { state }: ServingDeployment): boolean {
  const { isActive, teamId, environment } = state
  const isOfCaller = teamId === caller.teamId
  return isActive && isOfCaller && (caller.environment ?? environment) === environment
}
