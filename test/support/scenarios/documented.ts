/**
 * The outcomes of each endpoint, listed by hand and compared with those that tests have seen.
 *
 * `SPECIFIED` holds what the API promised its callers first: none of it may go. `DECIDED` holds
 * what came later, most of it by docs/decisions.md 2.
 */

import { ACCESS_OUTCOMES } from './access-routes.ts'
import { ALARM_OUTCOMES } from './alarm-routes.ts'
import { BATCH_OUTCOMES } from './batch-scenarios.ts'
import { CHANGE_OUTCOMES, GUARDED_OUTCOMES } from './change-routes.ts'
import { FEATURE_OUTCOMES } from './feature-scenarios.ts'

const KEYED = '401 invalid_api_key'
const SIGNED = '401 unauthorized'
const ROLE = '403 insufficient_role'
const DEPLOYMENT = '404 deployment_not_found'
const MODEL = '404 model_not_found'
const CHALLENGER = '404 challenger_not_found'
const TRAFFIC = '422 invalid_traffic_config'
const QUOTA = '429 rate_limited'

type Table = Readonly<Record<string, readonly string[]>>

export const SPECIFIED: Table = {
  'POST /v1/score/{slug}': ['200', KEYED, DEPLOYMENT, QUOTA],
  'POST /v1/score/{slug}/batch': ['200', KEYED, DEPLOYMENT, '413 batch_too_large', QUOTA],
  'POST /v1/models/deploy': ['200', SIGNED, ROLE, '422 invalid_spec', QUOTA],
  'GET /v1/models': ['200', SIGNED, QUOTA],
  'GET /v1/models/{id}': ['200', SIGNED, MODEL, QUOTA],
  'PATCH /v1/models/{id}': ['200', SIGNED, ROLE, MODEL, '409 model_is_champion', QUOTA],
  'GET /v1/deployments': ['200', SIGNED, QUOTA],
  'GET /v1/deployments/{slug}': ['200', SIGNED, DEPLOYMENT, QUOTA],
  'GET /v1/deployments/{slug}/stats': ['200', SIGNED, DEPLOYMENT, QUOTA],
  'PATCH /v1/deployments/{slug}/traffic': ['200', SIGNED, ROLE, DEPLOYMENT, TRAFFIC, QUOTA],
  'POST /v1/deployments/{slug}/promote': ['200', SIGNED, ROLE, CHALLENGER, QUOTA],
  'POST /v1/deployments/{slug}/rollback': [
    ...['200', '400 no_rollback_target', SIGNED, ROLE, DEPLOYMENT, QUOTA],
  ],
  'POST /v1/keys': ['201', SIGNED, ROLE, '422 invalid_scope', QUOTA],
  'GET /v1/keys': ['200', SIGNED, QUOTA],
  'POST /api/auth/login': ['200', QUOTA],
  'POST /api/auth/refresh': ['200', QUOTA],
  'POST /api/v1/score': ['200', KEYED, QUOTA],
  'POST /api/v1/score/batch': ['200', KEYED, '413 batch_too_large', QUOTA],
  'POST /api/v1/scorecards/{scorecard_id}/challengers': ['200', SIGNED, QUOTA],
  'DELETE /api/v1/scorecards/{scorecard_id}/challengers/{version}': ['200', SIGNED, QUOTA],
  'POST /api/v1/scorecards/{scorecard_id}/promote': ['200', SIGNED, QUOTA],
  'POST /api/v1/scorecards/{scorecard_id}/rollback': ['200', SIGNED, QUOTA],
  'GET /api/v1/scorecards': ['200', SIGNED, QUOTA],
}

const FORM = '400 invalid_request'
const AWAY = '503 unavailable'
const LARGE = '413 payload_too_large'
const MEDIA = '415 unsupported_media_type'
/** Codes of an endpoint that reads a body. */
const BODY = [FORM, LARGE, MEDIA, AWAY]
const REASONS = '422 reasons_not_configured'
const BASELINE = '422 invalid_baseline'
const NO_BASELINE = '404 baseline_not_found'
const POPULATION = '422 population_too_small'
const STRICT = '422 strict_mode_violation'
const MEMBER = '404 member_not_found'
const LAST = '409 last_owner'
/** Codes of an endpoint that takes an `Idempotency-Key`. */
const KEYS = ['409 idempotency_in_progress', '422 idempotency_key_reused']
/** The same where the endpoint makes a change. */
const CHANGES = [...KEYS, '409 idempotency_answer_lost']

const REPORT = ['200', SIGNED, DEPLOYMENT, QUOTA, FORM, AWAY]
const MODEL_REPORT = [...REPORT, MODEL]
const CHALLENGER_REPORT = [...REPORT, CHALLENGER]

export const DECIDED: Table = {
  ...ACCESS_OUTCOMES,
  ...ALARM_OUTCOMES,
  ...BATCH_OUTCOMES,
  ...CHANGE_OUTCOMES,
  'GET /v1/score/{slug}/schema': ['200', '304', SIGNED, DEPLOYMENT, QUOTA, AWAY],
  'POST /v1/deployments/{slug}/trial': [
    ...['200', SIGNED, DEPLOYMENT, QUOTA, ...BODY, STRICT, REASONS],
  ],
  'POST /v1/score/{slug}': [...BODY, STRICT, REASONS, ...KEYS],
  'POST /v1/score/{slug}/batch': [...BODY, STRICT, REASONS, ...KEYS],
  'POST /v1/deployments/{slug}/reason-baselines': [
    ...['201', SIGNED, ROLE, DEPLOYMENT, MODEL, REASONS, BASELINE, POPULATION, QUOTA, ...BODY],
  ],
  'GET /v1/deployments/{slug}/reason-baselines': ['200', FORM, SIGNED, DEPLOYMENT, QUOTA, AWAY],
  'PUT /v1/deployments/{slug}/reason-baseline': [
    ...['200', SIGNED, ROLE, DEPLOYMENT, MODEL, NO_BASELINE, BASELINE, QUOTA],
    ...BODY,
  ],
  'POST /v1/deployments/{slug}/reason-method-report': [
    ...['200', SIGNED, DEPLOYMENT, REASONS, BASELINE, POPULATION, QUOTA, ...BODY],
  ],
  'GET /v1/deployments/{slug}/reason-counts': [...MODEL_REPORT, REASONS],
  'GET /v1/scores/{request_id}/explanation': [
    ...['200', FORM, SIGNED, '404 score_not_found', QUOTA, AWAY],
  ],
  'POST /v1/models/deploy': [...BODY, ...CHANGES],
  'POST /v1/models/checks': ['202', SIGNED, ROLE, QUOTA, ...BODY],
  'POST /v1/models/import': [
    ...['200', SIGNED, ROLE, '422 invalid_spec', '422 parity_failed', QUOTA, ...BODY],
    ...CHANGES,
  ],
  'GET /v1/models': [FORM, AWAY],
  'GET /v1/models/{id}': [AWAY],
  'GET /v1/models/{id}/export': [
    ...['200', FORM, SIGNED, MODEL, NO_BASELINE, '422 not_exportable', QUOTA, AWAY],
  ],
  'PATCH /v1/models/{id}': BODY,
  'GET /v1/deployments': [FORM, AWAY],
  'GET /v1/deployments/{slug}': [AWAY],
  'GET /v1/deployments/{slug}/stats': [FORM, AWAY],
  'GET /v1/deployments/{slug}/stats/series': ['200', SIGNED, DEPLOYMENT, QUOTA, FORM, AWAY],
  'GET /v1/deployments/{slug}/stats/models': ['200', SIGNED, DEPLOYMENT, QUOTA, FORM, AWAY],
  'PUT /v1/models/{id}/baseline': [
    ...['200', SIGNED, ROLE, MODEL, DEPLOYMENT, '422 invalid_baseline', QUOTA, ...BODY],
  ],
  'GET /v1/overview': ['200', SIGNED, QUOTA, FORM, AWAY],
  'GET /v1/deployments/{slug}/reports/{month}': [...REPORT, '404 definition_not_found'],
  'GET /v1/deployments/{slug}/stability': MODEL_REPORT,
  'GET /v1/deployments/{slug}/stability/series': MODEL_REPORT,
  'GET /v1/deployments/{slug}/cutoffs': MODEL_REPORT,
  'GET /v1/deployments/{slug}/swap-set': CHALLENGER_REPORT,
  'GET /v1/deployments/{slug}/migration': CHALLENGER_REPORT,
  'PATCH /v1/deployments/{slug}': ['200', SIGNED, ROLE, DEPLOYMENT, QUOTA, ...BODY],
  'PATCH /v1/deployments/{slug}/traffic': [MODEL, CHALLENGER, ...BODY, ...CHANGES],
  'POST /v1/deployments/{slug}/promote': [DEPLOYMENT, ...BODY, ...CHANGES],
  'POST /v1/deployments/{slug}/rollback': [...BODY, ...CHANGES],
  'POST /v1/keys': [...BODY, ...CHANGES],
  'GET /v1/keys': [FORM, AWAY],
  'PATCH /v1/keys/{id}': ['200', SIGNED, ROLE, '404 key_not_found', QUOTA, ...BODY],
  'DELETE /v1/keys/{id}': ['204', SIGNED, ROLE, '404 key_not_found', QUOTA, AWAY],
  'POST /api/auth/login': ['401 invalid_credentials', ...BODY],
  'POST /api/auth/refresh': ['401 invalid_refresh_token', ...BODY],
  'POST /api/v1/score': [DEPLOYMENT, ...BODY, STRICT, REASONS, ...KEYS],
  'POST /api/v1/score/batch': [DEPLOYMENT, ...BODY, STRICT, REASONS, ...KEYS],
  'POST /api/v1/scorecards/{scorecard_id}/challengers': [
    ...[ROLE, DEPLOYMENT, MODEL, TRAFFIC, ...BODY, ...CHANGES],
  ],
  'DELETE /api/v1/scorecards/{scorecard_id}/challengers/{version}': [
    ...[ROLE, DEPLOYMENT, MODEL, CHALLENGER, AWAY, ...CHANGES],
  ],
  'POST /api/v1/scorecards/{scorecard_id}/promote': [
    ...[ROLE, DEPLOYMENT, MODEL, CHALLENGER, ...BODY, ...CHANGES],
  ],
  'POST /api/v1/scorecards/{scorecard_id}/rollback': [
    ...[ROLE, DEPLOYMENT, '400 no_rollback_target', ...BODY, ...CHANGES],
  ],
  'GET /api/v1/scorecards': [FORM, AWAY],
  'GET /v1/members': ['200', SIGNED, ROLE, QUOTA, FORM, AWAY],
  'POST /v1/members': [
    ...['201', SIGNED, ROLE, '409 member_exists', '409 passwords_off', QUOTA, ...BODY, ...CHANGES],
  ],
  'PATCH /v1/members/{id}': ['200', SIGNED, ROLE, MEMBER, LAST, QUOTA, ...BODY],
  'DELETE /v1/members/{id}': ['204', SIGNED, ROLE, MEMBER, LAST, QUOTA, AWAY],
  'GET /v1/scores': ['200', FORM, SIGNED, DEPLOYMENT, QUOTA, AWAY],
  'GET /v1/scores/{request_id}': ['200', FORM, SIGNED, '404 score_not_found', QUOTA, AWAY],
  'POST /v1/log/erasures': ['200', SIGNED, ROLE, QUOTA, ...BODY],
  'GET /v1/log/export': ['200', FORM, SIGNED, ROLE, DEPLOYMENT, QUOTA, AWAY],
  'GET /v1/scores/{request_id}/proof': [
    ...['200', FORM, SIGNED, '404 score_not_found', QUOTA, AWAY],
  ],
  'POST /v1/backtests': [
    ...['202', SIGNED, ROLE, DEPLOYMENT, MODEL, '422 invalid_spec', QUOTA, ...BODY],
    '404 definition_not_found',
  ],
  'GET /v1/log/checkpoint': ['200', FORM, SIGNED, QUOTA, AWAY],
  'GET /v1/log/consistency': ['200', FORM, SIGNED, QUOTA, AWAY],
  'GET /v1/log/key': ['200', FORM, SIGNED, QUOTA],
  'GET /v1/jobs/{id}': ['200', SIGNED, ROLE, '404 job_not_found', QUOTA, AWAY],
  'POST /v1/jobs/{id}/cancel': ['200', SIGNED, ROLE, '404 job_not_found', QUOTA, AWAY],
  'POST /v1/deployments/{slug}/replays': ['202', SIGNED, ROLE, DEPLOYMENT, QUOTA, ...BODY],
  'POST /v1/scores/{request_id}/replay': [
    ...['200', SIGNED, '404 score_not_found', QUOTA, ...BODY],
  ],
  'PUT /v1/outcome-definitions/{id}': [
    ...['200', SIGNED, ROLE, '409 definition_in_use', QUOTA, ...BODY],
  ],
  'GET /v1/outcome-definitions': ['200', FORM, SIGNED, QUOTA, AWAY],
  'POST /v1/outcomes': ['200', SIGNED, ROLE, '413 batch_too_large', QUOTA, ...BODY],
  'POST /v1/outcomes/imports': ['202', SIGNED, ROLE, QUOTA, ...BODY],
  'GET /v1/outcomes/imports/{id}': ['200', SIGNED, ROLE, '404 import_not_found', QUOTA, AWAY],
  'GET /v1/deployments/{slug}/performance': [
    ...['200', FORM, SIGNED, DEPLOYMENT, '404 definition_not_found', MODEL, QUOTA, AWAY],
  ],
  'GET /v1/deployments/{slug}/performance/vintages': [
    ...['200', FORM, SIGNED, DEPLOYMENT, '404 definition_not_found', QUOTA, AWAY],
  ],
  'GET /v1/audit-log': ['200', SIGNED, ROLE, QUOTA, FORM, AWAY],
  'any other path': ['404 not_found', '405 not_found'],
}

/** Each endpoint with each of its outcomes, as `endpoint → outcome`. */
export function documentedOutcomes(): string[] {
  const pairs = [SPECIFIED, DECIDED, GUARDED_OUTCOMES, FEATURE_OUTCOMES].flatMap((table) =>
    Object.entries(table).flatMap(([endpoint, outcomes]) =>
      outcomes.map((outcome) => [endpoint, outcome] as const),
    ),
  )
  return pairs.map(([endpoint, outcome]) => `${endpoint} → ${outcome}`)
}
