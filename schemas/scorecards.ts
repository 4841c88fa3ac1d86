import { Type } from '@sinclair/typebox'
import { Environment, listQuery, NextCursor, plainText, Timestamp } from './common.ts'
import { CacheVersion, DeploymentId, TrafficChallenger } from './deployments.ts'

export const ScorecardsQuery = listQuery({ environment: Type.Optional(Environment) })

export const ScorecardList = Type.Object({
  scorecards: Type.Array(
    Type.Object({
      id: DeploymentId,
      name: Type.String(),
      model_version: Type.String({ description: 'Of the champion' }),
      environment: Environment,
      is_active: Type.Boolean(),
      shadow_mode: Type.Boolean(),
      created_at: Timestamp,
    }),
  ),
  next_cursor: NextCursor,
})

export const ChallengerMode = Type.Union([Type.Literal('shadow'), Type.Literal('live')])

/** Read by the service itself: whatever is wrong with it is 422 invalid_traffic_config. */
export const ScorecardChallengerRequest = Type.Unknown({
  description: '`challenger_version`, `mode` and `traffic_pct`',
})

export const AddScorecardChallengerResult = Type.Object({
  scorecard_id: DeploymentId,
  challenger: Type.Object({
    id: Type.String(),
    model_id: Type.String(),
    version: Type.String(),
    traffic_pct: Type.Number(),
    mode: ChallengerMode,
    is_active: Type.Boolean(),
  }),
  cache_version: CacheVersion,
})

export const RemoveScorecardChallengerResult = Type.Object({
  scorecard_id: DeploymentId,
  action: Type.Literal('remove_challenger'),
  challenger: TrafficChallenger,
  cache_version: CacheVersion,
})

export const PromoteVersionRequest = Type.Object(
  { version: Type.String({ description: 'Version of an active challenger’s model' }) },
  { additionalProperties: false },
)

/** May be left out as a whole. */
export const ScorecardRollbackRequest = Type.Union([
  Type.Null(),
  Type.Object(
    { reason: Type.Optional(plainText({ charsMax: 10_000 })) },
    { additionalProperties: false },
  ),
])
