import type { Names } from '../../api/names.ts'
import { ROLE_NAMES } from '../../api/roles.ts'
import type { Role, Schemas } from '../../api/types.ts'
import { when } from '../../ui/dates.ts'
import { number, pct } from '../../ui/figures.ts'
import { plainName } from '../../ui/names.ts'
import { isCertificate, verdictText } from '../../ui/parity/text.ts'
import { EVENTS } from '../webhooks/event-words.ts'

export type AuditRecord = Schemas['AuditRecord']

/** Past actions as words, between who and which object. */
const DID: Readonly<Record<string, string>> = {
  'model.deploy': 'registered the model',
  'model.copy': 'copied a model, which is now',
  'model.archive': 'archived the model',
  'model.restore': 'restored the model',
  'model.set_baseline': 'stored the development sample of',
  'model.export': 'exported the model',
  'deployment.create': 'created the deployment',
  'deployment.update': 'changed settings of',
  'deployment.add_challenger': 'added a challenger to',
  'deployment.remove_challenger': 'removed a challenger from',
  'deployment.update_traffic': 'changed the shares of',
  'deployment.toggle_shadow': 'changed who answers in',
  'deployment.promote': 'promoted a challenger of',
  'deployment.rollback': 'rolled back',
  'deployment.set_reason_baseline': 'put a baseline of reasons in force for',
  'deployment.set_alarm': 'set the alarm of',
  'reason_baseline.create': 'made a baseline of reasons for',
  'key.create': 'created the key',
  'key.revoke': 'revoked the key',
  'key.set_limit': 'set the quota of the key',
  'key.update': 'changed the key',
  'key.rotate': 'rotated the key',
  'service_account.create': 'created the service account',
  'service_account.rotate': 'rotated the token of',
  'service_account.revoke': 'revoked the service account',
  'session.sign_in': 'signed in',
  'session.sign_in_failed': 'failed to sign in',
  'session.end': 'ended a session of',
  'session.end_family': 'used an old session again: the service ended all of',
  'member.change_password': 'changed the password of',
  'member.create': 'added the member',
  'member.update': 'changed the role of',
  'member.link': 'was linked to the identity provider:',
  'member.delete': 'removed the member',
  'member.reset_password': 'reset the password of',
  'team.create': 'created the team',
  'score.read': 'read the score',
  'score.search': 'searched scores in',
  'audit_log.export': 'exported the audit log of',
  'access_review.export': 'exported the access review of',
  'log.export': 'exported the score log of',
  'log.erase': 'erased a reference from the score log of',
  'log.adopt_archive': 'adopted an archive of the score log of',
  'log.restore': 'restored the score log of',
  'outcome_definition.put': 'defined the outcome',
  'outcomes.import': 'imported outcomes as',
  'outcomes.send': 'sent outcomes for',
  'batch.create': 'started the batch',
  'batch.cancel': 'cancelled the batch',
  'batch.read_results': 'read the results of the batch',
  'batch.read_errors': 'read the errors of the batch',
  'replay.start': 'started to recompute scores of',
  'backtest.start': 'started a backtest on',
  'job.cancel': 'cancelled the job',
  'webhook.create': 'created the webhook',
  'webhook.update': 'changed the webhook',
  'webhook.rotate': 'rotated the secret of the webhook',
  'webhook.delete': 'deleted the webhook',
  'webhook.test': 'sent a test event to',
  'webhook.replay': 'sent events again to',
  'secret.replay': 'read again a secret that was made for',
  'change_request.create': 'asked for approval of a change of',
  'change_request.approve': 'approved a change of',
  'change_request.decline': 'declined a change of',
  'change_request.expire': 'let a change expire of',
  'change_request.outdate': 'outdated a waiting change of',
}

/** Groups of actions for the filter; an action of the API, or the beginning of several. */
export const GROUPS = [
  { value: '', label: 'Everything' },
  { value: 'deployment.', label: 'Deployments' },
  { value: 'deployment.promote', label: 'Promotions' },
  { value: 'deployment.rollback', label: 'Rollbacks' },
  { value: 'change_request.', label: 'Approvals' },
  { value: 'model.', label: 'Models' },
  { value: 'key.', label: 'Keys' },
  { value: 'service_account.', label: 'Service accounts' },
  { value: 'member.', label: 'Members' },
  { value: 'session.', label: 'Sign-ins' },
  { value: 'outcomes.', label: 'Outcomes' },
  { value: 'outcome_definition.', label: 'Definitions of outcomes' },
  { value: 'batch.', label: 'Batches' },
  { value: 'log.', label: 'Score log' },
  { value: 'webhook.', label: 'Webhooks' },
] as const

export function didWords(action: string): string {
  return DID[action] ?? plainName(action.replace('.', ' ')).toLowerCase()
}

/** The same where nothing says to which object. */
export function didAlone(action: string): string {
  return didWords(action).replace(/ (of|to|for|from|in|on|as|:)$/, '')
}

const EVENT_WORDS: ReadonlyMap<string, string> = new Map(EVENTS.flatMap(({ events }) => events))

/** Fields that say nothing to people: counters, and what follows from another field. */
const MACHINE: ReadonlySet<string> = new Set([
  ...['cache_version', 'model_statuses', 'undone_change_request_ids', 'change_request_id'],
  ...['spec_sha256', 'card_sha256', 'reference_sha256', 'delivery_id', 'state', 'id', 'origin'],
])

const FIELDS: Readonly<Record<string, string>> = {
  champion_model_id: 'Champion',
  previous_champion_model_id: 'A rollback leads to',
  is_active: 'Active',
  shadow_mode: 'Challengers score silently',
  strict_mode: 'Strict about features',
  require_approval: 'Changes need approval',
  emergency_rollback: 'Rollback in an emergency',
  traffic_pct: 'Share',
  allowed_addresses: 'Accepted from',
  rate_limit_per_minute: 'Quota per minute',
  overlap_seconds: 'Old secret valid for seconds',
  types: 'Events',
  input_bytes: 'Size in bytes',
  is_upload: 'Uploaded',
  model_id: 'Model',
  development_auc: 'AUC at development',
  requested_by: 'Asked by',
  bad_rule_text: 'What is bad',
  is_on: 'Alarm is on',
  watch: 'Moderate from a PSI of',
  act: 'Major from a PSI of',
  n_min: 'Fewest applicants',
  days: 'Days that it judges',
  n: 'Applicants',
  address: 'From',
  prefix: 'Begins with',
  scopes: 'May',
}

export interface Difference {
  readonly name: string
  readonly before: string | null
  readonly after: string | null
}

/** The fields whose values differ; all fields of a new object. */
export function listDifferences(record: AuditRecord, names: Names): readonly Difference[] {
  const before: Record<string, unknown> = record.before ?? {}
  const after: Record<string, unknown> = record.after ?? {}
  const fields = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  return fields
    .filter((field) => !MACHINE.has(field))
    .filter((field) => JSON.stringify(before[field]) !== JSON.stringify(after[field]))
    .map((field) => ({
      name: FIELDS[field] ?? plainName(field.replace(/_ids?$/, '')),
      before: Object.hasOwn(before, field) ? valueText(before[field], names) : null,
      after: Object.hasOwn(after, field) ? valueText(after[field], names) : null,
    }))
}

function valueText(value: unknown, names: Names): string {
  if (value === null || value === undefined) return 'none'
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (typeof value === 'number') return number(value)
  if (typeof value === 'string') return textValue(value, names)
  if (Array.isArray(value)) {
    return value.length === 0 ? 'none' : value.map((one) => valueText(one, names)).join('; ')
  }
  if (isCertificate(value)) return verdictText(value)
  const { model_id: model, traffic_pct: share } = value as {
    model_id?: string
    traffic_pct?: number
  }
  // A challenger's share is enough: its buckets follow from it.
  if (model !== undefined) {
    const name = names.get(model) ?? model
    return share === undefined ? name : `${name} ${pct(share)}`
  }
  const parts = Object.entries(value).map(
    ([name, part]) => `${plainName(name).toLowerCase()} ${valueText(part, names)}`,
  )
  return parts.length === 0 ? 'none' : parts.join(', ')
}

function textValue(text: string, names: Names): string {
  if (/^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(text)) return when(text)
  if (Object.hasOwn(ROLE_NAMES, text)) return ROLE_NAMES[text as Role]
  // A change request names what was asked for without its object.
  if (DID[text] !== undefined || DID[`deployment.${text}`] !== undefined)
    return text.replace(/^.*\./, '').replaceAll('_', ' ')
  return names.get(text) ?? EVENT_WORDS.get(text) ?? text
}

/** Tells whether a record is one that reviewers look for first. */
export function weigh({ action, after }: AuditRecord): 'emergency' | 'approval' | null {
  if (after?.['emergency'] === true) return 'emergency'
  return /^change_request\.(approve|decline)$/.test(action) ? 'approval' : null
}
