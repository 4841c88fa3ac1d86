import { EXAMPLE_IDS, EXAMPLE_TIME } from './examples.ts'
import type { OperationDoc } from './operation-doc.ts'

const ID = { id: { description: 'Id of a service account', example: EXAMPLE_IDS.serviceAccount } }
const END = '2027-02-18T09:30:00.000Z'
const account = {
  id: EXAMPLE_IDS.serviceAccount,
  name: 'Training pipeline',
  role: 'lead_modeler',
  prefix: 'sa_8fQ2mX0a1',
  created_by: EXAMPLE_IDS.user,
  created_at: EXAMPLE_TIME,
  expires_at: END,
} as const

export const SERVICE_ACCOUNT_DOCS = {
  'service_accounts.create': {
    tag: 'Service accounts',
    summary: 'Create a service account',
    description:
      "The role must be below the maker's own. Only this response contains the token. It is accepted as `Authorization: Bearer` wherever an access token of a member with this role is.",
    request: { 'To deploy from a pipeline': { name: 'Training pipeline', role: 'lead_modeler' } },
    success: {
      description: 'The account with its token. `Cache-Control: no-store` keeps it out of caches.',
      example: { ...account, token: 'sa_…' },
    },
  },
  'service_accounts.list': {
    tag: 'Service accounts',
    summary: 'List service accounts',
    description: 'All accounts of the team that are not revoked, expired ones too, newest first.',
    success: {
      description: 'The accounts',
      example: { service_accounts: [{ ...account, last_used_at: null }] },
    },
  },
  'service_accounts.rotate': {
    tag: 'Service accounts',
    summary: 'Rotate the token of a service account',
    description:
      'Only this response contains the new token. The present one stays valid for `overlap_seconds`; one from an earlier rotation ends at once.',
    params: ID,
    errors: ['service_account_not_found'],
    request: { 'With an hour to change over': { overlap_seconds: 3600 } },
    success: {
      description: 'The account with its new token',
      example: { ...account, token: 'sa_…', previous_valid_until: '2026-11-20T10:30:00.000Z' },
    },
  },
  'service_accounts.revoke': {
    tag: 'Service accounts',
    summary: 'Revoke a service account',
    description:
      'Revocation is permanent and takes effect on every replica within a second. The audit log keeps the id of the account.',
    params: ID,
    errors: ['service_account_not_found'],
    success: { description: 'The account is revoked' },
  },
} as const satisfies Record<string, OperationDoc>
