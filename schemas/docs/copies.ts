import { EXAMPLE_IDS, EXAMPLE_SPEC, SPEC_SHA256 } from './examples.ts'
import type { OperationDoc } from './operation-doc.ts'

export const COPY_DOCS = {
  'models.copy': {
    tag: 'Models',
    summary: 'Copy a model to the other environment',
    description:
      'Registers the model once more, for the other environment, with the same specification to the byte and the same certificate. `spec_warnings` names the models that have its name and version there already.',
    params: { id: { description: 'Id of a model', example: EXAMPLE_IDS.candidate } },
    errors: ['model_not_found'],
    request: { 'From production to staging': { environment: 'staging' } },
    success: {
      description: 'The copy, and its new deployment with `auto_deploy`',
      example: {
        model_id: EXAMPLE_IDS.champion,
        name: EXAMPLE_SPEC.name,
        version: '2.0.0',
        spec_sha256: SPEC_SHA256,
        deployment: null,
      },
    },
  },
} as const satisfies Record<string, OperationDoc>
