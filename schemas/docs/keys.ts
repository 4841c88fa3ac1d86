import { Type } from '@sinclair/typebox'
import { CreateKeyRequest, KeyScope } from '../keys.ts'
import { EXAMPLE_IDS, EXAMPLE_TIME } from './examples.ts'
import type { OperationDoc } from './operation-doc.ts'

export const KEY_DOCS = {
  'keys.create': {
    tag: 'API keys',
    summary: 'Create an API key',
    description:
      "Only this response contains the secret. A key without an environment works in both environments; a key for one environment can't see deployments of the other.",
    body: Type.Object(
      {
        ...CreateKeyRequest.properties,
        scopes: Type.Optional(
          Type.Array(KeyScope, { maxItems: 100, description: 'Default: `[score]`' }),
        ),
      },
      { title: 'CreateKeyRequest', additionalProperties: false },
    ),
    errors: ['invalid_scope'],
    request: {
      'To score in production': {
        name: 'Loan origination',
        scopes: ['score'],
        environment: 'production',
      },
      'With defaults': { name: 'First test' },
    },
    success: {
      description: 'The key with its secret. `Cache-Control: no-store` keeps it out of caches.',
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
    description: 'All active keys of the team, newest first, without their secrets.',
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
      'Revocation is permanent and takes effect on every replica within a second. To rotate a key, create the new one first.',
    params: { id: { description: 'Id of a key', example: EXAMPLE_IDS.key } },
    errors: ['key_not_found'],
    success: { description: 'The key is revoked' },
  },
} as const satisfies Record<string, OperationDoc>
