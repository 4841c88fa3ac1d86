import type { Schemas } from '../../api/types.ts'

export const EVENTS: readonly {
  readonly group: string
  readonly events: readonly (readonly [type: Schemas['EventType'], words: string])[]
}[] = [
  {
    group: 'Alarms',
    events: [
      ['stability.verdict_changed', 'the alarm of a deployment changes'],
      ['service.spool_changed', 'the log waits for the database, or does no longer'],
      ['service.database_back', 'the database is back'],
      ['key.expiring', 'a key or token ends soon'],
    ],
  },
  {
    group: 'Approvals',
    events: [
      ['change_request.requested', 'somebody asks for approval'],
      ['change_request.approved', 'a change is approved'],
      ['change_request.declined', 'a change is declined'],
      ['change_request.expired', 'a request expires'],
      ['change_request.outdated', 'a request is outdated by another change'],
    ],
  },
  {
    group: 'Deployments',
    events: [
      ['deployment.created', 'one is created'],
      ['deployment.promoted', 'a challenger is promoted'],
      ['deployment.rolled_back', 'one is rolled back'],
      ['deployment.challenger_added', 'a challenger is added'],
      ['deployment.challenger_removed', 'a challenger ends'],
      ['deployment.traffic_updated', 'shares change'],
      ['deployment.shadow_mode_set', 'challengers begin or cease to answer'],
      ['deployment.reason_baseline_set', 'another baseline of reasons is in force'],
      ['deployment.updated', 'other settings change'],
    ],
  },
  {
    group: 'Models',
    events: [
      ['model.deployed', 'one is registered'],
      ['model.archived', 'one is archived'],
      ['model.restored', 'one is restored'],
      ['model.baseline_set', 'a development sample is stored'],
    ],
  },
  {
    group: 'Log and files',
    events: [
      ['log.checkpoint', 'the log has a new checkpoint'],
      ['batch.ended', 'a batch ends'],
    ],
  },
]
