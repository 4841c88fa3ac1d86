import type { KeyCaller } from '../auth/caller.ts'
import type { Clock } from '../clock.ts'
import type { Applicant } from '../engine/index.ts'
import { AppError, deploymentNotFound } from '../errors.ts'
import type { AnswerFrame } from './answer.ts'
import type { ServingCache, ServingDeployment } from './cache.ts'
import type { ChallengerFaults } from './challenger-faults.ts'
import { CHAMPION, draw, modelAt } from './draw.ts'
import { RequestFaults } from './faults.ts'
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

export interface ScoringOptions {
  readonly cache: ServingCache
  readonly challengerFaults: ChallengerFaults
  readonly clock: Clock
}

/** Scores applicants against deployments; answers are JSON texts, ready to be sent. */
export class ScoringService {
  private readonly cache: ServingCache
  private readonly challengerFaults: ChallengerFaults
  private readonly clock: Clock

  constructor({ cache, challengerFaults, clock }: ScoringOptions) {
    this.cache = cache
    this.challengerFaults = challengerFaults
    this.clock = clock
  }

  /**
   * Scores one applicant; at once when the deployment is warm.
   *
   * @throws AppError `deployment_not_found`, `invalid_request` for a value of an impossible type,
   *   `strict_mode_violation`
   */
  score(caller: KeyCaller, request: SingleRequest): string | Promise<string> {
    const found = this.cache.get(request.deploymentId)
    return found instanceof Promise
      ? found.then((deployment) => this.scoreOn(visibleTo(caller, deployment), request))
      : this.scoreOn(visibleTo(caller, found), request)
  }

  /**
   * Scores the records of a batch on one model; all of them or, for any fault, none.
   *
   * @throws AppError as `score`, with every fault of every record
   */
  scoreBatch(caller: KeyCaller, request: BatchRequest): string | Promise<string> {
    const found = this.cache.get(request.deploymentId)
    return found instanceof Promise
      ? found.then((deployment) => this.scoreBatchOn(visibleTo(caller, deployment), request))
      : this.scoreBatchOn(visibleTo(caller, found), request)
  }

  private scoreOn(deployment: ServingDeployment, request: SingleRequest): string {
    const { applicant, reservedName } = request
    const failed = scoreOnAll(deployment, applicant, reservedName, this.challengerFaults)
    const faults = new RequestFaults(request.strictMode)
    const place = { property: request.form === 'scorecard' ? 'applicant' : '', index: null }
    checkOnAll(deployment, failed, faults, applicant, reservedName, place)
    faults.throwIfAny()
    const { position } = draw(deployment, request.routingKey ?? request.requestId)
    const { sheet, answer } = modelAt(deployment, failed?.has(position) ? CHAMPION : position)
    const shadowText = shadowScores(deployment, failed)
    return answer.single(sheet, applicant, this.frameOf(request, reservedName, shadowText))
  }

  private scoreBatchOn(deployment: ServingDeployment, request: BatchRequest): string {
    const { position } = draw(deployment, request.routingKey ?? request.requestId)
    // One model answers the whole batch: where a challenger fails on any record, it is the champion.
    return (
      this.batchFrom(deployment, position, request) ??
      this.batchFrom(deployment, CHAMPION, request) ??
      ''
    )
  }

  /** @returns null when the challenger at the position failed on a record */
  private batchFrom(
    deployment: ServingDeployment,
    position: number,
    request: BatchRequest,
  ): string | null {
    const { sheet, answer } = modelAt(deployment, position)
    const faults = new RequestFaults(request.strictMode)
    const property = request.form === 'scorecard' ? 'applicants' : 'records'
    let results = ''
    for (const [index, record] of request.records.entries()) {
      const failed = scoreOnAll(deployment, record, RECORD_ID, this.challengerFaults)
      if (failed?.has(position)) return null
      const place = { property, index }
      if (checkOnAll(deployment, failed, faults, record, RECORD_ID, place)) continue
      const shadowText = shadowScores(deployment, failed)
      const result = answer.record(sheet, record, request.includeContributions, shadowText)
      results += index === 0 ? result : `,${result}`
      if (results.length > ANSWER_CHARS_MAX) throw answerTooLarge()
    }
    faults.throwIfAny()
    return answer.batch(results, request.records.length, this.frameOf(request, undefined, ''))
  }

  private frameOf(
    request: ScoreRequest,
    reservedName: string | undefined,
    shadowText: string,
  ): AnswerFrame {
    const { requestId, deploymentId, form } = request
    const deploymentText = `"deployment_id":"${deploymentId}"`
    return {
      requestId,
      scoredAt: new Date(this.clock.epochMs()).toISOString(),
      deploymentText:
        form === 'scorecard'
          ? `"scorecard_id":"${deploymentId}",${deploymentText}`
          : deploymentText,
      reservedName,
      shadowText,
    }
  }
}

/** Longer answers would stall the others while they are written and sent. */
const ANSWER_CHARS_MAX = 64 * 1024 * 1024

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
