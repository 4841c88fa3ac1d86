import { ALARM_DOCS } from './docs/alarms.ts'
import { AUDIT_LOG_DOCS } from './docs/auditlog.ts'
import { AUTH_DOCS } from './docs/auth.ts'
import { BACKTEST_DOCS } from './docs/backtest.ts'
import { BATCH_DOCS } from './docs/batches.ts'
import { CHANGE_REQUEST_DOCS } from './docs/change-requests.ts'
import { COPY_DOCS } from './docs/copies.ts'
import { DEPLOYMENT_DOCS } from './docs/deployments.ts'
import { EXPORT_DOCS } from './docs/export.ts'
import { IMPORT_DOCS } from './docs/import.ts'
import { JOB_DOCS } from './docs/jobs.ts'
import { KEY_DOCS } from './docs/keys.ts'
import { MEMBER_DOCS } from './docs/members.ts'
import { MODEL_DOCS } from './docs/models.ts'
import { MONITORING_DOCS } from './docs/monitoring.ts'
import { OUTCOME_DOCS } from './docs/outcomes.ts'
import { OVERVIEW_DOCS } from './docs/overview.ts'
import { OWN_ACCOUNT_DOCS } from './docs/own-account.ts'
import { PERFORMANCE_DOCS } from './docs/performance.ts'
import { PROOF_DOCS } from './docs/proof.ts'
import { REASON_DOCS } from './docs/reasons.ts'
import { REPLAY_DOCS } from './docs/replay.ts'
import { SCORECARD_DOCS } from './docs/scorecards.ts'
import { SCORE_DOCS } from './docs/scores.ts'
import { SCORING_DOCS } from './docs/scoring.ts'
import { SERVICE_ACCOUNT_DOCS } from './docs/service-accounts.ts'
import { SIGN_ON_DOCS } from './docs/sign-on.ts'
import { STATS_DOCS } from './docs/stats.ts'
import { WEBHOOK_DOCS } from './docs/webhooks.ts'

/** All operations of the service. A route with any other operation does not compile. */
export const DOCS = {
  ...AUTH_DOCS,
  ...SIGN_ON_DOCS,
  ...OWN_ACCOUNT_DOCS,
  ...KEY_DOCS,
  ...SERVICE_ACCOUNT_DOCS,
  ...MEMBER_DOCS,
  ...AUDIT_LOG_DOCS,
  ...MODEL_DOCS,
  ...COPY_DOCS,
  ...IMPORT_DOCS,
  ...EXPORT_DOCS,
  ...DEPLOYMENT_DOCS,
  ...CHANGE_REQUEST_DOCS,
  ...WEBHOOK_DOCS,
  ...STATS_DOCS,
  ...MONITORING_DOCS,
  ...ALARM_DOCS,
  ...SCORING_DOCS,
  ...SCORE_DOCS,
  ...REPLAY_DOCS,
  ...PROOF_DOCS,
  ...BACKTEST_DOCS,
  ...BATCH_DOCS,
  ...JOB_DOCS,
  ...REASON_DOCS,
  ...OUTCOME_DOCS,
  ...PERFORMANCE_DOCS,
  ...OVERVIEW_DOCS,
  ...SCORECARD_DOCS,
} as const

/** Name of an operation, used in the documentation, the log and the metrics. */
export type Operation = keyof typeof DOCS
