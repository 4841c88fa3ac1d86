import { Type } from '@sinclair/typebox'
import { listQuery, NextCursor, plainText, Timestamp } from './common.ts'
import { CacheVersion, DeploymentId, FeatureChange } from './deployments.ts'
import { ID_PATTERN } from './patterns.ts'

export const ChangeRequestState = Type.Union(
  [
    Type.Literal('waiting'),
    Type.Literal('approved'),
    Type.Literal('declined'),
    Type.Literal('expired'),
    Type.Literal('outdated'),
  ],
  {
    description:
      'An approved change is applied; an outdated one was made for another state of the deployment',
  },
)

export const ChangeRequestsQuery = listQuery({
  deployment: Type.Optional(
    Type.String({ pattern: ID_PATTERN, description: 'Only requests for this one' }),
  ),
  state: Type.Optional(ChangeRequestState),
})

const OrNull = <Schema extends Parameters<typeof Type.Optional>[0]>(schema: Schema) =>
  Type.Union([schema, Type.Null()])

export const RequestedChallenger = Type.Object({
  id: Type.String(),
  model_id: Type.String(),
  traffic_pct: Type.Number({ description: 'Share of a live split, in percent' }),
})

export const RequestedAlarm = Type.Object(
  {
    is_on: Type.Boolean(),
    watch: Type.Number(),
    act: Type.Number(),
    n_min: Type.Integer(),
    days: Type.Integer(),
  },
  { description: 'Levels of the alarm, for `set_alarm` alone; null: never set' },
)

export const RequestedReasonBaseline = Type.Object(
  { model_id: Type.String(), baseline_id: OrNull(Type.String()) },
  { description: 'The baseline in force, for `set_reason_baseline` alone' },
)

export const RequestedState = Type.Object(
  {
    name: Type.String(),
    is_active: Type.Boolean(),
    champion_model_id: Type.String(),
    previous_champion_model_id: OrNull(Type.String()),
    shadow_mode: Type.Boolean(),
    strict_mode: Type.Boolean(),
    require_approval: Type.Boolean(),
    emergency_rollback: Type.Boolean(),
    cutoff: Type.Union([Type.Number(), Type.Null()]),
    cache_version: CacheVersion,
    challengers: Type.Array(RequestedChallenger),
    alarm: Type.Optional(OrNull(RequestedAlarm)),
    reason_baseline: Type.Optional(RequestedReasonBaseline),
  },
  { description: 'A state of the deployment, with its active challengers' },
)

const CHANGE_REQUEST = {
  id: Type.String({ description: '`chg_…`' }),
  deployment_id: DeploymentId,
  action: Type.String({
    description:
      '`promote`, `rollback`, `add_challenger`, `remove_challenger`, `update_traffic`, `toggle_shadow`, `set_reason_baseline`, `set_alarm` or `update`',
  }),
  state: ChangeRequestState,
  cache_version: Type.Integer({
    description: 'State of the deployment that the request was made for; it applies to no other',
  }),
  before: RequestedState,
  after: RequestedState,
  reason: OrNull(Type.String()),
  requested_by: Type.String({ description: 'Id of the user or service account' }),
  created_at: Timestamp,
  expires_at: Timestamp,
  decided_by: OrNull(Type.String()),
  decided_at: OrNull(Timestamp),
  comment: OrNull(Type.String()),
  applied_cache_version: OrNull(
    Type.Integer({ description: '`cache_version` of the deployment after the change' }),
  ),
  features: Type.Optional(FeatureChange),
}

export const ChangeRequest = Type.Object(CHANGE_REQUEST)

export const ChangeRequestList = Type.Object({
  change_requests: Type.Array(ChangeRequest),
  next_cursor: NextCursor,
})

export const ModelShare = Type.Object({
  model_id: Type.String(),
  before_pct: Type.Number({ description: 'Applicants that it answers, in percent' }),
  after_pct: Type.Number(),
})

export const ChangedPoints = Type.Object({
  feature: Type.String(),
  bin: Type.String({ description: 'Range or value of the bin; `Missing` for missing values' }),
  before: OrNull(Type.Number({ description: 'Null where the model has no such bin' })),
  after: OrNull(Type.Number()),
})

export const ChangedBasePoints = Type.Object({ before: Type.Number(), after: Type.Number() })

export const ModelDifference = Type.Object({
  from_model_id: Type.String(),
  to_model_id: Type.String(),
  base_points: ChangedBasePoints,
  points: Type.Array(ChangedPoints, { description: 'Bins whose points differ' }),
  points_truncated: Type.Boolean({ description: 'Whether more bins differ than are listed' }),
})

export const ModelExchange = Type.Object({
  from_model_id: Type.String(),
  to_model_id: OrNull(Type.String({ description: 'Null: no model answers any more' })),
  moved_pct: Type.Number({ description: 'Applicants that move from one to the other, in percent' }),
  n: Type.Integer({ description: 'Applicants whose logged score of `from_model_id` was compared' }),
  changed: Type.Integer(),
  undecided: Type.Integer(),
})

export const AffectedApplicants = Type.Object({
  from: Timestamp,
  to: Timestamp,
  n: Type.Integer({ description: 'Applicants that were looked at, the newest first' }),
  changed: Type.Integer({ description: 'Those for whom the score of any exchange would differ' }),
  undecided: Type.Integer({ description: 'Those for whom the logged bins do not tell' }),
  share: OrNull(
    Type.Number({
      minimum: 0,
      maximum: 1,
      description:
        'Expected share of all applicants whose answer would differ: the sum of `changed / n` times `moved_pct` over `exchanges`; null where the log has no applicant of one of them',
    }),
  ),
  is_complete: Type.Boolean({ description: 'False if the bound was met before the whole period' }),
  exchanges: Type.Array(ModelExchange, {
    description: 'Each model that takes over from another, the largest part first',
  }),
})

/** What a change would mean. */
export const Difference = Type.Object({
  shares: Type.Array(ModelShare),
  models: OrNull(ModelDifference),
  affected: Type.Union([AffectedApplicants, Type.Null()], {
    description: 'Null while the log cannot be read, or for a change that alters no score',
  }),
})

export const ChangeRequestDetail = Type.Object({ ...CHANGE_REQUEST, difference: Difference })

export const DecisionRequest = Type.Object(
  { comment: Type.Optional(plainText({ charsMax: 10_000 })) },
  { additionalProperties: false },
)

/** Body of the routes; null means that there is no body. */
export const DecisionBody = Type.Union([Type.Null(), DecisionRequest])
