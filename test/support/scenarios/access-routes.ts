import { ROLES } from '../../../src/http/access/caller.ts'
import type { Route } from './routes.ts'

const MANAGERS = ['owner', 'admin'] as const
const AUDITED = ['owner', 'admin', 'auditor'] as const

/** Routes of secrets, own accounts and what a review of access reads. */
export const ACCESS_ROUTES: Readonly<Record<string, Route>> = {
  'POST /api/auth/password': {
    operation: 'auth.change_password',
    admitted: ROLES,
    success: '401 invalid_credentials',
    body: { current_password: 'not the password', new_password: 'a long enough password' },
  },
  // The service of these tables has no identity provider.
  'POST /api/auth/oidc/start': {
    operation: 'auth.sign_on_start',
    admitted: 'anyone',
    success: '404 not_found',
    body: { redirect_uri: 'http://127.0.0.1:8400/callback' },
  },
  'POST /api/auth/oidc': {
    operation: 'auth.sign_on',
    admitted: 'anyone',
    success: '404 not_found',
    body: { flow: 'none', code: 'none', state: 'none' },
  },
  'GET /api/auth/sessions': { operation: 'sessions.list', admitted: ROLES },
  'DELETE /api/auth/sessions/:id': {
    operation: 'sessions.end',
    admitted: ROLES,
    id: 'session',
    success: '404 session_not_found',
  },
  'POST /v1/keys/:id/rotate': {
    operation: 'keys.rotate',
    admitted: MANAGERS,
    id: 'key',
    success: '404 key_not_found',
    body: { overlap_seconds: 60 },
  },
  'PATCH /v1/keys/:id': {
    operation: 'keys.update',
    admitted: MANAGERS,
    id: 'key',
    success: '404 key_not_found',
    body: { name: 'renamed' },
  },
  'POST /v1/service-accounts': {
    operation: 'service_accounts.create',
    admitted: MANAGERS,
    inPerson: true,
    success: '201',
    body: { name: 'account of the access table', role: 'viewer' },
  },
  'GET /v1/service-accounts': { operation: 'service_accounts.list', admitted: AUDITED },
  'POST /v1/service-accounts/:id/rotate': {
    operation: 'service_accounts.rotate',
    admitted: MANAGERS,
    inPerson: true,
    id: 'account',
    success: '404 service_account_not_found',
    body: { overlap_seconds: 60 },
  },
  'DELETE /v1/service-accounts/:id': {
    operation: 'service_accounts.revoke',
    admitted: MANAGERS,
    inPerson: true,
    id: 'account',
    success: '404 service_account_not_found',
  },
  'POST /v1/models/:id/copies': {
    operation: 'models.copy',
    admitted: ['owner', 'admin', 'lead_modeler'],
    id: 'model',
    success: '201',
    body: { environment: 'production' },
  },
  'GET /v1/audit-log/export': { operation: 'audit_log.export', admitted: AUDITED },
  'GET /v1/access-review': { operation: 'access_review.export', admitted: AUDITED },
}

const SIGNED = '401 unauthorized'
const ROLE = '403 insufficient_role'
const QUOTA = '429 rate_limited'
const FORM = '400 invalid_request'
const AWAY = '503 unavailable'
const BODY = [FORM, '413 payload_too_large', '415 unsupported_media_type', AWAY]
/** Without a word on the database, which they reach only with the provider's answer. */
const SIGN_ON = [FORM, '413 payload_too_large', '415 unsupported_media_type', '404 not_found']
const CHANGES = [
  '409 idempotency_in_progress',
  '422 idempotency_key_reused',
  '409 idempotency_answer_lost',
]
const ACCOUNT = '404 service_account_not_found'

/** Their outcomes. */
export const ACCESS_OUTCOMES: Readonly<Record<string, readonly string[]>> = {
  'POST /api/auth/password': [...['204', '401 invalid_credentials', SIGNED, ROLE, QUOTA, ...BODY]],
  'POST /api/auth/oidc/start': ['200', QUOTA, ...SIGN_ON],
  'POST /api/auth/oidc': ['200', '401 sign_on_refused', QUOTA, ...SIGN_ON],
  'GET /api/auth/sessions': ['200', SIGNED, QUOTA, FORM, AWAY],
  'DELETE /api/auth/sessions/{id}': ['204', SIGNED, '404 session_not_found', QUOTA, AWAY],
  'POST /v1/keys/{id}/rotate': [
    ...['200', SIGNED, ROLE, '404 key_not_found', QUOTA, ...BODY, ...CHANGES],
  ],
  'POST /v1/service-accounts': ['201', SIGNED, ROLE, QUOTA, ...BODY, ...CHANGES],
  'GET /v1/service-accounts': ['200', SIGNED, ROLE, QUOTA, FORM, AWAY],
  'POST /v1/service-accounts/{id}/rotate': [
    ...['200', SIGNED, ROLE, ACCOUNT, QUOTA, ...BODY, ...CHANGES],
  ],
  'DELETE /v1/service-accounts/{id}': ['204', SIGNED, ROLE, ACCOUNT, QUOTA, AWAY],
  'POST /v1/models/{id}/copies': [
    ...['201', SIGNED, ROLE, '404 model_not_found', QUOTA, ...BODY, ...CHANGES],
  ],
  'GET /v1/audit-log/export': ['200', FORM, SIGNED, ROLE, QUOTA, AWAY],
  'GET /v1/access-review': ['200', SIGNED, ROLE, QUOTA, AWAY],
}
