import type { LightMyRequestResponse } from 'fastify'
import { OWNER } from '../start/service.ts'
import { numberedSpec, type Team, type TwoTeams } from '../start/team.ts'
import { ACCESS_SCENARIOS } from './access-scenarios.ts'
import { ALARM_SCENARIOS } from './alarm-scenarios.ts'
import { BATCH_SCENARIOS } from './batch-scenarios.ts'
import { CHANGE_SCENARIOS, withGuardedChanges } from './change-scenarios.ts'
import { EXPORT_SCENARIOS } from './export-scenarios.ts'
import { APPLICANT_SCENARIOS, withAddedFeatures } from './feature-scenarios.ts'
import { IMPORT_SCENARIOS } from './import-scenarios.ts'
import { MEMBER_SCENARIOS } from './member-scenarios.ts'
import { MONITORING_SCENARIOS } from './monitoring-scenarios.ts'
import { OUTCOME_SCENARIOS } from './outcome-scenarios.ts'
import { PROOF_SCENARIOS } from './proof-scenarios.ts'
import { REASON_SCENARIOS, withReasonRefusals } from './reason-scenarios.ts'
import { type Ids, UNKNOWN } from './routes.ts'
import { SCORE_SCENARIOS } from './score-scenarios.ts'
import { STATS_SCENARIOS } from './stats-scenarios.ts'

type Answer = Promise<LightMyRequestResponse>
/** What leads to an outcome. */
export type Scenario = (of: TwoTeams, ids: Ids) => Answer
/** How it comes about, and what to do for it. */
export type Row = readonly [how: string, scenario: Scenario]

const WITH_BODY = { income: 1 }

/** A path of this deployment. */
const at = (slug: string, end: string) => `/v1/deployments/${slug}${end}`
const guide = (slug: string, end: string) => `/api/v1/scorecards/${slug}${end}`

/** A deployment with a challenger, for scenarios that change it. */
async function contest({ team }: TwoTeams) {
  const { slug, modelId } = await team.deploy(numberedSpec(1))
  return { slug, champion: modelId, ...(await team.challenge(slug, numberedSpec(2), 5)) }
}
const contested =
  (send: (team: Team, of: Awaited<ReturnType<typeof contest>>) => Answer): Scenario =>
  async (teams) =>
    send(teams.team, await contest(teams))

const byKey = ({ team }: TwoTeams, url: string, body: object): Answer =>
  team.service.call({ url, token: team.key, body })
const login = ({ service }: TwoTeams, order: object, remoteAddress = '192.0.2.1') =>
  service.call({ url: '/api/auth/login', body: { ...OWNER, ...order }, remoteAddress })

const traffic = (action: string, rest: (of: Awaited<ReturnType<typeof contest>>) => object) =>
  contested((team, of) => team.traffic(of.slug, { action, ...rest(of) }))

/** How each outcome of an endpoint comes about, but for what all endpoints share. */
const ENDPOINTS: Readonly<Record<string, Readonly<Record<string, Row | readonly Row[]>>>> = {
  ...REASON_SCENARIOS,
  ...APPLICANT_SCENARIOS,
  'POST /v1/score/{slug}': {
    '200': ['an applicant', (of, { slug }) => byKey(of, `/v1/score/${slug}`, WITH_BODY)],
    '422 strict_mode_violation': [
      'a missing feature in strict mode',
      (of, { slug }) => byKey(of, `/v1/score/${slug}`, { strict_mode: true }),
    ],
  },
  'POST /v1/score/{slug}/batch': {
    '200': ['records', (of, { slug }) => byKey(of, `/v1/score/${slug}/batch`, { records: [{}] })],
    '413 batch_too_large': [
      '1,001 records',
      (of, { slug }) => byKey(of, `/v1/score/${slug}/batch`, { records: Array(1001).fill({}) }),
    ],
    '422 strict_mode_violation': [
      'a missing feature in strict mode',
      (of, { slug }) =>
        byKey(of, `/v1/score/${slug}/batch`, { records: [WITH_BODY, {}], strict_mode: true }),
    ],
  },
  'POST /api/v1/score': {
    '200': [
      'an applicant',
      (of, { slug }) => byKey(of, '/api/v1/score', { scorecard_id: slug, applicant: {} }),
    ],
    '422 strict_mode_violation': [
      'a missing feature in strict mode',
      (of, { slug }) =>
        byKey(of, '/api/v1/score', { scorecard_id: slug, applicant: {}, strict_mode: true }),
    ],
  },
  'POST /api/v1/score/batch': {
    '200': [
      'applicants',
      (of, { slug }) => byKey(of, '/api/v1/score/batch', { scorecard_id: slug, applicants: [{}] }),
    ],
    '413 batch_too_large': [
      '1,001 applicants',
      (of, { slug }) =>
        byKey(of, '/api/v1/score/batch', { scorecard_id: slug, applicants: Array(1001).fill({}) }),
    ],
    '422 strict_mode_violation': [
      'a missing feature in strict mode',
      (of, { slug }) =>
        byKey(of, '/api/v1/score/batch', {
          scorecard_id: slug,
          applicants: [{}],
          strict_mode: true,
        }),
    ],
  },
  'POST /v1/models/deploy': {
    '200': [true, false].map(
      (auto_deploy): Row => [
        `a valid spec, auto_deploy ${auto_deploy}`,
        ({ team }) =>
          team.call('POST', '/v1/models/deploy', {
            spec: numberedSpec(1),
            environment: 'staging',
            auto_deploy,
          }),
      ],
    ),
    '422 invalid_spec': [{}, undefined, { ...numberedSpec(1), features: [] }].map(
      (spec, index): Row => [
        ['an empty spec', 'no spec', 'a spec without features'][index] ?? '',
        ({ team }) =>
          team.call('POST', '/v1/models/deploy', {
            spec,
            environment: 'staging',
            auto_deploy: true,
          }),
      ],
    ),
  },
  ...IMPORT_SCENARIOS,
  ...ACCESS_SCENARIOS,
  ...CHANGE_SCENARIOS,
  'GET /v1/models': { '200': ['a member asks', ({ team }) => team.call('GET', '/v1/models')] },
  'GET /v1/models/{id}': {
    '200': ['a model', ({ team }, { model }) => team.call('GET', `/v1/models/${model}`)],
  },
  ...EXPORT_SCENARIOS,
  'PATCH /v1/models/{id}': {
    '200': ['archived', 'active'].map(
      (status): Row => [
        `a model becomes ${status}`,
        async ({ team }) => {
          const id = await team.register(numberedSpec(1))
          await team.setStatus(id, status === 'active' ? 'archived' : 'active')
          return team.call('PATCH', `/v1/models/${id}`, { status })
        },
      ],
    ),
    '409 model_is_champion': [
      'the champion is archived',
      contested((team, { champion }) =>
        team.call('PATCH', `/v1/models/${champion}`, { status: 'archived' }),
      ),
    ],
  },
  'GET /v1/deployments': {
    '200': ['a member asks', ({ team }) => team.call('GET', '/v1/deployments')],
  },
  'GET /v1/deployments/{slug}': {
    '200': ['a deployment', ({ team }, { slug }) => team.call('GET', at(slug, ''))],
  },
  ...STATS_SCENARIOS,
  ...SCORE_SCENARIOS,
  ...PROOF_SCENARIOS,
  ...MONITORING_SCENARIOS,
  ...ALARM_SCENARIOS,
  ...OUTCOME_SCENARIOS,
  ...BATCH_SCENARIOS,
  'PATCH /v1/deployments/{slug}': {
    '200': [{ name: 'Renamed' }, { is_active: false }].map(
      (body): Row => [
        JSON.stringify(body),
        contested((team, { slug }) => team.call('PATCH', at(slug, ''), body)),
      ],
    ),
  },
  'PATCH /v1/deployments/{slug}/traffic': {
    '200': [
      [
        'add_challenger',
        contested(async (team, { slug }) => {
          const model_id = await team.register(numberedSpec(3))
          return team.traffic(slug, { action: 'add_challenger', model_id, traffic_pct: 45 })
        }),
      ],
      [
        'update_traffic',
        traffic('update_traffic', ({ id }) => ({ challenger_id: id, traffic_pct: 50 })),
      ],
      ['remove_challenger', traffic('remove_challenger', ({ id }) => ({ challenger_id: id }))],
      ['toggle_shadow', traffic('toggle_shadow', () => ({ shadow_mode: true }))],
    ],
    '404 model_not_found': [
      'an unknown model',
      traffic('add_challenger', () => ({ model_id: UNKNOWN.model, traffic_pct: 5 })),
    ],
    '404 challenger_not_found': [
      'an unknown entry',
      traffic('remove_challenger', () => ({ challenger_id: UNKNOWN.challenger })),
    ],
    '422 invalid_traffic_config': [
      ['an unknown action', traffic('stop', () => ({}))],
      ['a parameter is missing', traffic('update_traffic', ({ id }) => ({ challenger_id: id }))],
      [
        'more than 50 percent together',
        contested(async (team, { slug }) => {
          const model_id = await team.register(numberedSpec(3))
          return team.traffic(slug, { action: 'add_challenger', model_id, traffic_pct: 45.01 })
        }),
      ],
      [
        'going live above 50 percent',
        contested(async (team, { slug }) => {
          await team.register(numberedSpec(4))
          const order = { challenger_version: '4.0', mode: 'shadow', traffic_pct: 100 }
          await team.done('POST', guide(slug, '/challengers'), order)
          return team.traffic(slug, { action: 'toggle_shadow', shadow_mode: false })
        }),
      ],
    ],
  },
  'POST /v1/deployments/{slug}/promote': {
    '200': [
      'an active challenger',
      contested((team, { slug, id }) =>
        team.call('POST', at(slug, '/promote'), { challenger_id: id }),
      ),
    ],
    '404 challenger_not_found': [
      ['an unknown entry', UNKNOWN.challenger],
      ['the model instead of the entry', 'modelId'],
    ].map(
      ([how = '', id]): Row => [
        how,
        contested((team, of) =>
          team.call('POST', at(of.slug, '/promote'), {
            challenger_id: id === 'modelId' ? of.modelId : id,
          }),
        ),
      ],
    ),
  },
  'POST /v1/deployments/{slug}/rollback': {
    '200': [
      'a previous champion',
      contested(async (team, { slug, id }) => {
        await team.promote(slug, id)
        return team.call('POST', at(slug, '/rollback'), { reason: 'x' })
      }),
    ],
    '400 no_rollback_target': [
      'only one champion ever',
      contested((team, { slug }) => team.call('POST', at(slug, '/rollback'), { reason: 'x' })),
    ],
  },
  'POST /v1/keys': {
    '201': ['a name', ({ team }) => team.call('POST', '/v1/keys', { name: 'k' })],
    '422 invalid_scope': [
      'the scope deploy',
      ({ team }) => team.call('POST', '/v1/keys', { name: 'k', scopes: ['deploy'] }),
    ],
  },
  'GET /v1/keys': { '200': ['a member asks', ({ team }) => team.call('GET', '/v1/keys')] },
  'POST /api/auth/login': {
    '200': ['email and password', (of) => login(of, {})],
    '401 invalid_credentials': [
      ['a wrong password', (of) => login(of, { password: 'wrong' }, '192.0.2.2')],
      ['an unknown email', (of) => login(of, { email: 'x@lender.example' }, '192.0.2.3')],
    ],
    '429 rate_limited': [
      'ten failures in a minute',
      async (of) => {
        const order = { email: 'guessed@lender.example', password: 'wrong' }
        for (let n = 0; n < 10; n++) await login(of, order, '192.0.2.4')
        return login(of, order, '192.0.2.4')
      },
    ],
  },
  'POST /api/auth/refresh': {
    '200': [
      'the token of a login',
      async (of) => {
        const { refresh_token } = (await login(of, {})).json()
        return of.service.call({ url: '/api/auth/refresh', body: { refresh_token } })
      },
    ],
    '401 invalid_refresh_token': [
      'an unknown token',
      ({ service }) => service.call({ url: '/api/auth/refresh', body: { refresh_token: 'x' } }),
    ],
  },
  'POST /api/v1/scorecards/{scorecard_id}/challengers': {
    '200': [
      ['shadow', 100],
      ['live', 50],
    ].map(
      ([mode, traffic_pct]): Row => [
        `${traffic_pct} percent in the mode ${mode}`,
        async ({ team }) => {
          const { slug } = await team.deploy(numberedSpec(1))
          await team.register(numberedSpec(5))
          const order = { challenger_version: '5.0', mode, traffic_pct }
          return team.call('POST', guide(slug, '/challengers'), order)
        },
      ],
    ),
    '422 invalid_traffic_config': [
      'more than 50 percent in a live split',
      contested((team, { slug }) =>
        team.call('POST', guide(slug, '/challengers'), {
          challenger_version: '1.0',
          mode: 'live',
          traffic_pct: 51,
        }),
      ),
    ],
  },
  'DELETE /api/v1/scorecards/{scorecard_id}/challengers/{version}': {
    '200': [
      'an active challenger',
      contested((team, { slug }) => team.call('DELETE', guide(slug, '/challengers/2.0'))),
    ],
    '404 challenger_not_found': [
      'the champion',
      contested((team, { slug }) => team.call('DELETE', guide(slug, '/challengers/1.0'))),
    ],
  },
  'POST /api/v1/scorecards/{scorecard_id}/promote': {
    '200': [
      'an active challenger',
      contested((team, { slug }) => team.call('POST', guide(slug, '/promote'), { version: '2.0' })),
    ],
    '404 challenger_not_found': [
      'the champion',
      contested((team, { slug }) => team.call('POST', guide(slug, '/promote'), { version: '1.0' })),
    ],
  },
  'POST /api/v1/scorecards/{scorecard_id}/rollback': {
    '200': [
      'a previous champion, no body',
      contested(async (team, { slug, id }) => {
        await team.promote(slug, id)
        return team.call('POST', guide(slug, '/rollback'))
      }),
    ],
    '400 no_rollback_target': [
      'only one champion ever',
      contested((team, { slug }) => team.call('POST', guide(slug, '/rollback'))),
    ],
  },
  'GET /api/v1/scorecards': {
    '200': [
      ['a member asks', ({ team }) => team.call('GET', '/api/v1/scorecards')],
      [
        'a key with the scope read asks',
        ({ team }) =>
          team.service.call({ method: 'GET', url: '/api/v1/scorecards', token: team.key }),
      ],
    ],
  },
  ...MEMBER_SCENARIOS,
  'GET /v1/audit-log': {
    '200': ['an owner asks', ({ team }) => team.call('GET', '/v1/audit-log')],
  },
  'any other path': {
    '404 not_found': [['an unknown path', ({ team }) => team.call('GET', '/v1/nothing')]],
    '405 not_found': [
      ['a method that the path has not', ({ team }) => team.call('DELETE', '/v1/models')],
    ],
  },
}

/** How each outcome of an endpoint comes about, but for what all endpoints share. */
export const SCENARIOS: typeof ENDPOINTS = withGuardedChanges(
  withReasonRefusals(withAddedFeatures(ENDPOINTS)),
)
