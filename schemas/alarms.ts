import { type Static, type TSchema, Type } from '@sinclair/typebox'
import { Timestamp } from './common.ts'
import { Verdict } from './monitoring.ts'
import { ACT_DEFAULT, WATCH_DEFAULT } from './monitoring-query.ts'

const closed = { additionalProperties: false } as const
const nullable = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()])

/** Length of the evaluated period, when a request names none. */
export const ALARM_DAYS_DEFAULT = 30
export const ALARM_DAYS_MAX = 366
const N_MIN_MAX = 1_000_000_000
/** Most features that an evaluation names in a list. */
export const MOVED_FEATURES_MAX = 20
/** Most changes of a deployment in one answer. */
export const HISTORY_CHANGES_MAX = 500
/** Most changes of its verdict in one answer. */
export const HISTORY_VERDICTS_MAX = 100

export const AlarmRequest = Type.Object(
  {
    is_on: Type.Optional(Type.Boolean({ description: 'Default: true' })),
    watch: Type.Optional(
      Type.Number({
        exclusiveMinimum: 0,
        description: `Index from which a shift is moderate; default: ${WATCH_DEFAULT}`,
      }),
    ),
    act: Type.Optional(
      Type.Number({
        exclusiveMinimum: 0,
        description: `Index from which a shift is major; default: ${ACT_DEFAULT}`,
      }),
    ),
    n_min: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: N_MIN_MAX,
        description: 'Applicants below which the verdict is `insufficient_data`; default: 0',
      }),
    ),
    days: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: ALARM_DAYS_MAX,
        description: `Length of the evaluated period, which ends now; default: ${ALARM_DAYS_DEFAULT}`,
      }),
    ),
  },
  closed,
)

export const MovedFeature = Type.Object({
  name: Type.String(),
  verdict: Verdict,
  csi_psi: Type.Number(),
})
export type MovedFeature = Static<typeof MovedFeature>

export const InputFault = Type.Object({
  name: Type.String(),
  unknown_share: Type.Number({ minimum: 0, maximum: 1 }),
})
export type InputFault = Static<typeof InputFault>

const MOVED = Type.Array(MovedFeature, {
  description: `Features that moved more than chance explains, most moved first; at most ${MOVED_FEATURES_MAX}`,
})

/** Levels and the last evaluation. */
export const Alarm = Type.Object({
  deployment_id: Type.String(),
  is_on: Type.Boolean(),
  watch: Type.Number(),
  act: Type.Number(),
  n_min: Type.Integer(),
  days: Type.Integer(),
  verdict: Type.Union([Verdict, Type.Null()], {
    description:
      'Null before the first evaluation, also of a new champion, and while it has no baseline',
  }),
  n: nullable(Type.Integer({ minimum: 0 })),
  psi: nullable(Type.Number()),
  moved: MOVED,
  features_judged: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()], {
    description: 'Features with enough applicants for a verdict',
  }),
  features_unjudged: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()], {
    description: 'Features with too few applicants: with any, the verdict is never `stable`',
  }),
  input_faults: Type.Array(InputFault, {
    description: `Features of which at least 5 percent of the values are of a kind that the development sample does not count, most first; at most ${MOVED_FEATURES_MAX}`,
  }),
  model_id: nullable(Type.String({ description: 'The champion that was evaluated' })),
  model_version: nullable(Type.String()),
  baseline_id: nullable(Type.String()),
  formula_version: nullable(Type.Integer()),
  evaluated_at: nullable(Timestamp),
  changed_at: nullable(Timestamp),
})

/** Kinds of changes that a chart marks. */
export const HISTORY_KINDS = [
  'create',
  'update',
  'add_challenger',
  'remove_challenger',
  'update_traffic',
  'toggle_shadow',
  'promote',
  'rollback',
  'set_reason_baseline',
  'stability_verdict',
] as const

export const HistoryKind = Type.Unsafe<(typeof HISTORY_KINDS)[number]>(
  Type.String({ enum: [...HISTORY_KINDS] }),
)

export const HistoryShare = Type.Object({
  model_id: Type.String(),
  version: nullable(Type.String()),
  traffic_pct: Type.Number(),
})

export const HistoryChange = Type.Object({
  at: Timestamp,
  kind: HistoryKind,
  champion_model_id: nullable(Type.String()),
  champion_version: nullable(Type.String()),
  shadow_mode: nullable(Type.Boolean()),
  is_active: nullable(Type.Boolean()),
  challengers: Type.Array(HistoryShare, { description: 'Active ones after the change' }),
  verdict: Type.Union([Verdict, Type.Null()], { description: 'Of `stability_verdict` only' }),
})

export const DeploymentHistory = Type.Object({
  deployment_id: Type.String(),
  changes: Type.Array(HistoryChange, {
    description: `Oldest first; the newest ${HISTORY_CHANGES_MAX} changes of the deployment and the newest ${HISTORY_VERDICTS_MAX} verdicts`,
  }),
})
export type DeploymentHistory = Static<typeof DeploymentHistory>

export const HistoryQuery = Type.Object(
  {
    from: Type.Optional(
      Type.String({ format: 'date-time', description: 'ISO 8601 with a time zone' }),
    ),
    to: Type.Optional(
      Type.String({
        format: 'date-time',
        description: 'Changes at this time or later are left out',
      }),
    ),
  },
  closed,
)
