import { EXAMPLE_IDS, EXAMPLE_SPEC } from './examples.ts'
import type { OperationDoc } from './operation-doc.ts'

export const EXPORT_DOCS = {
  'models.export': {
    tag: 'Models',
    summary: 'Export a model for another system',
    description:
      'The format `spec` is the specification as it is stored, whose SHA-256 is `spec_sha256` everywhere, `pmml` is a PMML 4.4 `<Scorecard>`, and `sql` is a statement that scores each row of a table with exactly the numbers of the service. The statement returns the columns of `key`, `score`, `pd`, `risk_grade`, `points_1` and so on in the order of the features, and `reason_1` and so on with the codes of the reasons that the service gives, null where there are no more. Reasons are measured against `reason_baseline`, else against the baselines of the card; a card that needs one and gets none has no such columns. A card that the other language cannot express exactly is refused, never approximated.',
    params: { id: { description: 'Id of a model', example: EXAMPLE_IDS.champion } },
    errors: ['model_not_found', 'baseline_not_found', 'not_exportable'],
    success: {
      description: 'The file',
      example: EXAMPLE_SPEC,
      texts: {
        'application/sql': 'WITH scoreline_values AS (…) SELECT key_1 AS "id", score, …',
        'application/xml': '<?xml version="1.0" encoding="UTF-8"?>\n<PMML version="4.4">…</PMML>',
      },
    },
  },
} as const satisfies Record<string, OperationDoc>
