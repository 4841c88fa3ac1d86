import { Type } from '@sinclair/typebox'
import { DeployRequest } from '../models.ts'
import { ScorecardSpec } from '../spec.ts'
import { EXAMPLE_IDS, EXAMPLE_SPEC, EXAMPLE_TIME, SPEC_SHA256 } from './examples.ts'
import type { OperationDoc } from './operation-doc.ts'

const MODEL_ID = { description: 'Id of a model', example: EXAMPLE_IDS.candidate } as const

const listedModel = {
  id: EXAMPLE_IDS.champion,
  name: EXAMPLE_SPEC.name,
  version: EXAMPLE_SPEC.version,
  spec_version: '1.0',
  status: 'active',
  environment: 'production',
  description: 'First card for consumer loans',
  deployed_by: EXAMPLE_IDS.user,
  created_at: EXAMPLE_TIME,
} as const

export const MODEL_DOCS = {
  'models.deploy': {
    tag: 'Models',
    summary: 'Deploy a scorecard',
    description:
      'Validates and registers a scorecard. With `auto_deploy` it becomes the champion of a new deployment. An invalid specification answers with all of its faults at once, each with its path. `sample` holds applicants with the scores that another tool gave them; the service compares them as an import does. A row that differs answers 422 `parity_failed`; otherwise the certificate is stored with the model. This way a specification that was edited after its import gets a new certificate.',
    // The route accepts any JSON: the engine validates the spec and reports all faults at once.
    body: Type.Object(
      { ...DeployRequest.properties, spec: ScorecardSpec },
      { title: 'DeployRequest', additionalProperties: false },
    ),
    errors: ['invalid_spec', 'parity_failed'],
    request: {
      'With a new deployment': {
        spec: EXAMPLE_SPEC,
        environment: 'production',
        description: 'First card for consumer loans',
        auto_deploy: true,
      },
      'Registered only': {
        spec: { ...EXAMPLE_SPEC, version: '3.0.0' },
        environment: 'staging',
        auto_deploy: false,
      },
    },
    success: {
      description: 'The model and its deployment; `deployment` is null without `auto_deploy`',
      example: {
        model_id: EXAMPLE_IDS.champion,
        name: EXAMPLE_SPEC.name,
        version: EXAMPLE_SPEC.version,
        spec_sha256: SPEC_SHA256,
        deployment: {
          id: EXAMPLE_IDS.deployment,
          slug: EXAMPLE_IDS.deployment,
          endpoint: `https://scoring.lender.example/v1/score/${EXAMPLE_IDS.deployment}`,
          status: 'active',
        },
      },
    },
  },
  'models.list': {
    tag: 'Models',
    summary: 'List models',
    description: 'All models of the team, newest first, without their specifications.',
    success: { description: 'The models', example: { models: [listedModel] } },
  },
  'models.get': {
    tag: 'Models',
    summary: 'Get a model with its specification',
    description:
      'Returns the specification as it is stored: the values that were sent, unknown properties included, without white space and with each number in its shortest form. `spec_sha256` is its hash.',
    params: { id: { ...MODEL_ID, example: EXAMPLE_IDS.champion } },
    errors: ['model_not_found'],
    success: {
      description: 'The model',
      example: { ...listedModel, spec_sha256: SPEC_SHA256, spec: EXAMPLE_SPEC },
    },
  },
  'models.update': {
    tag: 'Models',
    summary: 'Archive or restore a model',
    description:
      "The champion of a deployment can't be archived. Archiving a model also removes it as a challenger everywhere.",
    params: { id: MODEL_ID },
    errors: ['model_not_found', 'model_is_champion', 'approval_required'],
    request: { Archive: { status: 'archived' }, Restore: { status: 'active' } },
    success: {
      description: 'The model as it is now',
      example: {
        id: EXAMPLE_IDS.candidate,
        name: EXAMPLE_SPEC.name,
        version: '2.0.0',
        status: 'archived',
        updated_at: EXAMPLE_TIME,
      },
    },
  },
} as const satisfies Record<string, OperationDoc>
