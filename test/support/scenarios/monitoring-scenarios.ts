import { numberedSpec } from '../start/team.ts'
import { UNKNOWN } from './routes.ts'
import type { Row } from './scenarios.ts'

const at = (slug: string, end: string) => `/v1/deployments/${slug}${end}`
const BACKWARDS = 'to=2026-01-01T00:00:00Z&from=2026-01-02T00:00:00Z'
const counts = (bins: readonly number[]) => ({ counts: { features: { income: { bins } } } })

/** What a model's report can answer. */
const ofModel = (end: string): Readonly<Record<string, Row>> => ({
  '200': ['its champion', ({ team }, { slug }) => team.call('GET', at(slug, end))],
  '400 invalid_request': [
    'a stretch that ends before it begins',
    ({ team }, { slug }) => team.call('GET', at(slug, `${end}?${BACKWARDS}`)),
  ],
  '404 model_not_found': [
    'an unknown model',
    ({ team }, { slug }) => team.call('GET', at(slug, `${end}?model=${UNKNOWN.model}`)),
  ],
})

/** What a report on a challenger can answer. */
const ofChallenger = (end: string): Readonly<Record<string, Row>> => ({
  '200': [
    'a challenger',
    async ({ team }) => {
      const { slug } = await team.deploy(numberedSpec(1))
      const { id } = await team.challenge(slug, numberedSpec(2), 5)
      return team.call('GET', at(slug, `${end}&challenger_id=${id}`))
    },
  ],
  '400 invalid_request': [
    'no challenger is named',
    ({ team }, { slug }) => team.call('GET', at(slug, end)),
  ],
  '404 challenger_not_found': [
    'an unknown challenger',
    ({ team }, { slug }) =>
      team.call('GET', at(slug, `${end}&challenger_id=${UNKNOWN.challenger}`)),
  ],
})

/** As `SCENARIOS`, of what monitors models. */
export const MONITORING_SCENARIOS: Readonly<Record<string, Readonly<Record<string, Row>>>> = {
  'PUT /v1/models/{id}/baseline': {
    '200': [
      'counts',
      ({ team }, { model }) => team.call('PUT', `/v1/models/${model}/baseline`, counts([1, 2, 3])),
    ],
    '404 deployment_not_found': [
      'a period of an unknown deployment',
      ({ team }, { model }) =>
        team.call('PUT', `/v1/models/${model}/baseline`, { period: { deployment: UNKNOWN.slug } }),
    ],
    '422 invalid_baseline': [
      'too few counts',
      ({ team }, { model }) => team.call('PUT', `/v1/models/${model}/baseline`, counts([1])),
    ],
  },
  'GET /v1/deployments/{slug}/stability': ofModel('/stability'),
  'GET /v1/deployments/{slug}/stability/series': ofModel('/stability/series'),
  'GET /v1/deployments/{slug}/cutoffs': ofModel('/cutoffs'),
  'GET /v1/overview': {
    '200': ['a member asks', ({ team }) => team.call('GET', '/v1/overview')],
    '400 invalid_request': [
      'a cursor of another list',
      ({ team }) => team.call('GET', '/v1/overview?cursor=dep_1'),
    ],
  },
  'GET /v1/deployments/{slug}/reports/{month}': {
    '200': [
      'the month of now',
      ({ team }, { slug }) =>
        team.call('GET', at(slug, `/reports/${new Date().toISOString().slice(0, 7)}`)),
    ],
    '400 invalid_request': [
      'a month to come',
      ({ team }, { slug }) => team.call('GET', at(slug, '/reports/2199-01')),
    ],
    '404 definition_not_found': [
      'an unknown definition',
      ({ team }, { slug }) => team.call('GET', at(slug, '/reports/2026-01?definition=none')),
    ],
  },
  'GET /v1/deployments/{slug}/swap-set': ofChallenger('/swap-set?cutoff=1'),
  'GET /v1/deployments/{slug}/migration': ofChallenger('/migration?dedupe=last'),
}
