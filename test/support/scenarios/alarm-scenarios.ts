import { type Route, UNKNOWN } from './routes.ts'
import type { Row } from './scenarios.ts'

const READERS = 'member or read key'
const LEVELS = { watch: 0.1, act: 0.25, n_min: 100, days: 30 }
const SIGNED = '401 unauthorized'
const DEPLOYMENT = '404 deployment_not_found'
const FORM = '400 invalid_request'
const QUOTA = '429 rate_limited'
const AWAY = '503 unavailable'

const at = (slug: string, end: string) => `/v1/deployments/${slug}${end}`
const ALARM = '/stability/alarm'

/** As `ROUTES`, of alarms and of what charts mark. */
export const ALARM_ROUTES: Readonly<Record<string, Route>> = {
  'GET /v1/deployments/:slug/stability/alarm': { operation: 'monitoring.alarm', admitted: READERS },
  'PUT /v1/deployments/:slug/stability/alarm': {
    operation: 'monitoring.set_alarm',
    admitted: ['owner', 'admin', 'lead_modeler'],
    body: LEVELS,
  },
  'GET /v1/deployments/:slug/version-comparison': {
    operation: 'monitoring.versions',
    admitted: READERS,
    query: 'other=<model>',
  },
  'GET /v1/deployments/:slug/history': { operation: 'monitoring.history', admitted: READERS },
}

/** As `DECIDED`, of the same routes. */
export const ALARM_OUTCOMES: Readonly<Record<string, readonly string[]>> = {
  'GET /v1/deployments/{slug}/stability/alarm': ['200', SIGNED, DEPLOYMENT, QUOTA, AWAY],
  'PUT /v1/deployments/{slug}/stability/alarm': [
    ...['200', SIGNED, '403 insufficient_role', DEPLOYMENT, QUOTA, FORM, AWAY],
    ...['413 payload_too_large', '415 unsupported_media_type'],
  ],
  'GET /v1/deployments/{slug}/history': ['200', SIGNED, DEPLOYMENT, QUOTA, FORM, AWAY],
  'GET /v1/deployments/{slug}/version-comparison': [
    ...['200', SIGNED, DEPLOYMENT, '404 model_not_found', QUOTA, FORM, AWAY],
  ],
}

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
