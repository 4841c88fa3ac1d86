import { Type } from '@sinclair/typebox'
import { Environment, listQuery, NextCursor, plainText, Timestamp } from './common.ts'

const DeploymentId = Type.String({ description: '`dep_…`' })
const CacheVersion = Type.Integer({
  description: 'Rises by one with each change that can alter an answer',
})

export const DeploymentsQuery = listQuery({ environment: Type.Optional(Environment) })

const deployment = {
  id: DeploymentId,
  slug: Type.String({ description: 'Path parameter of scoring and management; equals the id' }),
  name: Type.String(),
  is_active: Type.Boolean({ description: 'An inactive deployment answers 404 to scoring' }),
}

export const DeploymentList = Type.Object({
  deployments: Type.Array(
    Type.Object({
      ...deployment,
      champion_model: Type.Object({ name: Type.String(), version: Type.String() }),
      created_at: Timestamp,
    }),
  ),
  next_cursor: NextCursor,
})

export const Deployment = Type.Object({
  ...deployment,
  champion_model: Type.Object({ id: Type.String(), name: Type.String(), version: Type.String() }),
  previous_champion_model: Type.Optional(
    Type.Object(
      { id: Type.String(), name: Type.String(), version: Type.String() },
      { description: 'Where a rollback leads; absent as long as there was only one champion' },
    ),
  ),
  challengers: Type.Array(
    Type.Object({
      id: Type.String({ description: 'Of the entry, not of the model' }),
      model_id: Type.String(),
      model_name: Type.String(),
      model_version: Type.String(),
      traffic_pct: Type.Number(),
      is_active: Type.Boolean(),
      added_at: Timestamp,
    }),
    { description: 'Active ones, oldest first' },
  ),
  shadow_mode: Type.Boolean({ description: 'Challengers score, the champion always answers' }),
  cache_version: CacheVersion,
  created_at: Timestamp,
})

export const UpdateDeploymentRequest = Type.Object(
  {
    name: Type.Optional(plainText({ charsMax: 255 })),
    is_active: Type.Optional(Type.Boolean()),
  },
  { additionalProperties: false, minProperties: 1 },
)

/** Read by the service itself: whatever is wrong with it is 422 invalid_traffic_config. */
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
})

export const PromoteRequest = Type.Object(
  { challenger_id: Type.String({ description: 'Id of the challenger entry, not of its model' }) },
  { additionalProperties: false },
)

const promoted = {
  promoted_model_id: Type.String(),
  previous_champion_id: Type.String(),
  challengers_deactivated: Type.Integer({ description: 'Other challengers than the promoted one' }),
  cache_version: CacheVersion,
}

export const PromoteResult = Type.Object({ deployment_id: DeploymentId, ...promoted })

export const RollbackRequest = Type.Object(
  { reason: plainText({ charsMax: 10_000 }) },
  { additionalProperties: false },
)

const RolledModel = Type.Object({ model_id: Type.String(), version: Type.String() })

const rolledBack = {
  rolled_back_from: RolledModel,
  rolled_back_to: RolledModel,
  challengers_deactivated: Type.Integer(),
  cache_version: CacheVersion,
}

export const RollbackResult = Type.Object({ deployment_id: DeploymentId, ...rolledBack })

/** The guides' form of the same: a deployment is called a scorecard, its id `scorecard_id`. */
export const ScorecardPromoteResult = Type.Object({ scorecard_id: DeploymentId, ...promoted })
export const ScorecardRollbackResult = Type.Object({ scorecard_id: DeploymentId, ...rolledBack })
export { CacheVersion, DeploymentId }
