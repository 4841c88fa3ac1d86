import { Type } from '@sinclair/typebox'
import { Environment, listQuery, NextCursor, plainText, Timestamp } from './common.ts'
import {
  AcceptFeatures,
  CacheVersion,
  DeploymentId,
  Emergency,
  FeatureChange,
  TrafficChallenger,
} from './deployments.ts'

export const ScorecardsQuery = listQuery({ environment: Type.Optional(Environment) })

export const ListedScorecard = Type.Object({
  id: DeploymentId,
  name: Type.String(),
  model_version: Type.String({ description: 'Version of the champion' }),
  environment: Environment,
  is_active: Type.Boolean(),
  shadow_mode: Type.Boolean(),
  created_at: Timestamp,
})

export const ScorecardList = Type.Object({
  scorecards: Type.Array(ListedScorecard),
  next_cursor: NextCursor,
})

export const ChallengerMode = Type.Union([Type.Literal('shadow'), Type.Literal('live')])

/** The service validates it: any mistake answers 422 `invalid_traffic_config`. */
export const ScorecardChallengerRequest = Type.Unknown({
  description: '`challenger_version`, `mode` and `traffic_pct`; `accept_features`',
})

export const ScorecardChallenger = Type.Object({
  id: Type.String(),
  model_id: Type.String(),
  version: Type.String(),
  traffic_pct: Type.Number(),
  mode: ChallengerMode,
  is_active: Type.Boolean(),
})

export const AddScorecardChallengerResult = Type.Object({
  scorecard_id: DeploymentId,
  challenger: ScorecardChallenger,
  cache_version: CacheVersion,
  features: Type.Optional(FeatureChange),
})

export const RemoveScorecardChallengerResult = Type.Object({
  scorecard_id: DeploymentId,
  action: Type.Literal('remove_challenger'),
  challenger: TrafficChallenger,
  cache_version: CacheVersion,
  features: Type.Optional(FeatureChange),
})

export const PromoteVersionRequest = Type.Object(
  {
    version: Type.String({ description: 'Version of an active challenger’s model' }),
    reason: Type.Optional(plainText({ charsMax: 10_000 })),
    accept_features: AcceptFeatures,
  },
  { additionalProperties: false },
)

export const ScorecardRollbackRequest = Type.Object(
  {
    reason: Type.Optional(plainText({ charsMax: 10_000 })),
    emergency: Emergency,
    accept_features: AcceptFeatures,
  },
  { additionalProperties: false },
)

/** Body of the route; null means that there is no body. */
export const ScorecardRollbackBody = Type.Union([Type.Null(), ScorecardRollbackRequest])
