import { Type } from '@sinclair/typebox'
import { AcceptFeatures, SHADOW_PCT_MAX, TRAFFIC_PCT_MAX, TRAFFIC_PCT_MIN } from '../deployments.ts'
import { ChallengerMode, ScorecardRollbackRequest } from '../scorecards.ts'
import { WAITS_FOR_APPROVAL } from './change-requests.ts'
import { EXAMPLE_IDS, EXAMPLE_SPEC, EXAMPLE_TIME, SCORECARD_ID } from './examples.ts'
import type { OperationDoc } from './operation-doc.ts'

const VERSION = {
  description: "Version of an active challenger's model",
  example: '2.0.0',
} as const

const AddChallengerRequest = Type.Object(
  {
    challenger_version: Type.String({
      description: "Version of a model with the champion's name and environment",
    }),
    mode: ChallengerMode,
    traffic_pct: Type.Number({
      minimum: TRAFFIC_PCT_MIN,
      maximum: SHADOW_PCT_MAX,
      description: `Up to ${SHADOW_PCT_MAX} in shadow mode, up to ${TRAFFIC_PCT_MAX} in a live split`,
    }),
    accept_features: AcceptFeatures,
  },
  { title: 'ScorecardChallengerRequest', additionalProperties: false },
)

const missing = [
  ...(['deployment_not_found', 'model_not_found', 'challenger_not_found'] as const),
  'limit_reached',
] as const

export const SCORECARD_DOCS = {
  'scorecards.list': {
    tag: 'Scorecards',
    summary: 'List scorecards',
    description:
      'All deployments of the team, newest first. A key for one environment gets only those of that environment.',
    success: {
      description: 'The scorecards',
      example: {
        scorecards: [
          {
            id: EXAMPLE_IDS.deployment,
            name: EXAMPLE_SPEC.name,
            model_version: EXAMPLE_SPEC.version,
            environment: 'production',
            is_active: true,
            shadow_mode: false,
            created_at: EXAMPLE_TIME,
          },
        ],
      },
    },
  },
  'scorecards.add_challenger': {
    tag: 'Scorecards',
    summary: 'Add a version as a challenger',
    description:
      'The `mode` applies to the whole deployment. In shadow mode challengers score too, but the champion answers; in a live split each challenger answers its share of the requests.',
    params: { scorecard_id: SCORECARD_ID },
    body: AddChallengerRequest,
    errors: [
      'deployment_not_found',
      'model_not_found',
      'invalid_traffic_config',
      'limit_reached',
      'features_added',
    ],
    others: WAITS_FOR_APPROVAL,
    request: {
      'In shadow mode': { challenger_version: '2.0.0', mode: 'shadow', traffic_pct: 100 },
      'In a live split': { challenger_version: '2.0.0', mode: 'live', traffic_pct: 5 },
    },
    success: {
      description: 'The challenger',
      example: {
        scorecard_id: EXAMPLE_IDS.deployment,
        challenger: {
          id: EXAMPLE_IDS.challenger,
          model_id: EXAMPLE_IDS.candidate,
          version: '2.0.0',
          traffic_pct: 100,
          mode: 'shadow',
          is_active: true,
        },
        cache_version: 2,
      },
    },
  },
  'scorecards.remove_challenger': {
    tag: 'Scorecards',
    summary: 'Remove a challenger',
    description: 'Its share goes to the champion.',
    params: { scorecard_id: SCORECARD_ID, version: VERSION },
    errors: missing,
    others: WAITS_FOR_APPROVAL,
    success: {
      description: 'The challenger that was removed',
      example: {
        scorecard_id: EXAMPLE_IDS.deployment,
        action: 'remove_challenger',
        challenger: {
          id: EXAMPLE_IDS.challenger,
          model_id: EXAMPLE_IDS.candidate,
          traffic_pct: 20,
          is_active: false,
        },
        cache_version: 3,
      },
    },
  },
  'scorecards.promote': {
    tag: 'Scorecards',
    summary: 'Promote a challenger by its version',
    description:
      'The model of this version becomes the champion in one step. All other challengers are deactivated.',
    params: { scorecard_id: SCORECARD_ID },
    errors: [...missing, 'features_added'],
    others: WAITS_FOR_APPROVAL,
    request: { 'The challenger': { version: '2.0.0' } },
    success: {
      description: 'The new champion and the previous one',
      example: {
        scorecard_id: EXAMPLE_IDS.deployment,
        promoted_model_id: EXAMPLE_IDS.candidate,
        previous_champion_id: EXAMPLE_IDS.champion,
        challengers_deactivated: 0,
        cache_version: 3,
      },
    },
  },
  'scorecards.rollback': {
    tag: 'Scorecards',
    summary: 'Roll a scorecard back',
    description:
      'Champion and previous champion swap. All challengers are deactivated. The body is optional.',
    params: { scorecard_id: SCORECARD_ID },
    body: ScorecardRollbackRequest,
    errors: ['no_rollback_target', 'deployment_not_found', 'limit_reached', 'features_added'],
    others: WAITS_FOR_APPROVAL,
    request: { 'With a reason': { reason: 'approval rate fell below plan' }, Empty: {} },
    success: {
      description: 'The champion before and after',
      example: {
        scorecard_id: EXAMPLE_IDS.deployment,
        rolled_back_from: { model_id: EXAMPLE_IDS.candidate, version: '2.0.0' },
        rolled_back_to: { model_id: EXAMPLE_IDS.champion, version: '1.0.0' },
        challengers_deactivated: 0,
        cache_version: 4,
      },
    },
  },
} as const satisfies Record<string, OperationDoc>
