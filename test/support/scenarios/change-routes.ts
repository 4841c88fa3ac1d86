import { ROLES } from '../../../src/http/access/caller.ts'
import type { Route } from './routes.ts'

const MANAGERS = ['owner', 'admin'] as const
const AUDITED = ['owner', 'admin', 'auditor'] as const
const NO_REQUEST = '404 change_request_not_found'
const NO_WEBHOOK = '404 webhook_not_found'

const webhookRoute = (operation: string, rest: Partial<Route> = {}): Route => ({
  operation: `webhooks.${operation}`,
  admitted: MANAGERS,
  id: 'webhook',
  success: NO_WEBHOOK,
  ...rest,
})

/** Routes of change requests and webhooks. */
export const CHANGE_ROUTES: Readonly<Record<string, Route>> = {
  'GET /v1/change-requests': { operation: 'change_requests.list', admitted: ROLES },
  'GET /v1/change-requests/:id': {
    operation: 'change_requests.get',
    admitted: ROLES,
    id: 'change_request',
    success: NO_REQUEST,
  },
  'POST /v1/change-requests/:id/approve': {
    operation: 'change_requests.approve',
    admitted: MANAGERS,
    id: 'change_request',
    success: NO_REQUEST,
    body: { comment: 'yes' },
  },
  'POST /v1/change-requests/:id/decline': {
    operation: 'change_requests.decline',
    admitted: MANAGERS,
    id: 'change_request',
    success: NO_REQUEST,
    body: { comment: 'no' },
  },
  'POST /v1/webhooks': {
    operation: 'webhooks.create',
    admitted: MANAGERS,
    success: '422 invalid_webhook',
    body: { url: 'http://risk.lender.example/' },
  },
  'GET /v1/webhooks': { operation: 'webhooks.list', admitted: AUDITED },
  'GET /v1/webhooks/:id': webhookRoute('get', { admitted: AUDITED }),
  'PATCH /v1/webhooks/:id': webhookRoute('update', { body: { description: null } }),
  'DELETE /v1/webhooks/:id': webhookRoute('delete'),
  'POST /v1/webhooks/:id/rotate': webhookRoute('rotate', { body: { overlap_seconds: 60 } }),
  'POST /v1/webhooks/:id/test': webhookRoute('test'),
  'GET /v1/webhooks/:id/deliveries': webhookRoute('deliveries', { admitted: AUDITED }),
  'POST /v1/webhooks/:id/deliveries/:delivery_id/replay': webhookRoute('replay'),
  'POST /v1/webhooks/:id/replay': webhookRoute('replay_dead'),
}

const SIGNED = '401 unauthorized'
const ROLE = '403 insufficient_role'
const QUOTA = '429 rate_limited'
const FORM = '400 invalid_request'
const AWAY = '503 unavailable'
const BODY = [FORM, '413 payload_too_large', '415 unsupported_media_type', AWAY]
const CHANGES = [
  ...['409 idempotency_in_progress', '422 idempotency_key_reused', '409 idempotency_answer_lost'],
]
const USER = [SIGNED, ROLE, QUOTA]
const DECISION = [
  ...['200', ...USER, '403 own_change_request', NO_REQUEST, '409 change_outdated'],
  ...['409 change_request_closed', ...BODY],
]
const OFF = '409 webhook_inactive'
const ADDRESS = '422 invalid_webhook'
/** A change that may have to wait. */
const WAITS = ['202', '409 limit_reached']

/** Outcomes that the changes of deployments have since they may need approval. */
export const GUARDED_OUTCOMES: Readonly<Record<string, readonly string[]>> = {
  'PATCH /v1/deployments/{slug}': WAITS,
  'PATCH /v1/deployments/{slug}/traffic': WAITS,
  'POST /v1/deployments/{slug}/promote': WAITS,
  'POST /v1/deployments/{slug}/rollback': WAITS,
  'POST /api/v1/scorecards/{scorecard_id}/challengers': WAITS,
  'DELETE /api/v1/scorecards/{scorecard_id}/challengers/{version}': WAITS,
  'POST /api/v1/scorecards/{scorecard_id}/promote': WAITS,
  'POST /api/v1/scorecards/{scorecard_id}/rollback': WAITS,
  'PUT /v1/deployments/{slug}/reason-baseline': WAITS,
  'PUT /v1/deployments/{slug}/stability/alarm': WAITS,
  'PATCH /v1/models/{id}': ['409 approval_required'],
}

/** Outcomes of the routes above. */
export const CHANGE_OUTCOMES: Readonly<Record<string, readonly string[]>> = {
  'GET /v1/change-requests': ['200', SIGNED, QUOTA, FORM, AWAY],
  'GET /v1/change-requests/{id}': ['200', SIGNED, QUOTA, NO_REQUEST, AWAY],
  'POST /v1/change-requests/{id}/approve': [...DECISION, '422 invalid_traffic_config'],
  'POST /v1/change-requests/{id}/decline': DECISION,
  'POST /v1/webhooks': ['201', ...USER, '409 limit_reached', ADDRESS, ...BODY, ...CHANGES],
  'GET /v1/webhooks': ['200', ...USER, FORM, AWAY],
  'GET /v1/webhooks/{id}': ['200', ...USER, NO_WEBHOOK, AWAY],
  'PATCH /v1/webhooks/{id}': ['200', ...USER, NO_WEBHOOK, ADDRESS, ...BODY],
  'DELETE /v1/webhooks/{id}': ['204', ...USER, NO_WEBHOOK, AWAY],
  'POST /v1/webhooks/{id}/rotate': ['200', ...USER, NO_WEBHOOK, ...BODY, ...CHANGES],
  'POST /v1/webhooks/{id}/test': ['202', ...USER, NO_WEBHOOK, OFF, AWAY],
  'GET /v1/webhooks/{id}/deliveries': ['200', ...USER, FORM, NO_WEBHOOK, AWAY],
  'POST /v1/webhooks/{id}/deliveries/{delivery_id}/replay': [
    ...['202', ...USER, NO_WEBHOOK, '404 delivery_not_found', OFF, AWAY],
  ],
  'POST /v1/webhooks/{id}/replay': ['202', ...USER, NO_WEBHOOK, OFF, AWAY],
}
