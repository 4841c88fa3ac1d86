import { newId } from '../../../src/platform/ids.ts'
import { BatchCaller } from '../batches/batches.ts'
import { provenBy } from '../expect/proofs.ts'
import { numberedSpec, type TwoTeams } from '../start/team.ts'
import { type Ids, UNKNOWN } from './routes.ts'
import type { Row } from './scenarios.ts'

/** The id of a job of the team. */
async function readJob({ team }: TwoTeams, { slug }: Ids): Promise<string> {
  return (await team.done('POST', `/v1/deployments/${slug}/replays`, {})).id
}

/** As `SCENARIOS`, of jobs and of what is computed again from the log. */
export const PROOF_SCENARIOS: Readonly<Record<string, Readonly<Record<string, Row>>>> = {
  'GET /v1/jobs/{id}': {
    '403 insufficient_role': [
      'the job of a file, and a role that sees no files',
      async ({ service, team, readToken }) => {
        const { slug } = await team.deploy(numberedSpec(1))
        const sent = await new BatchCaller(service, team.key).send(slug, 'income\n1\n')
        const url = `/v1/jobs/${sent.json().id}`
        return service.call({ method: 'GET', url, token: readToken('viewer') })
      },
    ],
    '200': ['a job', async (of, ids) => of.team.call('GET', `/v1/jobs/${await readJob(of, ids)}`)],
    '404 job_not_found': [
      'an unknown job',
      ({ team }) => team.call('GET', `/v1/jobs/${newId('job_', 0)}`),
    ],
  },
  'POST /v1/jobs/{id}/cancel': {
    '200': [
      'a job',
      async (of, ids) => of.team.call('POST', `/v1/jobs/${await readJob(of, ids)}/cancel`),
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
  'POST /v1/backtests': {
    '202': [
      'a specification',
      ({ team }, { slug }) =>
        team.call('POST', '/v1/backtests', { spec: numberedSpec(2), source: { deployment: slug } }),
    ],
    '404 definition_not_found': [
      'an unknown definition of outcomes',
      ({ team }, { slug }) => {
        const order = { spec: numberedSpec(2), source: { deployment: slug }, definition: 'none' }
        return team.call('POST', '/v1/backtests', order)
      },
    ],
    '422 invalid_spec': [
      'an empty specification',
      ({ team }, { slug }) =>
        team.call('POST', '/v1/backtests', { spec: {}, source: { deployment: slug } }),
    ],
  },
  'GET /v1/scores/{request_id}/proof': {
    '200': [
      'a score that is in the database',
      async ({ team }, { slug }) => {
        const { request_id } = await team.score(slug, {})
        return provenBy(team, request_id)
      },
    ],
    '400 invalid_request': [
      'a record below 0',
      ({ team }) => team.call('GET', `/v1/scores/${UNKNOWN.request_id}/proof?record=-1`),
    ],
  },
  'GET /v1/log/checkpoint': {
    '200': ['a member asks', ({ team }) => team.call('GET', '/v1/log/checkpoint')],
  },
  'GET /v1/log/consistency': {
    '200': ['an empty tree', ({ team }) => team.call('GET', '/v1/log/consistency?from=0&to=0')],
  },
  'GET /v1/log/key': {
    '200': ['a member asks', ({ team }) => team.call('GET', '/v1/log/key')],
  },
}
