import type { TSchema } from '@sinclair/typebox'
import * as alarms from '../../../schemas/alarms.ts'
import * as auditlog from '../../../schemas/auditlog.ts'
import * as auth from '../../../schemas/auth.ts'
import * as backtest from '../../../schemas/backtest.ts'
import * as baselines from '../../../schemas/baselines.ts'
import * as batches from '../../../schemas/batches.ts'
import * as changeRequests from '../../../schemas/change-requests.ts'
import * as common from '../../../schemas/common.ts'
import * as copies from '../../../schemas/copies.ts'
import * as deployments from '../../../schemas/deployments.ts'
import * as errors from '../../../schemas/errors.ts'
import * as exports from '../../../schemas/export.ts'
import * as imports from '../../../schemas/import.ts'
import * as jobs from '../../../schemas/jobs.ts'
import * as keys from '../../../schemas/keys.ts'
import * as members from '../../../schemas/members.ts'
import * as models from '../../../schemas/models.ts'
import * as monitoring from '../../../schemas/monitoring.ts'
import * as monitoringQuery from '../../../schemas/monitoring-query.ts'
import * as outcomes from '../../../schemas/outcomes.ts'
import * as overview from '../../../schemas/overview.ts'
import * as ownAccount from '../../../schemas/own-account.ts'
import * as performance from '../../../schemas/performance.ts'
import * as proof from '../../../schemas/proof.ts'
import * as reasons from '../../../schemas/reasons.ts'
import * as replay from '../../../schemas/replay.ts'
import * as scorecards from '../../../schemas/scorecards.ts'
import * as scores from '../../../schemas/scores.ts'
import * as scoring from '../../../schemas/scoring.ts'
import * as serviceAccounts from '../../../schemas/service-accounts.ts'
import * as signOn from '../../../schemas/sign-on.ts'
import * as spec from '../../../schemas/spec.ts'
import * as stats from '../../../schemas/stats.ts'
import * as versions from '../../../schemas/versions.ts'
import * as webhooks from '../../../schemas/webhooks.ts'

/** Modules whose exported schemas become components of the document. */
export const CONTRACT = {
  alarms,
  auditlog,
  auth,
  backtest,
  batches,
  baselines,
  'change-requests': changeRequests,
  common,
  copies,
  deployments,
  errors,
  import: imports,
  export: exports,
  jobs,
  keys,
  members,
  models,
  'own-account': ownAccount,
  proof,
  replay,
  reasons,
  monitoring,
  'monitoring-query': monitoringQuery,
  outcomes,
  overview,
  performance,
  scorecards,
  scores,
  scoring,
  'service-accounts': serviceAccounts,
  'sign-on': signOn,
  spec,
  stats,
  versions,
  webhooks,
} as const

/**
 * Sets the `title` of each part of a schema that `CONTRACT` exports to the name of the export.
 *
 * It compares parts by their JSON text, because TypeBox copies a schema that becomes optional. A
 * part that already has a title keeps it.
 */
export function withNames(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withNames)
  if (typeof schema !== 'object' || schema === null) return schema
  const copy = Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [key, withNames(value)]),
  )
  const name = 'title' in schema ? undefined : NAME_BY_TEXT.get(JSON.stringify(schema))
  return name === undefined ? copy : { ...copy, title: name }
}

const NAME_BY_TEXT = new Map<string, string>()
for (const [name, value] of Object.values(CONTRACT).flatMap((file) => Object.entries(file))) {
  if (isWorthAName(value)) NAME_BY_TEXT.set(JSON.stringify(value), name)
}

/** Objects and enums. A plain text or number is as short as a reference to it. */
function isWorthAName(value: unknown): value is TSchema {
  if (typeof value !== 'object' || value === null) return false
  return ['properties', 'anyOf', 'patternProperties', 'enum'].some((key) => key in value)
}
