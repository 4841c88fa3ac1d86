import { newId } from '../../../src/platform/ids/ids.ts'
import type { Rivals } from '../start/team.ts'
import { type Ids, UNKNOWN } from './routes.ts'
import type { Row } from './scenarios.ts'

/** The id of a job of the team. */
async function jobOf({ team }: Rivals, { slug }: Ids): Promise<string> {
  return (await team.done('POST', `/v1/deployments/${slug}/replays`, {})).id
}

/** As `SCENARIOS`, of jobs and of what is computed again from the log. */
export const PROOF_SCENARIOS: Readonly<Record<string, Readonly<Record<string, Row>>>> = {
  'GET /v1/jobs/{id}': {
    '200': ['a job', async (of, ids) => of.team.call('GET', `/v1/jobs/${await jobOf(of, ids)}`)],
    '404 job_not_found': [
      'an unknown job',
      ({ team }) => team.call('GET', `/v1/jobs/${newId('job_', 0)}`),
    ],
  },
  'POST /v1/jobs/{id}/cancel': {
    '200': [
      'a job',
      async (of, ids) => of.team.call('POST', `/v1/jobs/${await jobOf(of, ids)}/cancel`),
    ],
    '404 job_not_found': [
      'an unknown job',
      ({ team }) => team.call('POST', `/v1/jobs/${newId('job_', 0)}/cancel`),
    ],
  },
  'POST /v1/deployments/{slug}/replays': {
    '202': [
      'a period',
      ({ team }, { slug }) => team.call('POST', `/v1/deployments/${slug}/replays`, {}),
    ],
    '404 deployment_not_found': [
      'an unknown deployment',
      ({ team }) => team.call('POST', `/v1/deployments/${UNKNOWN.slug}/replays`, {}),
    ],
  },
  'POST /v1/scores/{request_id}/replay': {
    '200': [
      'the features of a score',
      async ({ team }, { slug }) => {
        const { request_id } = await team.score(slug, { income: 1 })
        return team.call('POST', `/v1/scores/${request_id}/replay`, { features: { income: 1 } })
      },
    ],
  },
}
