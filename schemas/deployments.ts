import { Type } from '@sinclair/typebox'
import { Environment, listQuery, NextCursor, plainText, Timestamp } from './common.ts'

/**
 * Bounds of a challenger's share in a live split; the maximum also bounds the total of all shares.
 */
export const TRAFFIC_PCT_MIN = 1
export const TRAFFIC_PCT_MAX = 50
/** Maximum share of a challenger in shadow mode, where the champion answers every request. */
export const SHADOW_PCT_MAX = 100

const DeploymentId = Type.String({ description: '`dep_…`' })
const CacheVersion = Type.Integer({
  description: 'Increases by one with each change that can alter a score',
})

export const FeatureChange = Type.Object(
  {
    added: Type.Array(Type.String(), {
      description: 'Features that callers must send from now on',
    }),
    removed: Type.Array(Type.String(), { description: 'Features that no model knows any more' }),
  },
  { description: 'What the change alters in what callers send; absent when they go on as before' },
)

const AcceptFeatures = Type.Optional(
  Type.Boolean({
    description:
      'Callers of this strict deployment send what the change adds: without it, such a change is 409 `features_added`',
  }),
)

export const DeploymentsQuery = listQuery({ environment: Type.Optional(Environment) })

const deployment = {
  id: DeploymentId,
  slug: Type.String({
    description: 'Path parameter of scoring and management; the same as the id',
  }),
  name: Type.String(),
  is_active: Type.Boolean({ description: 'Scoring an inactive deployment answers 404' }),
}

export const ListedChampion = Type.Object({ name: Type.String(), version: Type.String() })

export const ListedDeployment = Type.Object({
  ...deployment,
  champion_model: ListedChampion,
  created_at: Timestamp,
})

export const DeploymentList = Type.Object({
  deployments: Type.Array(ListedDeployment),
  next_cursor: NextCursor,
})

const modelReference = { id: Type.String(), name: Type.String(), version: Type.String() }

export const ChampionModel = Type.Object(modelReference)

export const PreviousChampionModel = Type.Object(modelReference, {
  description: 'The champion after a rollback; absent if there was only one champion so far',
})

export const ActiveChallenger = Type.Object({
  id: Type.String({ description: 'Id of the challenger entry, not of its model' }),
  model_id: Type.String({ description: '`mod_…`' }),
  model_name: Type.String({ description: 'Name of the model' }),
  model_version: Type.String({ description: 'Version of the model' }),
  traffic_pct: Type.Number({ description: 'Share in a live split, in percent' }),
  is_active: Type.Boolean({ description: 'Always true: ended entries are not listed' }),
  added_at: Timestamp,
})

/** Changes that wait for nobody, whatever a deployment requires. */
const ALONE = ['name', 'strict_mode', 'development_sample', 'emergency_rollback'] as const
export const PossibleAlone = Type.Unsafe<(typeof ALONE)[number]>(Type.String({ enum: [...ALONE] }))

export const Deployment = Type.Object({
  ...deployment,
  champion_model: ChampionModel,
  previous_champion_model: Type.Optional(PreviousChampionModel),
  challengers: Type.Array(ActiveChallenger, { description: 'Active challengers, oldest first' }),
  shadow_mode: Type.Boolean({
    description: 'Challengers score too, but the response always comes from the champion',
  }),
  strict_mode: Type.Boolean({
    description:
      'Applicants with missing or unknown features are rejected, whatever the request says',
  }),
  require_approval: Type.Boolean({
    description:
      'Changes of models, traffic, reasons, alarm, cut-off and activity wait for a second owner or admin',
  }),
  emergency_rollback: Type.Boolean({
    description: 'A rollback with `emergency` does not wait for approval',
  }),
  cutoff: Type.Union([Type.Number(), Type.Null()], {
    description: "The lender's present cut-off, which reports take by default; it decides nothing",
  }),
  cache_version: CacheVersion,
  possible_alone: Type.Optional(
    Type.Array(PossibleAlone, {
      description:
        'While approval is required: the changes that one person still makes alone. `emergency_rollback` undoes the newest promotion, once',
    }),
  ),
  created_at: Timestamp,
})

export const UpdateDeploymentRequest = Type.Object(
  {
    name: Type.Optional(plainText({ charsMax: 255 })),
    is_active: Type.Optional(Type.Boolean()),
    strict_mode: Type.Optional(
      Type.Boolean({
        description:
          'Reject missing and unknown features; `strict_mode: false` in a request does not override this',
      }),
    ),
    require_approval: Type.Optional(
      Type.Boolean({
        description:
          'Let changes of models, traffic, reasons, alarm, cut-off and activity wait for a second owner or admin; switching this off waits, too',
      }),
    ),
    emergency_rollback: Type.Optional(
      Type.Boolean({
        description:
          'Whether a rollback with `emergency` does not wait; while approval is required, changing this waits',
      }),
    ),
    cutoff: Type.Optional(
      Type.Union([Type.Number(), Type.Null()], {
        description:
          'The present cut-off, which reports take by default; null takes it away. It decides nothing; while approval is required, changing it waits',
      }),
    ),
    accept_features: AcceptFeatures,
  },
  { additionalProperties: false, minProperties: 1 },
)

/** The service validates it: any mistake answers 422 `invalid_traffic_config`. */
export const TrafficRequest = Type.Unknown({ description: 'One of the four actions' })

export const TrafficChallenger = Type.Object({
  id: Type.String(),
  model_id: Type.String(),
  traffic_pct: Type.Number(),
  is_active: Type.Boolean(),
})

export const TrafficResult = Type.Object({
  deployment_id: DeploymentId,
  action: Type.String(),
  challenger: Type.Optional(TrafficChallenger),
  shadow_mode: Type.Optional(Type.Boolean()),
  cache_version: CacheVersion,
  features: Type.Optional(FeatureChange),
})

export const PromoteRequest = Type.Object(
  {
    challenger_id: Type.String({ description: 'Id of the challenger entry, not of its model' }),
    reason: Type.Optional(plainText({ charsMax: 10_000 })),
    accept_features: AcceptFeatures,
  },
  { additionalProperties: false },
)

const promoted = {
  promoted_model_id: Type.String(),
  previous_champion_id: Type.String(),
  challengers_deactivated: Type.Integer({
    description: 'Number of challengers deactivated, without the promoted one',
  }),
  cache_version: CacheVersion,
  features: Type.Optional(FeatureChange),
}

export const PromoteResult = Type.Object({ deployment_id: DeploymentId, ...promoted })

export const Emergency = Type.Optional(
  Type.Boolean({
    description:
      'Do not wait for approval, where the deployment allows that and the newest change of the champion was a promotion; the audit log says so',
  }),
)

export const RollbackRequest = Type.Object(
  {
    reason: plainText({ charsMax: 10_000 }),
    emergency: Emergency,
    accept_features: AcceptFeatures,
  },
  { additionalProperties: false },
)

export const RolledModel = Type.Object({ model_id: Type.String(), version: Type.String() })

const rolledBack = {
  rolled_back_from: RolledModel,
  rolled_back_to: RolledModel,
  challengers_deactivated: Type.Integer(),
  cache_version: CacheVersion,
  features: Type.Optional(FeatureChange),
}

export const RollbackResult = Type.Object({ deployment_id: DeploymentId, ...rolledBack })

/** The same results under `/api/v1`, where a deployment is called a scorecard. */
export const ScorecardPromoteResult = Type.Object({ scorecard_id: DeploymentId, ...promoted })
export const ScorecardRollbackResult = Type.Object({ scorecard_id: DeploymentId, ...rolledBack })
export { AcceptFeatures, CacheVersion, DeploymentId }
