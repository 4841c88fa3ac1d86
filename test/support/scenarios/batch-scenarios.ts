import { newId } from '../../../src/platform/ids.ts'
import { putFile } from '../batches/example.ts'
import type { TestService } from '../start/service.ts'
import type { Team } from '../start/team.ts'
import type { Route } from './routes.ts'
import type { Row } from './scenarios.ts'

const SENDER = 'score key or deployer'
const READER = 'score key or file reader'
const NONE = '404 batch_not_found'
/** Well formed, so that the database is asked for it. */
const NO_DEPLOYMENT = newId('dep_', 0)

/** As `ROUTES`, of files that are scored. */
export const BATCH_ROUTES: Readonly<Record<string, Route>> = {
  'POST /v1/batches': {
    operation: 'batches.start',
    admitted: SENDER,
    body: { deployment: NO_DEPLOYMENT, input: { path: 'none.csv' } },
    success: '404 deployment_not_found',
    naming: [{ deployment: '<slug>', input: { path: 'none.csv' } }],
  },
  'POST /v1/batches/upload': {
    operation: 'batches.upload',
    admitted: SENDER,
    query: `deployment=${NO_DEPLOYMENT}`,
    file: { type: 'text/csv', text: 'income\n1\n', query: 'deployment=<slug>' },
    success: '400 invalid_request',
  },
  'GET /v1/batches': { operation: 'batches.list', admitted: READER },
  'GET /v1/batches/:id': {
    operation: 'batches.get',
    admitted: READER,
    id: 'batch',
    success: NONE,
  },
  'POST /v1/batches/:id/cancel': {
    operation: 'batches.cancel',
    admitted: SENDER,
    id: 'batch',
    success: NONE,
  },
  'GET /v1/batches/:id/results': {
    operation: 'batches.results',
    admitted: READER,
    id: 'batch',
    success: NONE,
  },
  'GET /v1/batches/:id/errors': {
    operation: 'batches.errors',
    admitted: READER,
    id: 'batch',
    success: NONE,
  },
}

/** The documented outcomes of these routes, but for the ones that all have. */
const USER = ['401 unauthorized', '403 insufficient_role', '429 rate_limited', '503 unavailable']
const FORM = '400 invalid_request'
const CHANGES = [
  '409 idempotency_in_progress',
  '422 idempotency_key_reused',
  '409 idempotency_answer_lost',
]
const FILE = ['413 payload_too_large', '415 unsupported_media_type']
const DEPLOYMENT = '404 deployment_not_found'
const ENDED = ['200', ...USER, NONE, '409 batch_not_ended']

/** As `DECIDED`. */
export const BATCH_OUTCOMES: Readonly<Record<string, readonly string[]>> = {
  'POST /v1/batches': [
    ...['202', ...USER, FORM, DEPLOYMENT, ...FILE, '422 invalid_file', ...CHANGES],
  ],
  'POST /v1/batches/upload': ['202', ...USER, FORM, DEPLOYMENT, ...FILE, ...CHANGES],
  'GET /v1/batches': ['200', ...USER, FORM],
  'GET /v1/batches/{id}': ['200', ...USER, NONE],
  'POST /v1/batches/{id}/cancel': ['200', ...USER, NONE],
  'GET /v1/batches/{id}/results': ENDED,
  'GET /v1/batches/{id}/errors': ENDED,
}

/** Largest upload that these scenarios are made for. */
export const BATCH_BYTES_MAX = 100_000

const CSV = { 'content-type': 'text/csv' }
const UNKNOWN = `/v1/batches/${newId('job_', 0)}`

interface Of {
  readonly team: Team
  readonly service: TestService
}

/** Sends a file, and gives the id of its batch. */
async function sent({ team, service }: Of, slug: string): Promise<string> {
  const response = await upload({ team, service }, slug, 'income\n1\n')
  return response.json().id
}

function upload({ team, service }: Of, slug: string, body: string, headers: object = CSV) {
  const url = `/v1/batches/upload?deployment=${slug}`
  return service.call({ url, token: team.owner, body, headers: { ...headers } })
}

/** As `SCENARIOS`. */
export const BATCH_SCENARIOS: Readonly<Record<string, Readonly<Record<string, Row>>>> = {
  'POST /v1/batches': {
    '202': [
      'a file of the folder of the team',
      async ({ team }, { slug }) => {
        putFile(team, 'applicants.csv', 'income\n1\n')
        return team.call('POST', '/v1/batches', {
          deployment: slug,
          input: { path: 'applicants.csv' },
        })
      },
    ],
    '404 deployment_not_found': [
      'an unknown deployment',
      ({ team }) =>
        team.call('POST', '/v1/batches', { deployment: 'none', input: { path: 'none.csv' } }),
    ],
    '422 invalid_file': [
      'a file that is not there',
      ({ team }, { slug }) =>
        team.call('POST', '/v1/batches', { deployment: slug, input: { path: 'none.csv' } }),
    ],
  },
  'POST /v1/batches/upload': {
    '202': ['a file', (of, { slug }) => upload(of, slug, 'income\n1\n')],
    '400 invalid_request': [
      'no file',
      ({ team, service }, { slug }) =>
        service.call({ url: `/v1/batches/upload?deployment=${slug}`, token: team.owner }),
    ],
    '404 deployment_not_found': [
      'an unknown deployment',
      (of) => upload(of, NO_DEPLOYMENT, 'income\n1\n'),
    ],
    '413 payload_too_large': [
      'a file above the limit',
      (of, { slug }) => upload(of, slug, 'x'.repeat(BATCH_BYTES_MAX + 1)),
    ],
    '415 unsupported_media_type': [
      'a file of XML',
      (of, { slug }) => upload(of, slug, '<x/>', { 'content-type': 'application/xml' }),
    ],
  },
  'GET /v1/batches': {
    '200': ['an owner asks', ({ team }) => team.call('GET', '/v1/batches')],
  },
  'GET /v1/batches/{id}': {
    '200': [
      'a batch',
      async (of, { slug }) => of.team.call('GET', `/v1/batches/${await sent(of, slug)}`),
    ],
    [NONE]: ['an unknown batch', ({ team }) => team.call('GET', UNKNOWN)],
  },
  'POST /v1/batches/{id}/cancel': {
    '200': [
      'a batch',
      async (of, { slug }) => of.team.call('POST', `/v1/batches/${await sent(of, slug)}/cancel`),
    ],
    [NONE]: ['an unknown batch', ({ team }) => team.call('POST', `${UNKNOWN}/cancel`)],
  },
  'GET /v1/batches/{id}/results': resultScenarios('results'),
  'GET /v1/batches/{id}/errors': resultScenarios('errors'),
}

function resultScenarios(what: string): Readonly<Record<string, Row>> {
  return {
    '200': [
      'a batch that was cancelled',
      async (of, { slug }) => {
        const id = await sent(of, slug)
        await of.team.call('POST', `/v1/batches/${id}/cancel`)
        return of.team.call('GET', `/v1/batches/${id}/${what}`)
      },
    ],
    '409 batch_not_ended': [
      'a batch that has just begun',
      async (of, { slug }) => of.team.call('GET', `/v1/batches/${await sent(of, slug)}/${what}`),
    ],
    [NONE]: ['an unknown batch', ({ team }) => team.call('GET', `${UNKNOWN}/${what}`)],
  }
}
