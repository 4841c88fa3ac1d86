import { DEPLOYMENT_SLUG, EXAMPLE_IDS, EXAMPLE_SPEC, EXAMPLE_TIME } from './examples.ts'
import { MONITORING_DOCS } from './monitoring.ts'
import type { OperationDoc } from './operation-doc.ts'
import { NOTHING } from './performance.ts'

const CHAMPION = { id: EXAMPLE_IDS.champion, name: EXAMPLE_SPEC.name, version: '1.0.0' } as const
const WEEK = { from: '2026-11-09T00:00:00.000Z', to: '2026-11-16T00:00:00.000Z' } as const
const MONTH = { from: '2026-10-01T00:00:00.000Z', to: '2026-11-01T00:00:00.000Z' } as const
const JUDGED = {
  model_id: EXAMPLE_IDS.champion,
  model_version: '1.0.0',
  baseline_id: 'bsl_0VLGhxQzGkW2nRtYb4Xc8m',
  n: 1_204,
  mean_score: 471.2,
  mean_expected: 483.9,
  stability: {
    verdict: 'major_shift',
    psi: 0.314,
    cv_95: 0.018,
    p_value: 0,
    since: WEEK.from,
    moved: [
      {
        name: 'age',
        verdict: 'major_shift',
        csi_psi: 0.41,
        csi_points: -6.2,
        cv_95: 0.012,
        p_value: 0,
        since: WEEK.from,
      },
    ],
    input_faults: [],
  },
  missing: {
    verdict: 'more_missing',
    features: [
      { name: 'purpose', share: 0.044, expected_share: 0.012, p_value: 0.0001, since: WEEK.from },
    ],
  },
} as const

export const OVERVIEW_DOCS = {
  'overview.get': {
    tag: 'Stability',
    summary: 'See all deployments at a glance',
    description:
      'One row for each deployment, those that need attention first: the verdicts of the newest complete week (Monday to Monday, UTC) and month with their reasons in data, thirteen complete weeks and the one under way, the alarm, waiting changes and the last change. Verdicts are judged as alarms judge, with their levels, within an hour of the end of a week, and of a change of champion, baseline, levels, cut-off or outcomes. Volumes and mean scores are those of now. At most 100 deployments are in a page.',
    query: { limit: '1' },
    success: {
      description: 'The overview',
      example: {
        week: WEEK,
        month: MONTH,
        deployments: [
          {
            id: EXAMPLE_IDS.deployment,
            slug: EXAMPLE_IDS.deployment,
            name: EXAMPLE_SPEC.name,
            environment: 'production',
            is_active: true,
            attention: 'act',
            champion_model: CHAMPION,
            challengers: [],
            shadow_mode: false,
            cutoff: 490,
            alarm: null,
            week: { ...WEEK, ...JUDGED },
            month: null,
            labels: { age: 'Age' },
            performance: null,
            weeks: [
              {
                ...WEEK,
                is_complete: true,
                volume: 1_204,
                mean_score: 471.2,
                psi: 0.314,
                cv_95: 0.018,
                verdict: 'major_shift',
                approval_rate: 0.61,
                good: null,
                bad: null,
                bad_rate: null,
              },
            ],
            waiting_changes: 0,
            last_change: { at: EXAMPLE_TIME, action: 'deployment.promote' },
            judged_at: EXAMPLE_TIME,
          },
        ],
        next_cursor: `3.${EXAMPLE_IDS.deployment}`,
      },
    },
  },
  'reports.month': {
    tag: 'Stability',
    summary: 'Report a month of a deployment',
    description:
      'All that a monthly report shows: verdicts, stability, weeks, what the cut-off approves, performance over the year until its end, changes, and a signed checkpoint of the score log. Champion, cut-off and levels are those of the end of the month; baselines and outcomes those known at `as_known_at`. The same `as_known_at` gives the same figures again; the checkpoint is that of now. A month that is under way is reported up to `as_known_at`.',
    params: {
      slug: DEPLOYMENT_SLUG,
      month: { description: 'A month as 2026-10', example: '2026-10' },
    },
    errors: ['deployment_not_found', 'definition_not_found'],
    success: {
      description: 'The report; the example shows a deployment without scores',
      example: {
        deployment_id: EXAMPLE_IDS.deployment,
        name: EXAMPLE_SPEC.name,
        environment: 'production',
        month: '2026-10',
        ...MONTH,
        is_complete: true,
        as_known_at: EXAMPLE_TIME,
        champion_model: CHAMPION,
        cutoff: 490,
        verdicts: { ...MONTH, ...JUDGED },
        stability: MONITORING_DOCS['monitoring.stability'].success.example,
        weeks: [{ ...WEEK, ...JUDGED }],
        cutoffs: MONITORING_DOCS['monitoring.cutoffs'].success.example,
        performance: NOTHING,
        changes: [{ at: EXAMPLE_TIME, action: 'deployment.promote', reason: null }],
        checkpoint: {
          origin: 'scoreline/team_0VLGhxQzGkW2nRtYb4Xc8m',
          size: 2,
          root: '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
          checkpoint: 'scoreline/team_0VLGhxQzGkW2nRtYb4Xc8m\n2\n…',
        },
      },
    },
  },
} as const satisfies Record<string, OperationDoc>
