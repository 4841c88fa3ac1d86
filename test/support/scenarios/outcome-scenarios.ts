import { newId } from '../../../src/platform/ids.ts'
import type { Route } from './routes.ts'
import type { Row } from './scenarios.ts'

/** Body of a definition that every table may put again. */
export const DEFINITION = {
  label: 'Bad within 12 months',
  window_months: 12,
  bad_rule_text: '90 days past due',
  maturity_months: 12,
}

const OUTCOME = {
  request_id: newId('req_', 0),
  kind: 'performance',
  definition: 'none',
  outcome: 'good',
  as_of: '2026-01-31',
}
const SENDER = 'score key or deployer'

/** As `ROUTES`, of outcomes and of what they say about scores. */
export const OUTCOME_ROUTES: Readonly<Record<string, Route>> = {
  'PUT /v1/outcome-definitions/:id': {
    operation: 'outcome_definitions.put',
    admitted: ['owner', 'admin', 'lead_modeler'],
    id: 'definition',
    body: DEFINITION,
  },
  'GET /v1/outcome-definitions': {
    operation: 'outcome_definitions.list',
    admitted: 'member or read key',
  },
  'POST /v1/outcomes': {
    operation: 'outcomes.send',
    admitted: SENDER,
    body: { outcomes: [OUTCOME] },
  },
  'POST /v1/outcomes/imports': {
    operation: 'outcomes.import',
    admitted: SENDER,
    file: { type: 'text/csv', text: 'kind\n' },
    success: '400 invalid_request',
  },
  'GET /v1/outcomes/imports/:id': {
    operation: 'outcomes.get_import',
    admitted: 'score key or file reader',
    id: 'import',
    success: '404 import_not_found',
  },
  'GET /v1/deployments/:slug/performance': {
    operation: 'performance.get',
    admitted: 'member or read key',
    query: 'definition=none',
    success: '404 definition_not_found',
  },
  'GET /v1/deployments/:slug/performance/vintages': {
    operation: 'performance.vintages',
    admitted: 'member or read key',
    query: 'definition=none',
    success: '404 definition_not_found',
  },
}

const FILE = { url: '/v1/outcomes/imports', method: 'POST' } as const
const CSV = { 'content-type': 'text/csv' }
const at = (slug: string, end: string) => `/v1/deployments/${slug}${end}`

/** As `SCENARIOS`. */
export const OUTCOME_SCENARIOS: Readonly<Record<string, Readonly<Record<string, Row>>>> = {
  'PUT /v1/outcome-definitions/{id}': {
    '200': [
      'a definition',
      ({ team }) => team.call('PUT', '/v1/outcome-definitions/gb12', DEFINITION),
    ],
    '409 definition_in_use': [
      'another rule once an outcome refers to it',
      async ({ team }, { slug }) => {
        const path = '/v1/outcome-definitions/used'
        await team.done('PUT', path, DEFINITION)
        const { request_id } = await team.score(slug, {})
        const outcome = { kind: 'performance', definition: 'used', outcome: 'good' }
        const outcomes = [{ request_id, as_of: '2026-01-31', ...outcome }]
        await team.done('POST', '/v1/outcomes', { outcomes })
        return team.call('PUT', path, { ...DEFINITION, window_months: 24 })
      },
    ],
  },
  'GET /v1/outcome-definitions': {
    '200': ['a member asks', ({ team }) => team.call('GET', '/v1/outcome-definitions')],
  },
  'POST /v1/outcomes': {
    '200': ['no outcome', ({ team }) => team.call('POST', '/v1/outcomes', { outcomes: [] })],
    '413 batch_too_large': [
      '10,001 outcomes',
      ({ team }) => team.call('POST', '/v1/outcomes', `{"outcomes":[${'1,'.repeat(10_000)}1]}`),
    ],
  },
  'POST /v1/outcomes/imports': {
    '202': [
      'a file',
      ({ team, service }) =>
        service.call({ ...FILE, token: team.owner, body: 'kind\n', headers: CSV }),
    ],
    '400 invalid_request': [
      'no file',
      ({ team, service }) => service.call({ ...FILE, token: team.owner }),
    ],
    '413 payload_too_large': [
      'a file above the limit',
      ({ team, service }) =>
        service.call({ ...FILE, token: team.owner, body: 'x'.repeat(2_200_000), headers: CSV }),
    ],
    '415 unsupported_media_type': [
      'a file of XML',
      ({ team, service }) => {
        const headers = { 'content-type': 'application/xml' }
        return service.call({ ...FILE, token: team.owner, body: '<x/>', headers })
      },
    ],
  },
  'GET /v1/outcomes/imports/{id}': {
    '200': [
      'a file that was sent',
      async ({ team, service }) => {
        const sent = { ...FILE, token: team.owner, body: 'kind\n', headers: CSV }
        const { id } = (await service.call(sent)).json()
        return team.call('GET', `/v1/outcomes/imports/${id}`)
      },
    ],
  },
  'GET /v1/deployments/{slug}/performance': performance('/performance', true),
  'GET /v1/deployments/{slug}/performance/vintages': performance('/performance/vintages', false),
}

function performance(end: string, hasModel: boolean): Readonly<Record<string, Row>> {
  const path = `${end}?definition=gb12`
  return {
    '200': [
      'a definition',
      async ({ team }, { slug }) => {
        await team.done('PUT', '/v1/outcome-definitions/gb12', DEFINITION)
        return team.call('GET', at(slug, path))
      },
    ],
    '400 invalid_request': [
      'a moment that is none',
      ({ team }, { slug }) => team.call('GET', at(slug, `${path}&from=now`)),
    ],
    '404 definition_not_found': [
      'an unknown definition',
      ({ team }, { slug }) => team.call('GET', at(slug, `${end}?definition=unknown`)),
    ],
    ...(hasModel && {
      '404 model_not_found': [
        'an unknown model',
        async ({ team }, { slug }) => {
          await team.done('PUT', '/v1/outcome-definitions/gb12', DEFINITION)
          return team.call('GET', at(slug, `${path}&model=mod_none`))
        },
      ],
    }),
  }
}
