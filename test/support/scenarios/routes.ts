import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { FastifyInstance, RouteOptions } from 'fastify'
import { ROLES, type Role } from '../../../src/http/access/caller.ts'
import { newId } from '../../../src/platform/ids.ts'
import { card, plainFeature } from '../cards/cards.ts'
import { OWNER } from '../start/service.ts'
import { ACCESS_ROUTES } from './access-routes.ts'
import { ALARM_ROUTES } from './alarm-routes.ts'
import { BATCH_ROUTES } from './batch-scenarios.ts'
import { CHANGE_ROUTES } from './change-routes.ts'
import { IMPORT_ROUTES } from './import-scenarios.ts'
import { MONITORING_ROUTES } from './monitoring-routes.ts'
import { OUTCOME_ROUTES } from './outcome-scenarios.ts'
import { REASON_ROUTES } from './reason-routes.ts'

/** Who may call a route: anyone, keys with a scope, or users of these roles. */
export type Admitted =
  | 'anyone'
  | 'score key'
  | 'score key or deployer'
  | 'score key or file reader'
  | 'member or read key'
  | 'member or any key'
  | readonly Role[]

export interface Route {
  readonly operation: string
  readonly admitted: Admitted
  /** What the path parameter `:id` stands for. */
  readonly id?: Exclude<IdName, 'slug' | 'challenger' | 'version' | 'request_id' | 'delivery_id'>
  /** Whether service accounts with these roles are refused. */
  readonly inPerson?: true
  /** What must stand in its query. */
  readonly query?: string
  /** A body that can be sent again and again; a route without it reads none. */
  readonly body?: object
  /** A file that it takes in place of a body of JSON. */
  readonly file?: {
    readonly type: string
    readonly text: string
    /** The query with which it is received, and its `Idempotency-Key` claimed. */
    readonly query?: string
  }
  /** What the route answers to whoever it admits; 200 when left out. */
  readonly success?: string
  /** Further bodies that name things, which may belong to another team. */
  readonly naming?: readonly object[]
}

const spec = card([plainFeature('income')])
const applicant = { income: 1 }
const ANALYSTS = ['owner', 'admin', 'lead_modeler', 'modeler'] as const
const MANAGERS = ['owner', 'admin'] as const
/** Whoever sees what managers alone change. */
const AUDITED = ['owner', 'admin', 'auditor'] as const

/**
 * Every route of the service, as the specification and the decisions admit callers to it. In bodies
 * and paths `<model>`, `<slug>` and their like stand for ids.
 */
export const ROUTES: Readonly<Record<string, Route>> = {
  'POST /api/auth/login': { operation: 'auth.login', admitted: 'anyone', body: OWNER },
  // A token that nobody was given: one in force would be used up by the first caller.
  'POST /api/auth/refresh': {
    operation: 'auth.refresh',
    admitted: 'anyone',
    success: '401 invalid_refresh_token',
    body: { refresh_token: 'A'.repeat(43) },
  },
  'POST /v1/models/deploy': {
    operation: 'models.deploy',
    admitted: ['owner', 'admin', 'lead_modeler'],
    body: { spec, environment: 'staging', auto_deploy: false },
  },
  ...IMPORT_ROUTES,
  'GET /v1/models': { operation: 'models.list', admitted: ROLES },
  'GET /v1/models/:id': { operation: 'models.get', admitted: ROLES, id: 'model' },
  'GET /v1/models/:id/export': { operation: 'models.export', admitted: ROLES, id: 'model' },
  'PATCH /v1/models/:id': {
    operation: 'models.update',
    admitted: MANAGERS,
    id: 'model',
    body: { status: 'active' },
  },
  'GET /v1/deployments': { operation: 'deployments.list', admitted: ROLES },
  'GET /v1/deployments/:slug': { operation: 'deployments.get', admitted: ROLES },
  'GET /v1/deployments/:slug/stats': { operation: 'stats.get', admitted: 'member or read key' },
  'GET /v1/deployments/:slug/stats/series': {
    operation: 'stats.series',
    admitted: 'member or read key',
  },
  'GET /v1/deployments/:slug/stats/models': {
    operation: 'stats.models',
    admitted: 'member or read key',
  },
  ...REASON_ROUTES,
  'PATCH /v1/deployments/:slug': {
    operation: 'deployments.update',
    admitted: MANAGERS,
    body: { name: 'Another name' },
  },
  'PATCH /v1/deployments/:slug/traffic': {
    operation: 'deployments.traffic',
    admitted: MANAGERS,
    body: { action: 'toggle_shadow', shadow_mode: false },
    naming: [
      { action: 'add_challenger', model_id: '<model>', traffic_pct: 99 },
      { action: 'update_traffic', challenger_id: '<challenger>', traffic_pct: 1 },
      { action: 'remove_challenger', challenger_id: '<challenger>' },
    ],
  },
  'POST /v1/deployments/:slug/promote': {
    operation: 'deployments.promote',
    admitted: MANAGERS,
    success: '404 challenger_not_found',
    body: { challenger_id: '<challenger>' },
  },
  'POST /v1/deployments/:slug/rollback': {
    operation: 'deployments.rollback',
    admitted: MANAGERS,
    success: '400 no_rollback_target',
    body: { reason: 'the access table' },
  },
  'POST /v1/keys': {
    operation: 'keys.create',
    admitted: MANAGERS,
    success: '201',
    body: { name: 'key of the access table' },
  },
  ...ACCESS_ROUTES,
  ...CHANGE_ROUTES,
  'GET /v1/keys': { operation: 'keys.list', admitted: ROLES },
  'DELETE /v1/keys/:id': {
    operation: 'keys.revoke',
    admitted: MANAGERS,
    id: 'key',
    success: '404 key_not_found',
  },
  'GET /v1/members': { operation: 'members.list', admitted: AUDITED },
  'POST /v1/members': {
    operation: 'members.create',
    admitted: MANAGERS,
    inPerson: true,
    success: '409 member_exists',
    body: { email: OWNER.email, password: 'a long password', role: 'viewer' },
  },
  'PATCH /v1/members/:id': {
    operation: 'members.update',
    admitted: MANAGERS,
    inPerson: true,
    success: '404 member_not_found',
    id: 'member',
    body: { role: 'viewer' },
  },
  'DELETE /v1/members/:id': {
    operation: 'members.delete',
    admitted: MANAGERS,
    inPerson: true,
    success: '404 member_not_found',
    id: 'member',
  },
  'GET /v1/audit-log': { operation: 'audit_log.list', admitted: AUDITED },
  'POST /v1/score/:slug': { operation: 'scoring.score', admitted: 'score key', body: applicant },
  'POST /v1/score/:slug/batch': {
    operation: 'scoring.score_batch',
    admitted: 'score key',
    body: { records: [applicant] },
  },
  'GET /v1/score/:slug/schema': { operation: 'scoring.schema', admitted: 'member or any key' },
  'POST /v1/deployments/:slug/trial': {
    operation: 'deployments.trial',
    admitted: ROLES,
    body: applicant,
  },
  'POST /api/v1/score': {
    operation: 'scoring.score_scorecard',
    admitted: 'score key',
    body: { scorecard_id: '<slug>', applicant },
  },
  'POST /api/v1/score/batch': {
    operation: 'scoring.score_scorecard_batch',
    admitted: 'score key',
    body: { scorecard_id: '<slug>', applicants: [applicant] },
  },
  'GET /v1/scores': {
    operation: 'scores.list',
    admitted: 'member or read key',
    query: 'reference=A-1',
  },
  'GET /v1/scores/:request_id': {
    operation: 'scores.get',
    admitted: 'member or read key',
    success: '404 score_not_found',
  },
  'GET /v1/scores/:request_id/explanation': {
    operation: 'scores.explain',
    admitted: 'member or read key',
    success: '404 score_not_found',
  },
  'POST /v1/log/erasures': {
    operation: 'log.erase',
    admitted: MANAGERS,
    body: { reference: 'A-1' },
  },
  ...OUTCOME_ROUTES,
  ...BATCH_ROUTES,
  'GET /v1/log/export': { operation: 'log.export', admitted: AUDITED },
  'POST /v1/deployments/:slug/replays': {
    operation: 'replays.start',
    admitted: ANALYSTS,
    success: '202',
    body: {},
  },
  'POST /v1/scores/:request_id/replay': {
    operation: 'scores.replay',
    admitted: 'member or read key',
    success: '404 score_not_found',
    body: { features: {} },
  },
  'GET /v1/scores/:request_id/proof': {
    operation: 'scores.proof',
    admitted: 'member or read key',
    success: '404 score_not_found',
  },
  'POST /v1/backtests': {
    operation: 'backtests.start',
    admitted: ANALYSTS,
    success: '202',
    body: { model_id: '<model>', source: { deployment: '<slug>' } },
  },
  'GET /v1/log/checkpoint': { operation: 'log.checkpoint', admitted: 'member or read key' },
  'GET /v1/log/consistency': {
    operation: 'log.consistency',
    admitted: 'member or read key',
    query: 'from=0&to=0',
  },
  'GET /v1/log/key': { operation: 'log.key', admitted: 'member or read key' },
  'GET /v1/jobs/:id': {
    operation: 'jobs.get',
    admitted: ROLES,
    id: 'job',
    success: '404 job_not_found',
  },
  'POST /v1/jobs/:id/cancel': {
    operation: 'jobs.cancel',
    admitted: ANALYSTS,
    id: 'job',
    success: '404 job_not_found',
  },
  ...MONITORING_ROUTES,
  ...ALARM_ROUTES,
  'GET /api/v1/scorecards': { operation: 'scorecards.list', admitted: 'member or read key' },
  'POST /api/v1/scorecards/:scorecard_id/challengers': {
    operation: 'scorecards.add_challenger',
    admitted: MANAGERS,
    success: '404 model_not_found',
    body: { challenger_version: '<version>', mode: 'live', traffic_pct: 1 },
  },
  'DELETE /api/v1/scorecards/:scorecard_id/challengers/:version': {
    operation: 'scorecards.remove_challenger',
    admitted: MANAGERS,
    success: '404 model_not_found',
  },
  'POST /api/v1/scorecards/:scorecard_id/promote': {
    operation: 'scorecards.promote',
    admitted: MANAGERS,
    success: '404 model_not_found',
    body: { version: '<version>' },
  },
  'POST /api/v1/scorecards/:scorecard_id/rollback': {
    operation: 'scorecards.rollback',
    admitted: MANAGERS,
    success: '400 no_rollback_target',
    body: {},
  },
}

export type IdName =
  | 'slug'
  | 'model'
  | 'key'
  | 'member'
  | 'account'
  | 'session'
  | 'job'
  | 'batch'
  | 'challenger'
  | 'version'
  | 'request_id'
  | 'definition'
  | 'import'
  | 'change_request'
  | 'webhook'
  | 'delivery_id'
export type Ids = Readonly<Record<IdName, string>>

/** Ids that nothing has. */
export const UNKNOWN: Ids = {
  slug: newId('dep_', 0),
  model: newId('mod_', 0),
  key: newId('key_', 0),
  member: newId('usr_', 0),
  challenger: newId('ch_', 0),
  version: 'none',
  request_id: newId('req_', 0),
  job: newId('job_', 0),
  batch: newId('job_', 0),
  definition: 'gb12',
  import: newId('imp_', 0),
  account: newId('svc_', 0),
  session: newId('fam_', 0),
  change_request: newId('chg_', 0),
  webhook: newId('whk_', 0),
  delivery_id: newId('dlv_', 0),
}

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** Method and path of a row, with `<…>` for what stands in the path. */
export function formatPath(row: string): { method: Method; path: string } {
  const [method, path = ''] = row.split(' ')
  const named = path.replace(/:(\w+)/g, (_, name: string) =>
    name === 'month'
      ? '2026-01'
      : name === 'scorecard_id'
        ? '<slug>'
        : `<${name === 'id' ? ROUTES[row]?.id : name}>`,
  )
  const { query } = ROUTES[row] ?? {}
  // The rows above use no other method.
  return { method: method as 'GET', path: query === undefined ? named : `${named}?${query}` }
}

/** The text with ids for their placeholders. */
export function withIds(text: string, ids: Ids): string {
  return text.replace(/<(\w+)>/g, (_, name: IdName) => ids[name])
}

/** Whether a route serves the documentation or the console, which are no part of the API. */
export function isOfPage(operation: string | undefined): boolean {
  return /^(docs|console)\./.test(operation ?? '')
}

/** Runs `start` and collects all routes of the services that it starts. */
export async function readRoutes<T>(
  start: () => Promise<T>,
): Promise<{ started: T; routes: RouteOptions[] }> {
  const routes: RouteOptions[] = []
  // Called with each Fastify instance before it has routes.
  const listen = (message: unknown) => {
    const { fastify } = message as { fastify: FastifyInstance }
    fastify.addHook('onRoute', (route) => {
      // Those for who runs the service are no part of the contract, see plugins/health.test.ts.
      if (route.config?.isOperational !== true) routes.push(route)
    })
  }
  subscribe('fastify.initialization', listen)
  const started = await start()
  unsubscribe('fastify.initialization', listen)
  return { started, routes }
}
