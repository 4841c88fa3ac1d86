import { LEVELS } from './alarm-routes.ts'
import { UNKNOWN } from './routes.ts'
import type { Row } from './scenarios.ts'

const at = (slug: string, end: string) => `/v1/deployments/${slug}${end}`
const ALARM = '/stability/alarm'

/** As `SCENARIOS`, of the same routes. */
export const ALARM_SCENARIOS: Readonly<Record<string, Readonly<Record<string, Row>>>> = {
  'GET /v1/deployments/{slug}/stability/alarm': {
    '200': ['no levels', ({ team }, { slug }) => team.call('GET', at(slug, ALARM))],
    '404 deployment_not_found': [
      'an unknown deployment',
      ({ team }) => team.call('GET', at(UNKNOWN.slug, ALARM)),
    ],
  },
  'PUT /v1/deployments/{slug}/stability/alarm': {
    '200': ['levels', ({ team }, { slug }) => team.call('PUT', at(slug, ALARM), LEVELS)],
    '400 invalid_request': [
      'a level to watch from above the one to act from',
      ({ team }, { slug }) => team.call('PUT', at(slug, ALARM), { watch: 0.3, act: 0.2 }),
    ],
    '404 deployment_not_found': [
      'an unknown deployment',
      ({ team }) => team.call('PUT', at(UNKNOWN.slug, ALARM), LEVELS),
    ],
  },
  'GET /v1/deployments/{slug}/version-comparison': {
    '200': [
      'a card with itself',
      ({ team }, { slug, model }) =>
        team.call('GET', at(slug, `/version-comparison?other=${model}`)),
    ],
    '400 invalid_request': [
      'no other model is named',
      ({ team }, { slug }) => team.call('GET', at(slug, '/version-comparison')),
    ],
    '404 model_not_found': [
      'an unknown model',
      ({ team }, { slug }) =>
        team.call('GET', at(slug, `/version-comparison?other=${UNKNOWN.model}`)),
    ],
  },
  'GET /v1/deployments/{slug}/history': {
    '200': ['its creation', ({ team }, { slug }) => team.call('GET', at(slug, '/history'))],
    '400 invalid_request': [
      'a stretch that ends before it begins',
      ({ team }, { slug }) =>
        team.call('GET', at(slug, '/history?to=2026-01-01T00:00:00Z&from=2026-01-02T00:00:00Z')),
    ],
    '404 deployment_not_found': [
      'an unknown deployment',
      ({ team }) => team.call('GET', at(UNKNOWN.slug, '/history')),
    ],
  },
}
