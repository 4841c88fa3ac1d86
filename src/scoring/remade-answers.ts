import { setTimeout as sleep } from 'node:timers/promises'
import { AppError } from '../errors.ts'
import {
  type LoggedRequest,
  type LoggedResult,
  type LogReader,
  WARNINGS_MAX,
} from '../log/index.ts'
import type { Clock } from '../platform/clock.ts'
import type { ChallengerFailures } from './challenger-failures.ts'
import { type Evaluation, scoreOnAllModels } from './evaluate-models.ts'
import { countWarnings } from './input-faults.ts'
import { LoggedStates } from './logged-states.ts'
import type { ModelSource } from './make-serving.ts'
import type { ServingCache } from './model-cache.ts'
import type { SingleRequest } from './requests.ts'
import { writeAnswer } from './service.ts'
import type { ServingDeployment, ServingModel } from './serving.ts'

interface RemadeAnswersOptions {
  readonly reader: Pick<LogReader, 'find' | 'has'>
  readonly cache: Pick<ServingCache, 'peek'>
  readonly models: ModelSource
  readonly clock: Clock
}

/** Pause between two looks into the log for a record that is still on its way there. */
const LOOK_MS = 100
/** It has failed before, when that was noted. */
const NOT_NOTED: Pick<ChallengerFailures, 'note'> = { note: () => undefined }

/**
 * Makes the answers to single scores anew: from the body, which the client sends again, and from
 * what the score log has of the first request, which is its id, its time, and the models that
 * scored. What is made is held against the logged results to the bit. The rules of today, such as
 * strict mode, do not count: the first request was accepted.
 */
export class RemadeAnswers {
  private readonly reader: RemadeAnswersOptions['reader']
  private readonly states: LoggedStates
  private nextLook: Promise<void> | null = null

  constructor({ reader, ...options }: RemadeAnswersOptions) {
    this.reader = reader
    this.states = new LoggedStates(options)
  }

  /**
   * Makes the answer to an earlier request.
   *
   * @param request with the same body and options; its own id does not count
   * @returns null if neither the database nor the spool of this process has it
   * @throws AppError `unavailable` if the log can't be read, or the answer can't be made as it was
   */
  async remake(request: SingleRequest, firstRequestId: string): Promise<string | null> {
    try {
      const logged = await this.reader.find(firstRequestId)
      if (logged === null) return null
      const isOfSame = !logged.isBatch && logged.deploymentId === request.deploymentId
      if (!isOfSame) throw new Error('the logged request is another one')
      return writeAsLogged(await this.states.find(logged), request, logged)
    } catch (error) {
      if (error instanceof AppError && error.code === 'unavailable') throw error
      throw answerLost(firstRequestId, error)
    }
  }

  /**
   * The same for a record that can still be on its way to the database, as from another replica.
   *
   * @param waitMs time for which the log is looked into again and again, about
   * @returns null if it does not have the request by then
   */
  async remakeSoon(
    request: SingleRequest,
    firstRequestId: string,
    waitMs: number,
  ): Promise<string | null> {
    const untilMs = performance.now() + waitMs
    for (;;) {
      const text = await this.remake(request, firstRequestId)
      if (text !== null || performance.now() >= untilMs) return text
      // All who wait look at the same time, and share their statements.
      this.nextLook ??= sleep(LOOK_MS).finally(() => {
        this.nextLook = null
      })
      await this.nextLook
    }
  }

  /** Tells whether the log has a request. @throws AppError `unavailable` if it can't be read */
  isLogged(firstRequestId: string): Promise<boolean> {
    return this.reader.has(firstRequestId)
  }
}

/** @throws Error unless each model gives what was logged of it */
function writeAsLogged(
  deployment: ServingDeployment,
  request: SingleRequest,
  { requestId, scoredAtMs, served, rows }: LoggedRequest,
): string {
  const { applicant, reservedName } = request
  const results = rows[0]?.results ?? []
  const evaluation = scoreOnAllModels(deployment, applicant, reservedName, NOT_NOTED)
  const failed = new Set(evaluation.failed ?? [])
  const models = [
    deployment.champion,
    ...deployment.challengers.map(({ serving }, position) =>
      failed.has(position) ? null : serving,
    ),
  ]
  if (models.length !== results.length || (results[served] ?? null) === null) {
    throw new Error('the logged results are not those of its models')
  }
  for (const [at, model] of models.entries()) {
    const result = results[at] ?? null
    if (result === null) failed.add(at - 1)
    else if (model === null || !givesResult(model, evaluation, result)) {
      throw new Error(`${model?.modelId ?? 'a challenger'} gives another result than was logged`)
    }
  }
  const asLogged = { ...evaluation, failed: failed.size === 0 ? null : failed }
  return writeAnswer(asLogged, { ...request, requestId }, { served: served - 1, scoredAtMs })
}

function givesResult(
  { modelScore, logParts }: ServingModel,
  { applicant }: Evaluation,
  { score, pd, grade, warningCount, cells }: LoggedResult,
): boolean {
  const { slots } = modelScore
  return (
    Object.is(modelScore.score, score) &&
    Object.is(modelScore.pd, pd ?? Number.NaN) &&
    modelScore.grade === grade &&
    Math.min(countWarnings(modelScore, applicant, 'single'), WARNINGS_MAX) === warningCount &&
    cells.length === slots.length &&
    cells.every((cell, feature) => cell === (logParts.cellOfSlot[slots[feature] ?? 0] ?? 0))
  )
}

function answerLost(firstRequestId: string, cause: unknown): AppError {
  return new AppError(
    'unavailable',
    "the answer to the first request with this Idempotency-Key can't be made again: " +
      `read its score with GET /v1/scores/${firstRequestId}`,
    { isLasting: true, cause },
  )
}
