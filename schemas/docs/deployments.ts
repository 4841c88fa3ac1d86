import { Type } from '@sinclair/typebox'
import { AcceptFeatures, TRAFFIC_PCT_MAX, TRAFFIC_PCT_MIN } from '../deployments.ts'
import { WAITS_FOR_APPROVAL } from './change-requests.ts'
import { DEPLOYMENT_SLUG, EXAMPLE_IDS, EXAMPLE_SPEC, EXAMPLE_TIME } from './examples.ts'
import type { OperationDoc } from './operation-doc.ts'

const TrafficPct = Type.Number({ minimum: TRAFFIC_PCT_MIN, maximum: TRAFFIC_PCT_MAX })
const ChallengerId = Type.String({ description: 'Id of the challenger entry, not of its model' })

/** One action of a traffic request; fields of other actions are ignored. */
const trafficAction = <Fields extends Parameters<typeof Type.Object>[0]>(
  title: string,
  action: string,
  fields: Fields,
) =>
  Type.Object(
    { action: Type.Literal(action), ...fields, accept_features: AcceptFeatures },
    { title },
  )

const TrafficRequest = Type.Union(
  [
    trafficAction('AddChallenger', 'add_challenger', {
      model_id: Type.String(),
      traffic_pct: TrafficPct,
    }),
    trafficAction('RemoveChallenger', 'remove_challenger', { challenger_id: ChallengerId }),
    trafficAction('UpdateTraffic', 'update_traffic', {
      challenger_id: ChallengerId,
      traffic_pct: TrafficPct,
    }),
    trafficAction('ToggleShadow', 'toggle_shadow', { shadow_mode: Type.Boolean() }),
  ],
  { title: 'TrafficRequest' },
)

const deployment = {
  id: EXAMPLE_IDS.deployment,
  slug: EXAMPLE_IDS.deployment,
  name: EXAMPLE_SPEC.name,
  is_active: true,
} as const

const single = {
  ...deployment,
  champion_model: {
    id: EXAMPLE_IDS.champion,
    name: EXAMPLE_SPEC.name,
    version: EXAMPLE_SPEC.version,
  },
  challengers: [
    {
      id: EXAMPLE_IDS.challenger,
      model_id: EXAMPLE_IDS.candidate,
      model_name: EXAMPLE_SPEC.name,
      model_version: '2.0.0',
      traffic_pct: 20,
      is_active: true,
      added_at: EXAMPLE_TIME,
    },
  ],
  shadow_mode: false,
  strict_mode: false,
  require_approval: false,
  emergency_rollback: true,
  cutoff: null,
  cache_version: 2,
  created_at: EXAMPLE_TIME,
} as const

export const DEPLOYMENT_DOCS = {
  'deployments.list': {
    tag: 'Deployments',
    summary: 'List deployments',
    description: 'All deployments of the team, newest first.',
    success: {
      description: 'The deployments',
      example: {
        deployments: [
          {
            ...deployment,
            champion_model: { name: EXAMPLE_SPEC.name, version: EXAMPLE_SPEC.version },
            created_at: EXAMPLE_TIME,
          },
        ],
      },
    },
  },
  'deployments.get': {
    tag: 'Deployments',
    summary: 'Get a deployment',
    description: 'Returns the deployment with its champion and its active challengers.',
    params: { slug: DEPLOYMENT_SLUG },
    errors: ['deployment_not_found'],
    success: { description: 'The deployment', example: single },
  },
  'deployments.update': {
    tag: 'Deployments',
    summary: 'Change the settings of a deployment',
    description:
      "Scoring an inactive deployment answers 404. A strict deployment rejects every applicant with missing or unknown features, like `strict_mode` in a scoring request; a request can't override this. With `require_approval` changes of models, traffic, reasons, alarm, cut-off and activity wait for a second owner or admin, and so does switching it off again; `possible_alone` says what does not wait.",
    params: { slug: DEPLOYMENT_SLUG },
    errors: ['deployment_not_found', 'limit_reached'],
    others: WAITS_FOR_APPROVAL,
    request: {
      Rename: { name: 'Consumer loans, branches' },
      'Switch off': { is_active: false },
      'Make it strict': { strict_mode: true },
      'Require approval': { require_approval: true },
    },
    success: {
      description: 'The deployment as it is now',
      example: { ...single, name: 'Consumer loans, branches' },
    },
  },
  'deployments.traffic': {
    tag: 'Deployments',
    summary: 'Manage challengers and shadow mode',
    description:
      'Adds or removes a challenger, changes its share, or switches shadow mode. A challenger gets 1 to 50 percent of the traffic, all challengers together at most 50. In shadow mode challengers score too, but every response comes from the champion.',
    params: { slug: DEPLOYMENT_SLUG },
    body: TrafficRequest,
    errors: [
      'deployment_not_found',
      'model_not_found',
      'challenger_not_found',
      'invalid_traffic_config',
      'limit_reached',
      'features_added',
    ],
    others: WAITS_FOR_APPROVAL,
    request: {
      'Add a challenger': {
        action: 'add_challenger',
        model_id: EXAMPLE_IDS.candidate,
        traffic_pct: 20,
      },
      'Change its share': {
        action: 'update_traffic',
        challenger_id: EXAMPLE_IDS.challenger,
        traffic_pct: 35,
      },
      'Remove it': { action: 'remove_challenger', challenger_id: EXAMPLE_IDS.challenger },
      'Switch to shadow mode': { action: 'toggle_shadow', shadow_mode: true },
    },
    success: {
      description:
        '`challenger` is the entry that was added, changed or removed; `shadow_mode` is present after `toggle_shadow` only',
      example: {
        deployment_id: EXAMPLE_IDS.deployment,
        action: 'add_challenger',
        challenger: {
          id: EXAMPLE_IDS.challenger,
          model_id: EXAMPLE_IDS.candidate,
          traffic_pct: 20,
          is_active: true,
        },
        cache_version: 2,
      },
    },
  },
  'deployments.promote': {
    tag: 'Deployments',
    summary: 'Promote a challenger',
    description:
      "The challenger's model becomes the champion in one step. All other challengers are deactivated. A rollback restores the old champion.",
    params: { slug: DEPLOYMENT_SLUG },
    errors: ['deployment_not_found', 'challenger_not_found', 'limit_reached', 'features_added'],
    others: WAITS_FOR_APPROVAL,
    request: {
      'The challenger': { challenger_id: EXAMPLE_IDS.challenger },
      'With a reason': {
        challenger_id: EXAMPLE_IDS.challenger,
        reason: 'minutes of the credit committee, 12 February',
      },
    },
    success: {
      description: 'The new champion and the previous one',
      example: {
        deployment_id: EXAMPLE_IDS.deployment,
        promoted_model_id: EXAMPLE_IDS.candidate,
        previous_champion_id: EXAMPLE_IDS.champion,
        challengers_deactivated: 0,
        cache_version: 3,
      },
    },
  },
  'deployments.rollback': {
    tag: 'Deployments',
    summary: 'Roll back to the previous champion',
    description:
      'Champion and previous champion swap. All challengers are deactivated. The audit log keeps the reason. Where approval is required, `emergency` makes the change at once if the deployment allows that.',
    params: { slug: DEPLOYMENT_SLUG },
    errors: ['no_rollback_target', 'deployment_not_found', 'limit_reached', 'features_added'],
    others: WAITS_FOR_APPROVAL,
    request: { 'With a reason': { reason: 'approval rate fell below plan' } },
    success: {
      description: 'The champion before and after',
      example: {
        deployment_id: EXAMPLE_IDS.deployment,
        rolled_back_from: { model_id: EXAMPLE_IDS.candidate, version: '2.0.0' },
        rolled_back_to: { model_id: EXAMPLE_IDS.champion, version: '1.0.0' },
        challengers_deactivated: 0,
        cache_version: 4,
      },
    },
  },
} as const satisfies Record<string, OperationDoc>
