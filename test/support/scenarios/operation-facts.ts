import type { AuditAction } from '../../../src/identity/audit/record.ts'

/** What an operation leaves behind, and what becomes of its work when its caller is revoked. */
export interface OperationFacts {
  /** The records that it leaves; or why none is needed. */
  readonly audit: readonly AuditAction[] | string
  /** What goes on after the answer, or while it is sent. */
  readonly running: Running
}

type Running =
  /** Nothing: it is answered at once. */
  | 'nothing'
  /** Its answer breaks off: within a second for a key, a minute for a member. */
  | 'answer breaks off'
  /** The body that it takes is refused, in the same times. */
  | 'body is refused'
  /** The file ends between two chunks as `cancelled`. */
  | 'file is cancelled'
  /** A job or import that belongs to the team, and changes nothing more than it was asked for. */
  | 'goes on for the team'

const SUMS = 'reads settings, definitions or sums: nothing of one applicant'
const SCORED = 'the score log has it'
const PUBLIC = 'reads what is public, or the state of the process'

const reads = (running: Running = 'nothing'): OperationFacts => ({ audit: SUMS, running })
const leaves = (
  audit: AuditAction | readonly AuditAction[],
  running: Running = 'nothing',
): OperationFacts => ({ audit: typeof audit === 'string' ? [audit] : audit, running })
const scores: OperationFacts = { audit: SCORED, running: 'nothing' }
const open: OperationFacts = { audit: PUBLIC, running: 'nothing' }

const SIGN_IN = leaves(['session.sign_in', 'session.sign_in_failed'])
const REFRESH: OperationFacts = {
  audit: 'goes on with a session whose beginning has a record',
  running: 'nothing',
}

/** Each operation of the document by its id. Who may call it is in `ROUTES`. */
export const OPERATION_FACTS: Readonly<Record<string, OperationFacts>> = {
  'access_review.export': leaves('access_review.export'),
  'audit_log.export': leaves('audit_log.export', 'answer breaks off'),
  'audit_log.list': {
    audit: 'a page of what an export, which has a record, shows whole',
    running: 'answer breaks off',
  },
  'auth.change_password': leaves('member.change_password'),
  'auth.login': SIGN_IN,
  'auth.refresh': REFRESH,
  'auth.sign_on': SIGN_IN,
  'auth.sign_on_start': open,
  'backtests.start': leaves('backtest.start', 'goes on for the team'),
  'batches.cancel': leaves('batch.cancel'),
  'batches.errors': leaves('batch.read_errors', 'answer breaks off'),
  'batches.get': reads(),
  'batches.list': reads('answer breaks off'),
  'batches.results': leaves('batch.read_results', 'answer breaks off'),
  'batches.start': leaves('batch.create', 'file is cancelled'),
  'batches.upload': leaves('batch.create', 'file is cancelled'),
  'change_requests.approve': leaves('change_request.approve'),
  'change_requests.decline': leaves('change_request.decline'),
  'change_requests.get': reads(),
  'change_requests.list': reads('answer breaks off'),
  'deployments.get': reads(),
  'deployments.list': reads('answer breaks off'),
  'deployments.promote': leaves('deployment.promote'),
  'deployments.rollback': leaves('deployment.rollback'),
  'deployments.traffic': leaves([
    ...(['deployment.add_challenger', 'deployment.remove_challenger'] as const),
    ...(['deployment.update_traffic', 'deployment.toggle_shadow'] as const),
  ]),
  'deployments.trial': {
    audit: 'scores what the caller types, and keeps nothing',
    running: 'nothing',
  },
  'deployments.update': leaves('deployment.update'),
  'jobs.cancel': leaves('job.cancel'),
  'jobs.get': reads(),
  'keys.create': leaves('key.create'),
  'keys.list': reads('answer breaks off'),
  'keys.revoke': leaves('key.revoke'),
  'keys.rotate': leaves('key.rotate'),
  'keys.update': leaves('key.update'),
  'log.checkpoint': reads(),
  'log.consistency': reads(),
  'log.erase': leaves('log.erase'),
  'log.export': leaves('log.export', 'answer breaks off'),
  'log.key': open,
  'members.create': leaves('member.create'),
  'members.delete': leaves('member.delete'),
  'members.list': reads('answer breaks off'),
  'members.update': leaves('member.update'),
  'models.baseline': leaves('model.set_baseline'),
  'models.check': { audit: 'checks a card, and stores nothing', running: 'goes on for the team' },
  'models.copy': leaves('model.copy'),
  'models.deploy': leaves('model.deploy'),
  'models.export': leaves('model.export'),
  'models.get': reads(),
  'models.import': leaves('model.deploy'),
  'models.list': reads('answer breaks off'),
  'models.update': leaves(['model.archive', 'model.restore']),
  'monitoring.alarm': reads(),
  'monitoring.cutoffs': reads(),
  'monitoring.history': reads(),
  'monitoring.migration': reads(),
  'monitoring.series': reads(),
  'monitoring.set_alarm': leaves('deployment.set_alarm'),
  'monitoring.stability': reads(),
  'monitoring.swap_set': reads(),
  'monitoring.versions': reads(),
  'outcome_definitions.list': reads('answer breaks off'),
  'outcome_definitions.put': leaves('outcome_definition.put'),
  'outcomes.get_import': reads(),
  'outcomes.import': leaves('outcomes.import', 'body is refused'),
  'outcomes.send': leaves('outcomes.send'),
  'overview.get': reads(),
  'performance.get': reads(),
  'performance.vintages': reads(),
  'reason_baselines.create': leaves('reason_baseline.create'),
  'reason_baselines.list': reads('answer breaks off'),
  'reason_baselines.put': leaves('deployment.set_reason_baseline'),
  'reasons.counts': reads(),
  'reasons.method_report': reads(),
  'replays.start': leaves('replay.start', 'goes on for the team'),
  'reports.month': reads(),
  'scorecards.add_challenger': leaves('deployment.add_challenger'),
  'scorecards.list': reads('answer breaks off'),
  'scorecards.promote': leaves('deployment.promote'),
  'scorecards.remove_challenger': leaves('deployment.remove_challenger'),
  'scorecards.rollback': leaves('deployment.rollback'),
  'scores.explain': leaves('score.read'),
  'scores.get': leaves('score.read'),
  'scores.list': leaves('score.search'),
  'scores.proof': leaves('score.read'),
  'scores.replay': leaves('score.read'),
  'scoring.schema': reads(),
  'scoring.score': scores,
  'scoring.score_batch': scores,
  'scoring.score_scorecard': scores,
  'scoring.score_scorecard_batch': scores,
  'service_accounts.create': leaves('service_account.create'),
  'service_accounts.list': reads('answer breaks off'),
  'service_accounts.revoke': leaves('service_account.revoke'),
  'service_accounts.rotate': leaves('service_account.rotate'),
  'sessions.end': leaves('session.end'),
  'sessions.list': reads('answer breaks off'),
  'stats.get': {
    audit:
      'dashboards ask for it each minute; its newest scores name requests, those of batches also records',
    running: 'nothing',
  },
  'stats.models': reads(),
  'stats.series': reads(),
  'webhooks.create': leaves('webhook.create'),
  'webhooks.delete': leaves('webhook.delete'),
  'webhooks.deliveries': reads('answer breaks off'),
  'webhooks.get': reads(),
  'webhooks.list': reads('answer breaks off'),
  'webhooks.replay': leaves('webhook.replay'),
  'webhooks.replay_dead': leaves('webhook.replay'),
  'webhooks.rotate': leaves('webhook.rotate'),
  'webhooks.test': leaves('webhook.test'),
  'webhooks.update': leaves('webhook.update'),
}
