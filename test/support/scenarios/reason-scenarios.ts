import { newId } from '../../../src/platform/ids.ts'
import { dmgCard } from '../cards/reason-cards.ts'
import { statsWith } from '../expect/stats.ts'
import { numberedSpec, type TwoTeams } from '../start/team.ts'
import { UNKNOWN } from './routes.ts'
import type { Row } from './scenarios.ts'

const BASELINES = '/reason-baselines'
const NO_BASELINE = newId('rbl_', 0)
const at = (slug: string, end: string) => `/v1/deployments/${slug}${end}`

/** A deployment with a score, whose card wants a baseline. */
export async function explained({ service, team }: TwoTeams) {
  const spec = { ...dmgCard(), reasons: { version: 1, method: 'mean_all' } }
  const { slug, modelId } = await team.deploy(spec)
  await team.score(slug, { age: 25 })
  await statsWith(service, team.owner, slug, 1)
  return { slug, order: { model_id: modelId, method: 'mean_all', min_population: 1 } }
}

const MODEL = ['an unknown model', 'model_id'] as const

/** As `SCENARIOS`, of reasons. */
export const REASON_SCENARIOS: Readonly<Record<string, Readonly<Record<string, Row>>>> = {
  'POST /v1/deployments/{slug}/reason-baselines': {
    '201': [
      'enough applicants',
      async (of) => {
        const { slug, order } = await explained(of)
        return of.team.call('POST', at(slug, BASELINES), order)
      },
    ],
    '404 model_not_found': [
      MODEL[0],
      ({ team }, { slug }) =>
        team.call('POST', at(slug, BASELINES), { model_id: UNKNOWN.model, method: 'mean_all' }),
    ],
    '422 reasons_not_configured': [
      'a card without reasons',
      ({ team }, { slug, model }) =>
        team.call('POST', at(slug, BASELINES), { model_id: model, method: 'mean_all' }),
    ],
    '422 invalid_baseline': [
      'another method than the card has',
      async (of) => {
        const { slug, order } = await explained(of)
        return of.team.call('POST', at(slug, BASELINES), { ...order, method: 'max' })
      },
    ],
    '422 population_too_small': [
      'too few applicants',
      async (of) => {
        const { slug, order } = await explained(of)
        return of.team.call('POST', at(slug, BASELINES), { ...order, min_population: 2 })
      },
    ],
  },
  'GET /v1/deployments/{slug}/reason-baselines': {
    '200': ['no baselines', ({ team }, { slug }) => team.call('GET', at(slug, BASELINES))],
    '400 invalid_request': [
      'a page of no baselines',
      ({ team }, { slug }) => team.call('GET', at(slug, `${BASELINES}?limit=0`)),
    ],
  },
  'PUT /v1/deployments/{slug}/reason-baseline': {
    '200': [
      'a baseline of the champion',
      async (of) => {
        const { slug, order } = await explained(of)
        const { id } = await of.team.done('POST', at(slug, BASELINES), order)
        const body = { model_id: order.model_id, baseline_id: id }
        return of.team.call('PUT', at(slug, '/reason-baseline'), body)
      },
    ],
    '404 model_not_found': [
      MODEL[0],
      ({ team }, { slug }) =>
        team.call('PUT', at(slug, '/reason-baseline'), {
          model_id: UNKNOWN.model,
          baseline_id: NO_BASELINE,
        }),
    ],
    '404 baseline_not_found': [
      'an unknown baseline',
      ({ team }, { slug, model }) =>
        team.call('PUT', at(slug, '/reason-baseline'), {
          model_id: model,
          baseline_id: NO_BASELINE,
        }),
    ],
    '422 invalid_baseline': [
      'a baseline of another model',
      async (of) => {
        const { slug, order } = await explained(of)
        const { id } = await of.team.done('POST', at(slug, BASELINES), order)
        const model_id = await of.team.register(numberedSpec(3))
        return of.team.call('PUT', at(slug, '/reason-baseline'), { model_id, baseline_id: id })
      },
    ],
  },
  'POST /v1/deployments/{slug}/reason-method-report': {
    '200': [
      'two methods',
      async (of) => {
        const { slug } = await explained(of)
        const body = { methods: ['mean_all', 'max'], cutoff: 50 }
        return of.team.call('POST', at(slug, '/reason-method-report'), body)
      },
    ],
    '422 reasons_not_configured': [
      'a card without reasons',
      ({ team }, { slug }) =>
        team.call('POST', at(slug, '/reason-method-report'), {
          methods: ['mean_all', 'max'],
          cutoff: 50,
        }),
    ],
    '422 invalid_baseline': [
      'a card without baselines of its own',
      async (of) => {
        const spec = { ...dmgCard(), reasons: { version: 1, method: 'mean_all' } }
        const features = spec.features.map(({ reason_baseline: _, ...feature }) => feature)
        const { slug } = await of.team.deploy({ ...spec, features })
        const body = { methods: ['fixed', 'max'], cutoff: 50 }
        return of.team.call('POST', at(slug, '/reason-method-report'), body)
      },
    ],
    '422 population_too_small': [
      'nobody in the period',
      async (of) => {
        const { slug } = await of.team.deploy(dmgCard())
        const body = { methods: ['mean_all', 'max'], cutoff: 50 }
        return of.team.call('POST', at(slug, '/reason-method-report'), body)
      },
    ],
  },
  'GET /v1/deployments/{slug}/reason-counts': {
    '200': [
      'an answer',
      async (of) => {
        const { slug } = await explained(of)
        return of.team.call('GET', at(slug, '/reason-counts'))
      },
    ],
    '400 invalid_request': [
      'a period that ends before it starts',
      ({ team }, { slug }) =>
        team.call(
          'GET',
          at(slug, '/reason-counts?from=2026-02-01T00:00:00Z&to=2026-01-01T00:00:00Z'),
        ),
    ],
    '404 model_not_found': [
      MODEL[0],
      ({ team }, { slug }) => team.call('GET', at(slug, `/reason-counts?model=${UNKNOWN.model}`)),
    ],
    '422 reasons_not_configured': [
      'a card without reasons',
      ({ team }, { slug }) => team.call('GET', at(slug, '/reason-counts')),
    ],
  },
  'GET /v1/scores/{request_id}/explanation': {
    '200': [
      'a score',
      async ({ team }, { slug }) => {
        const { request_id } = await team.score(slug, {})
        return team.call('GET', `/v1/scores/${request_id}/explanation`)
      },
    ],
    '400 invalid_request': [
      'a wrong language',
      ({ team }) => team.call('GET', `/v1/scores/${UNKNOWN.request_id}/explanation?lang=e`),
    ],
  },
}

const REFUSED = '422 reasons_not_configured'

/** Scores with reasons of a card that has none. */
export const REASON_REFUSALS: Readonly<Record<string, Row>> = {
  'POST /v1/score/{slug}': [
    'reasons of a card without them',
    ({ team }, { slug }) =>
      team.service.call({ url: `/v1/score/${slug}?reasons=4`, token: team.key, body: {} }),
  ],
  'POST /v1/score/{slug}/batch': [
    'reasons of a card without them',
    ({ team }, { slug }) =>
      team.service.call({
        url: `/v1/score/${slug}/batch`,
        token: team.key,
        body: { records: [{}], include_reasons: true },
      }),
  ],
  'POST /api/v1/score': [
    'reasons of a card without them',
    ({ team }, { slug }) =>
      team.service.call({
        url: '/api/v1/score',
        token: team.key,
        body: { scorecard_id: slug, applicant: {}, include_reasons: 4 },
      }),
  ],
  'POST /api/v1/score/batch': [
    'reasons of a card without them',
    ({ team }, { slug }) =>
      team.service.call({
        url: '/api/v1/score/batch',
        token: team.key,
        body: { scorecard_id: slug, applicants: [{}], include_reasons: 4 },
      }),
  ],
}

/** The same as rows of the table of outcomes. */
export function withReasonRefusals<Outcomes extends Readonly<Record<string, unknown>>>(
  scenarios: Readonly<Record<string, Outcomes>>,
): Record<string, Outcomes> {
  const added = Object.entries(REASON_REFUSALS).map(([endpoint, row]) => [
    endpoint,
    { ...scenarios[endpoint], [REFUSED]: row },
  ])
  return { ...scenarios, ...Object.fromEntries(added) }
}
