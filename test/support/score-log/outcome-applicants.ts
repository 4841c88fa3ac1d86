import type { ScoredApplicant } from '../../../src/outcomes/applicant.ts'
import { newId } from '../../../src/platform/ids.ts'

const SCORED_MS = Date.UTC(2026, 0, 31)

/** An applicant as outcomes keep it, of a request of its own. */
export function readApplicant(teamId: string): ScoredApplicant {
  return {
    teamId,
    deploymentId: newId('dep_', SCORED_MS),
    requestId: newId('req_', SCORED_MS),
    recordIndex: 0,
    isBatch: false,
    applicants: 1,
    scoredAtMs: SCORED_MS,
    referenceHash: 'hash',
    served: 0,
    results: [['mod_1', null, 600, 0.05, 'A', [2, 3]]],
  }
}
