import { type Applicant, scoreApplicant } from '../engine/index.ts'
import type { ChallengerFailures } from './challenger-failures.ts'
import type { ApplicantPosition, InputViolations } from './input-violations.ts'
import { scoreText } from './response.ts'
import type { ServingChallenger, ServingDeployment } from './serving.ts'

/** Positions of challengers without a result for an applicant; null: all have one. */
export type FailedChallengers = ReadonlySet<number> | null

/**
 * Scores an applicant on every model of a deployment; each model's `ModelScore` holds its result.
 *
 * A challenger that fails is noted and left out, whatever went wrong: only the champion's failure
 * is the caller's. In shadow mode that includes a value which only the challenger can't take.
 */
export function scoreOnAllModels(
  deployment: ServingDeployment,
  applicant: Applicant,
  reservedName: string | undefined,
  failures: ChallengerFailures,
): FailedChallengers {
  scoreApplicant(applicant, deployment.champion.modelScore, reservedName)
  let failed: Set<number> | null = null
  for (const [position, challenger] of deployment.challengers.entries()) {
    const error = failureOf(challenger, applicant, reservedName, deployment.assignments !== null)
    if (error === null) continue
    const { challengerId } = challenger
    failures.note({ deploymentId: deployment.state.deploymentId, challengerId }, error)
    failed ??= new Set()
    failed.add(position)
  }
  return failed
}

/** Why a challenger has no result for an applicant; null when its `ModelScore` has one. */
function failureOf(
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
 * challengers too, so that the outcome never depends on the assignment.
 *
 * @returns whether there are faults
 */
export function validateAgainstAll(
  { champion, challengers, assignments }: ServingDeployment,
  failed: FailedChallengers,
  request: InputViolations,
  applicant: Applicant,
  reservedName: string | undefined,
  place: ApplicantPosition,
): boolean {
  let isFaulty = request.check(champion.modelScore, applicant, reservedName, place)
  if (assignments === null) return isFaulty
  for (const [position, { serving }] of challengers.entries()) {
    if (serving === null || failed?.has(position)) continue
    if (request.check(serving.modelScore, applicant, reservedName, place)) isFaulty = true
  }
  return isFaulty
}

/** The property `shadow_scores` of an answer, with a comma before it; empty where there is none. */
export function shadowScores(
  { challengers, state }: ServingDeployment,
  failed: FailedChallengers,
): string {
  if (challengers.length === 0 || !state.shadowMode) return ''
  let texts = ''
  for (const [position, { serving, shadowText }] of challengers.entries()) {
    if (serving === null || failed?.has(position)) continue
    texts += `${texts === '' ? '' : ','}${shadowText}${scoreText(serving.modelScore)}}`
  }
  return `,"shadow_scores":[${texts}]`
}
