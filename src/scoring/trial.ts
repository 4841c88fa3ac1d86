import type { Clock } from '../platform/clock.ts'
import type { ReadSpec } from './applicant-schema.ts'
import type { ChallengerFailures } from './challenger-failures.ts'
import {
  assignModel,
  CHAMPION,
  type Evaluation,
  modelAt,
  scoreOnAllModels,
  shadowScores,
  validateAgainstAll,
} from './evaluate-models.ts'
import { InputViolations, listWarnings } from './input-faults.ts'
import type { ServingCache } from './model-cache.ts'
import type { SingleRequest } from './requests.ts'
import { requireReasons } from './require-reasons.ts'
import { scoreText } from './response.ts'
import { makeFrame, type ScoringCaller, singleReasons, visibleTo } from './service.ts'
import type { ServingDeployment, ServingModel } from './serving.ts'

export interface ApplicantRouteOptions {
  readonly trials: TrialService
  readonly cache: Pick<ServingCache, 'get'>
  readonly serving: { readSpec: ReadSpec }
}

/** A challenger that fails in a trial harms nobody who waits for an answer. */
const NOT_NOTED: Pick<ChallengerFailures, 'note'> = { note: () => undefined }

/** Scores applicants without a trace: nothing is logged or counted. */
export class TrialService {
  private readonly cache: Pick<ServingCache, 'get'>
  private readonly clock: Pick<Clock, 'epochMs'>

  constructor(cache: Pick<ServingCache, 'get'>, clock: Pick<Clock, 'epochMs'>) {
    this.cache = cache
    this.clock = clock
  }

  /**
   * Scores an applicant on every active model of a deployment.
   *
   * @returns the answer as JSON: that of a single score, with `models` and `trial`
   * @throws AppError `deployment_not_found`, `invalid_request`, `strict_mode_violation`,
   *   `reasons_not_configured`
   */
  async score(caller: Omit<ScoringCaller, 'keyId'>, request: SingleRequest): Promise<string> {
    const deployment = visibleTo(caller, await this.cache.get(request.deploymentId))
    const { applicant, reservedName, requestId, reasons = null } = request
    const evaluation = scoreOnAllModels(deployment, applicant, reservedName, NOT_NOTED)
    const violations = new InputViolations(request.strictMode || deployment.state.strictMode)
    validateAgainstAll(evaluation, violations, { property: '', index: null })
    violations.throwIfAny()
    if (reasons !== null) requireReasons(deployment)
    const { position } = assignModel(deployment, request.routingKey ?? requestId)
    const served = evaluation.failed?.has(position) ? CHAMPION : position
    const model = modelAt(deployment, served)
    const furtherText = [
      shadowScores(evaluation),
      reasons === null ? '' : singleReasons(model, reasons),
      `,"models":[${modelTexts(evaluation, served).join()}],"trial":true`,
    ].join('')
    const frame = makeFrame(request, this.clock.epochMs(), reservedName, furtherText)
    const warnings = JSON.stringify([
      ...listWarnings(model.modelScore, applicant, 'batch', reservedName),
      ...missedByOthers(deployment, model),
    ])
    return model.responseParts.single(model.modelScore, applicant, frame, warnings)
  }
}

/** Warnings of features that the model which answers does not have. */
function missedByOthers({ champion, challengers }: ServingDeployment, model: ServingModel) {
  const others = [champion, ...challengers.flatMap(({ serving }) => serving ?? [])]
  const { featureIndex } = model.modelScore.model
  const names = others.flatMap(missedBy).filter((name) => !featureIndex.has(name))
  return [...new Set(names)].map((name) => `missing_feature: ${name}` as const)
}

function missedBy({ modelScore }: ServingModel): string[] {
  return modelScore.model.features
    .filter(({ index }) => modelScore.readOutcome(index) === 'missing')
    .map(({ name }) => name)
}

/** The result of each model, the champion's first; a challenger that failed has none. */
function modelTexts({ deployment, failed }: Evaluation, served: number): string[] {
  const { champion, challengers } = deployment
  const texts = [modelText(champion, null, served === CHAMPION)]
  for (const [position, { challengerId, serving }] of challengers.entries()) {
    if (serving === null || failed?.has(position)) continue
    texts.push(modelText(serving, challengerId, served === position))
  }
  return texts
}

function modelText(serving: ServingModel, challengerId: string | null, isServed: boolean): string {
  const { modelId, modelScore, responseParts } = serving
  const { name, version } = modelScore.model
  const facts = {
    model_id: modelId,
    model_name: name,
    model_version: version,
    role: challengerId === null ? 'champion' : 'challenger',
    challenger_id: challengerId,
    served: isServed,
  }
  const missing = missedBy(serving)
  const missingText = missing.length === 0 ? '' : `,"missing_features":${JSON.stringify(missing)}`
  return `${JSON.stringify(facts).slice(0, -1)},${scoreText(modelScore)},"contributions":${responseParts.contributionsText(modelScore)}${missingText}}`
}
