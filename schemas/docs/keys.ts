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
      'With an end, for one network': {
        name: 'Batch server',
        expires_at: '2035-01-01T00:00:00.000Z',
        allowed_addresses: ['192.0.2.0/24', '2001:db8::/32'],
      },
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
        created_by: EXAMPLE_IDS.user,
        created_at: EXAMPLE_TIME,
        expires_at: null,
        allowed_addresses: null,
      },
    },
  },
  'keys.rotate': {
    tag: 'API keys',
    summary: 'Rotate the secret of an API key',
    description:
      'The key keeps its id, scopes and quota, and gets a new secret, which only this response contains. The present secret stays valid for `overlap_seconds`; one from an earlier rotation ends at once.',
    params: { id: { description: 'Id of a key', example: EXAMPLE_IDS.key } },
    errors: ['key_not_found'],
    request: { 'With an hour to change over': { overlap_seconds: 3600 } },
    success: {
      description: 'The key with its new secret',
      example: {
        id: EXAMPLE_IDS.key,
        name: 'Loan origination',
        key: 'sk_live_…',
        prefix: 'sk_live_9gR3',
        scopes: ['score'],
        environment: 'production',
        created_by: EXAMPLE_IDS.user,
        created_at: EXAMPLE_TIME,
        expires_at: null,
        allowed_addresses: null,
        previous_valid_until: '2026-11-20T10:30:00.000Z',
      },
    },
  },
  'keys.update': {
    tag: 'API keys',
    summary: 'Change name or quota of an API key',
    description:
      'The key keeps its secret. Every replica applies the new quota within a second, to the admissions of the last 60 seconds as well.',
    params: { id: { description: 'Id of a key', example: EXAMPLE_IDS.key } },
    errors: ['key_not_found'],
    request: {
      'A higher quota': { rate_limit_per_minute: 6000 },
      'The default quota': { rate_limit_per_minute: null },
    },
    success: {
      description: 'The key after the change',
      example: {
        id: EXAMPLE_IDS.key,
        name: 'Loan origination',
        prefix: 'sk_live_9gR3',
        scopes: ['score'],
        environment: 'production',
        created_by: EXAMPLE_IDS.user,
        created_at: EXAMPLE_TIME,
        expires_at: null,
        allowed_addresses: null,
        rate_limit_per_minute: 6000,
        last_used_at: null,
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
            created_by: EXAMPLE_IDS.user,
            created_at: EXAMPLE_TIME,
            expires_at: null,
            allowed_addresses: null,
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
      'Revocation is permanent and takes effect on every replica within a second. To replace the secret alone, rotate the key.',
    params: { id: { description: 'Id of a key', example: EXAMPLE_IDS.key } },
    errors: ['key_not_found'],
    success: { description: 'The key is revoked' },
  },
} as const satisfies Record<string, OperationDoc>
