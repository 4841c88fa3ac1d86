import { EXAMPLE_IDS, EXAMPLE_TIME } from './examples.ts'
import type { OperationDoc } from './operation-doc.ts'

export const KEY_DOCS = {
  'keys.create': {
    tag: 'API keys',
    summary: 'Create an API key',
    description:
      'The secret is answered here and never again. A key without an environment works in both; a key of one environment never sees the deployments of the other.',
    errors: ['invalid_scope'],
    request: {
      'To score in production': {
        name: 'Loan origination',
        scopes: ['score'],
        environment: 'production',
      },
      'All defaults': { name: 'A first try' },
    },
    success: {
      description: 'The key with its secret. The answer forbids every cache to keep it.',
      example: {
        id: EXAMPLE_IDS.key,
        name: 'Loan origination',
        key: 'sk_live_…',
        prefix: 'sk_live_8fQ2',
        scopes: ['score'],
        environment: 'production',
        created_at: EXAMPLE_TIME,
      },
    },
  },
  'keys.list': {
    tag: 'API keys',
    summary: 'List API keys',
    description: 'All keys of the team that are in force, newest first, without their secrets.',
    success: {
      description: 'The keys',
      example: {
        keys: [
          {
            id: EXAMPLE_IDS.key,
            name: 'Loan origination',
            prefix: 'sk_live_8fQ2',
            scopes: ['score'],
            environment: 'production',
            created_at: EXAMPLE_TIME,
            last_used_at: null,
          },
        ],
      },
    },
  },
  'keys.revoke': {
    tag: 'API keys',
    summary: 'Revoke an API key',
    description:
      'For good, and in force at every replica within a second. To rotate a key, create the new one first.',
    params: { id: { description: 'Id of a key', example: EXAMPLE_IDS.key } },
    errors: ['key_not_found'],
    success: { description: 'The key is revoked' },
  },
} as const satisfies Record<string, OperationDoc>
