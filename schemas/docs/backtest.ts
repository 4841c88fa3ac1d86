import { EXAMPLE_IDS, EXAMPLE_SPEC } from './examples.ts'
import { queuedJob } from './jobs.ts'
import type { OperationDoc } from './operation-doc.ts'
import { EXAMPLE_DEFINITION_ID } from './outcomes.ts'

const SOURCE = {
  deployment: EXAMPLE_IDS.deployment,
  from: '2026-10-01T00:00:00Z',
  to: '2026-11-01T00:00:00Z',
}

export const BACKTEST_DOCS = {
  'backtests.start': {
    tag: 'Score log',
    summary: 'Backtest a candidate card',
    description:
      'Starts a job that says what a candidate card would have given to the applicants of a period, from their logged bins: the log has no values. Where each bin of the candidate follows from logged ones, a score is exact; elsewhere it lies between two bounds, and both can be true. The `result` has `n`, `exact_share`, `features` (`map`: `exact`, `bounded`, or `impossible` where no logged model has the feature), `scores` (`mean` only where every score is exact, bounds of the mean, and bands), `psi` against the served scores, `swap_set` at the first cut-off and `swap_sets` at each. Of several scorings of a reference the last counts, or what `dedupe` says. With `definition`, `performance` has AUC, Gini, KS with their intervals and the Brier score of the candidate, over applicants with an exact score and a good or bad outcome, and `coverage`; without, it is null. With ten open jobs of the team the answer is 503.',
    errors: ['deployment_not_found', 'model_not_found', 'definition_not_found', 'invalid_spec'],
    request: {
      'A registered model': {
        model_id: EXAMPLE_IDS.candidate,
        source: SOURCE,
        cutoffs: [490],
      },
      'A specification, held against outcomes': {
        spec: EXAMPLE_SPEC,
        source: SOURCE,
        definition: EXAMPLE_DEFINITION_ID,
      },
    },
    success: { description: 'The job', example: queuedJob('backtest') },
  },
} as const satisfies Record<string, OperationDoc>
