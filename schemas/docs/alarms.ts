import { WAITS_FOR_APPROVAL } from './change-requests.ts'
import { DEPLOYMENT_SLUG, EXAMPLE_IDS, EXAMPLE_TIME } from './examples.ts'
import type { OperationDoc } from './operation-doc.ts'

const LEVELS = {
  is_on: true,
  watch: 0.1,
  act: 0.25,
  n_min: 1000,
  days: 30,
} as const
const UNCHANGED = {
  in_model: true,
  in_other: true,
  changed: 0,
  changed_share: null,
  mean_difference: null,
  pairs: [],
} as const
const NOT_EVALUATED = {
  verdict: null,
  n: null,
  psi: null,
  moved: [],
  features_judged: null,
  features_unjudged: null,
  input_faults: [],
  model_id: null,
  model_version: null,
  baseline_id: null,
  formula_version: null,
  evaluated_at: null,
  changed_at: null,
} as const

export const ALARM_DOCS = {
  'monitoring.alarm': {
    tag: 'Stability',
    summary: 'Read the alarm of a deployment',
    description:
      'The levels at which a shift is an alarm, and what the last hourly evaluation of the champion found. `verdict` is the worst of the score and of the features that moved more than chance explains over all features (Benjamini-Hochberg at 5 percent); it is `stable` only if the score and every feature could be judged. A new champion has none before its first evaluation, which comes within a minute. Until levels are set, `is_on` is false and nothing is evaluated. A key sees only deployments of its environment.',
    params: { slug: DEPLOYMENT_SLUG },
    errors: ['deployment_not_found'],
    success: {
      description: 'Levels and last evaluation',
      example: {
        deployment_id: EXAMPLE_IDS.deployment,
        ...LEVELS,
        is_on: false,
        n_min: 0,
        ...NOT_EVALUATED,
      },
    },
  },
  'monitoring.set_alarm': {
    tag: 'Stability',
    summary: 'Set the alarm of a deployment',
    description:
      'Replaces all levels; one that is left out gets its default. The deployment is evaluated within a minute, and then once an hour by one replica. `is_on: false` ends the evaluations. Where the deployment requires approval, the change waits.',
    params: { slug: DEPLOYMENT_SLUG },
    errors: ['deployment_not_found', 'limit_reached'],
    others: WAITS_FOR_APPROVAL,
    request: { Levels: LEVELS },
    success: {
      description: 'The levels in force now',
      example: { deployment_id: EXAMPLE_IDS.deployment, ...LEVELS, ...NOT_EVALUATED },
    },
  },
  'monitoring.history': {
    tag: 'Stability',
    summary: 'List what has changed in a deployment',
    description:
      'Promotions, rollbacks, shares of traffic and changed verdicts, as marks for charts over time. Who made a change is only in the audit log. A key sees only deployments of its environment.',
    params: { slug: DEPLOYMENT_SLUG },
    errors: ['deployment_not_found'],
    success: {
      description: 'The changes, oldest first',
      example: {
        deployment_id: EXAMPLE_IDS.deployment,
        changes: [
          {
            at: EXAMPLE_TIME,
            kind: 'create',
            champion_model_id: EXAMPLE_IDS.champion,
            champion_version: '1.0.0',
            shadow_mode: null,
            is_active: true,
            challengers: [],
            verdict: null,
          },
        ],
      },
    },
  },
  'monitoring.versions': {
    tag: 'Stability',
    summary: 'Compare two versions of a card',
    description:
      'The share of applicants whose points another version changes, in all and by feature, with the pairs of bins that meet. It counts applicants that both models scored, such as those of a champion and its challenger; for a card that never scored, use a backtest. A feature that one card lacks gives no points there.',
    params: { slug: DEPLOYMENT_SLUG },
    query: { other: EXAMPLE_IDS.candidate },
    errors: ['deployment_not_found', 'model_not_found'],
    success: {
      description: 'The comparison; shares are null where no applicant was scored by both',
      example: {
        model_id: EXAMPLE_IDS.champion,
        model_version: '1.0.0',
        other_model_id: EXAMPLE_IDS.candidate,
        other_model_version: '2.0.0',
        n: 0,
        changed: 0,
        changed_share: null,
        mean_difference: null,
        features: [
          {
            name: 'age',
            ...UNCHANGED,
          },
          {
            name: 'purpose',
            ...UNCHANGED,
          },
        ],
      },
    },
  },
} as const satisfies Readonly<Record<string, OperationDoc>>
