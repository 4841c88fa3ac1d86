import type { Route } from './routes.ts'

const READERS = 'member or read key'
export const LEVELS = { watch: 0.1, act: 0.25, n_min: 100, days: 30 }
const SIGNED = '401 unauthorized'
const DEPLOYMENT = '404 deployment_not_found'
const FORM = '400 invalid_request'
const QUOTA = '429 rate_limited'
const AWAY = '503 unavailable'

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
