import { type Applicant, scoreApplicant } from '../engine/index.ts'
import { scoreText } from './answer.ts'
import type { ServingChallenger, ServingDeployment } from './cache.ts'
import type { ChallengerFaults } from './challenger-faults.ts'
import type { ApplicantPlace, RequestFaults } from './faults.ts'

/** Positions of challengers without a result for an applicant; null: all have one. */
export type Failed = ReadonlySet<number> | null

/**
 * Scores an applicant on every model of a deployment; the results stand in the models' sheets.
 *
 * A challenger that fails is noted and left out, whatever went wrong: only the champion's failure is
 * the caller's. In shadow mode that includes a value which only the challenger can't take.
 */
export function scoreOnAll(
  deployment: ServingDeployment,
  applicant: Applicant,
  reservedName: string | undefined,
  faults: ChallengerFaults,
): Failed {
  scoreApplicant(applicant, deployment.champion.sheet, reservedName)
  let failed: Set<number> | null = null
  for (const [position, challenger] of deployment.challengers.entries()) {
    const error = failureOf(challenger, applicant, reservedName, deployment.draws !== null)
    if (error === null) continue
    const { challengerId } = challenger
    faults.note({ deploymentId: deployment.state.deploymentId, challengerId }, error)
    failed ??= new Set()
    failed.add(position)
  }
  return failed
}

/** Why a challenger has no result for an applicant; null when it has one, in its sheet. */
function failureOf(
  { serving }: ServingChallenger,
  applicant: Applicant,
  reservedName: string | undefined,
  isLiveSplit: boolean,
): unknown {
  if (serving === null) return new Error('the model could not be made ready')
  try {
    scoreApplicant(applicant, serving.sheet, reservedName)
  } catch (error) {
    return error
  }
  // In a live split such a value is refused for all models alike.
  return isLiveSplit || serving.sheet.invalidCount === 0
    ? null
    : new Error('the applicant has a value of a type that the model does not take')
}

/**
 * Checks an applicant against every model that could answer: the champion, and in a live split the
 * challengers too, so that the outcome never depends on the draw.
 *
 * @returns whether there are faults
 */
export function checkOnAll(
  { champion, challengers, draws }: ServingDeployment,
  failed: Failed,
  request: RequestFaults,
  applicant: Applicant,
  reservedName: string | undefined,
  place: ApplicantPlace,
): boolean {
  let isFaulty = request.check(champion.sheet, applicant, reservedName, place)
  if (draws === null) return isFaulty
  for (const [position, { serving }] of challengers.entries()) {
    if (serving === null || failed?.has(position)) continue
    if (request.check(serving.sheet, applicant, reservedName, place)) isFaulty = true
  }
  return isFaulty
}

/** The property `shadow_scores` of an answer, with a comma before it; empty where there is none. */
export function shadowScores({ challengers, state }: ServingDeployment, failed: Failed): string {
  if (challengers.length === 0 || !state.shadowMode) return ''
  let texts = ''
  for (const [position, { serving, shadowText }] of challengers.entries()) {
    if (serving === null || failed?.has(position)) continue
    texts += `${texts === '' ? '' : ','}${shadowText}${scoreText(serving.sheet)}}`
  }
  return `,"shadow_scores":[${texts}]`
}
