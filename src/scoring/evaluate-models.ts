import { type Applicant, scoreApplicant } from '../engine/index.ts'
import type { ResultsWriter } from '../log/index.ts'
import { BUCKETS, bucketsIn, findBucket } from '../registry/deployments/buckets.ts'
import type { ChallengerFailures } from './challenger-failures.ts'
import type { ApplicantPosition, InputViolations } from './input-faults.ts'
import { countWarnings, isIgnoredId, readRecordId, type WarningForm } from './input-faults.ts'
import { scoreText } from './response.ts'
import type { ServingChallenger, ServingDeployment, ServingModel } from './serving.ts'

/** An applicant that every model has scored. Each model's `ModelScore` holds its result. */
export interface Evaluation {
  readonly deployment: ServingDeployment
  readonly applicant: Applicant
  /** The key of the applicant that is not a variable. */
  readonly reservedName: string | undefined
  /** Positions of the challengers without a result; null: all have one. */
  readonly failed: ReadonlySet<number> | null
}

/**
 * Scores an applicant on every model of a deployment.
 *
 * The result holds until the next applicant is scored on one of the models.
 *
 * A challenger that fails is noted and left out, whatever went wrong: only the champion's failure
 * is the caller's. In shadow mode that includes a value which only the challenger can't take.
 */
export function scoreOnAllModels(
  deployment: ServingDeployment,
  applicant: Applicant,
  reservedName: string | undefined,
  failures: Pick<ChallengerFailures, 'note'>,
): Evaluation {
  scoreApplicant(applicant, deployment.champion.modelScore, reservedName)
  let failed: Set<number> | null = null
  for (const [position, challenger] of deployment.challengers.entries()) {
    const error = classifyFailure(
      challenger,
      applicant,
      reservedName,
      deployment.assignments !== null,
    )
    if (error === null) continue
    const { challengerId } = challenger
    failures.note({ deploymentId: deployment.state.deploymentId, challengerId }, error)
    failed ??= new Set()
    failed.add(position)
  }
  return { deployment, applicant, reservedName, failed }
}

/** Why a challenger has no result for an applicant; null when its `ModelScore` has one. */
function classifyFailure(
  { serving }: ServingChallenger,
  applicant: Applicant,
  reservedName: string | undefined,
  isLiveSplit: boolean,
): unknown {
  if (serving === null) return new Error('the model could not be made ready')
  try {
    scoreApplicant(applicant, serving.modelScore, reservedName)
  } catch (error) {
    return error
  }
  // In a live split such a value is refused for all models alike.
  return isLiveSplit || serving.modelScore.invalidCount === 0
    ? null
    : new Error('the applicant has a value of a type that the model does not take')
}

/**
 * Checks an applicant against every model that could answer: the champion, and in a live split the
 * challengers too, so that the outcome never depends on the assignment. What only a shadow model
 * misses refuses nothing; a value of the wrong type does, in strict mode.
 *
 * @param violations receives what is wrong
 * @param position where the applicant stands in the request
 * @returns whether anything is wrong
 */
export function validateAgainstAll(
  { deployment, applicant, reservedName, failed }: Evaluation,
  violations: InputViolations,
  position: ApplicantPosition,
): boolean {
  const { champion, challengers, assignments } = deployment
  let isFaulty = violations.check(champion.modelScore, applicant, reservedName, position)
  if (assignments === null) {
    for (const { serving, ownFeatures } of challengers) {
      if (serving === null || ownFeatures.length === 0) continue
      if (violations.checkOwn(serving.modelScore, ownFeatures, applicant, position)) isFaulty = true
    }
    return isFaulty
  }
  for (const [challenger, { serving }] of challengers.entries()) {
    if (serving === null || failed?.has(challenger)) continue
    if (violations.check(serving.modelScore, applicant, reservedName, position)) isFaulty = true
  }
  return isFaulty
}

/** The property `shadow_scores` of an answer, with a comma before it; empty where there is none. */
export function shadowScores({ deployment, failed }: Evaluation): string {
  const { challengers, state } = deployment
  if (challengers.length === 0 || !state.shadowMode) return ''
  let texts = ''
  for (const [position, challenger] of challengers.entries()) {
    const { serving, shadowText } = challenger
    if (serving === null || failed?.has(position)) continue
    const missing = missingFeatures(challenger)
    const missingText = missing.length === 0 ? '' : `,"missing_features":${JSON.stringify(missing)}`
    texts += `${texts === '' ? '' : ','}${shadowText}${scoreText(serving.modelScore)}${missingText}}`
  }
  return `,"shadow_scores":[${texts}]`
}

const NONE: readonly string[] = []

/** Features that a challenger misses of an applicant, and the champion does not have. */
function missingFeatures({ serving, ownFeatures }: ServingChallenger): readonly string[] {
  if (serving === null || ownFeatures.length === 0) return NONE
  const { modelScore } = serving
  if (modelScore.missingCount === 0) return NONE
  return ownFeatures
    .filter((feature) => modelScore.readOutcome(feature) === 'missing')
    .map((feature) => modelScore.model.featureNames[feature] ?? '')
}

/**
 * Writes the result of each model for an applicant into the score log, from each `ModelScore`.
 *
 * @param id of the applicant's record, as it was sent
 */
export function logResults(
  log: ResultsWriter,
  { deployment, applicant, failed }: Evaluation,
  id: unknown,
  form: WarningForm,
): void {
  const { champion, challengers } = deployment
  const ignoredIds = isIgnoredId(id) ? 1 : 0
  log.openRow(readRecordId(id))
  log.result(
    champion.modelScore,
    champion.logParts,
    ignoredIds + countWarnings(champion.modelScore, applicant, form),
  )
  for (let position = 0; position < challengers.length; position++) {
    const serving = challengers[position]?.serving ?? null
    if (serving === null || failed?.has(position)) log.noResult()
    else
      log.result(
        serving.modelScore,
        serving.logParts,
        ignoredIds + countWarnings(serving.modelScore, applicant, form),
      )
  }
  log.closeRow()
}

/** The position of the champion in a table of assignments; challengers have theirs from 0. */
export const CHAMPION = -1

/** The position of the model for each bucket of a live split. */
export function assignmentTable(
  challengers: readonly { readonly bucketRanges: readonly number[] }[],
): Int16Array {
  const table = new Int16Array(BUCKETS).fill(CHAMPION)
  for (const [position, { bucketRanges }] of challengers.entries()) {
    for (const bucket of bucketsIn(bucketRanges)) table[bucket] = position
  }
  return table
}

/** The outcome of a live split for one subject. */
interface Assignment {
  /** 0 to 9,999; null without a live split. */
  readonly bucket: number | null
  /** Position of the challenger, or `CHAMPION`. */
  readonly position: number
}

const CHAMPION_ANSWERS: Assignment = { bucket: null, position: CHAMPION }

/**
 * Chooses the model that answers a request: by the subject's bucket in a live split, else the
 * champion.
 *
 * @param subject the routing key of the request, or its id
 */
export function assignModel(
  { state, assignments }: ServingDeployment,
  subject: string,
): Assignment {
  if (assignments === null) return CHAMPION_ANSWERS
  const bucket = findBucket(state.deploymentId, subject)
  return { bucket, position: assignments[bucket] ?? CHAMPION }
}

/** The model at a position; the champion stands in for a challenger that is not ready. */
export function modelAt(
  { champion, challengers }: ServingDeployment,
  position: number,
): ServingModel {
  return challengers[position]?.serving ?? champion
}
