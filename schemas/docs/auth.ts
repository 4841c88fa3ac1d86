import { EXAMPLE_PASSWORD, EXAMPLE_REFRESH_TOKEN } from './examples.ts'
import type { OperationDoc } from './operation-doc.ts'

const tokens = {
  access_token: 'eyJhbGciOi…',
  refresh_token: EXAMPLE_REFRESH_TOKEN,
  expires_in: 3600,
  token_type: 'Bearer',
} as const

export const AUTH_DOCS = {
  'auth.login': {
    tag: 'Sessions',
    summary: 'Sign in',
    description:
      'Exchanges email and password for an access token of one hour. An unknown email and a wrong password are answered alike.',
    errors: ['invalid_credentials'],
    request: { 'An owner': { email: 'owner@lender.example', password: EXAMPLE_PASSWORD } },
    success: {
      description: 'Tokens. The answer forbids every cache to keep it.',
      example: tokens,
    },
  },
  'auth.refresh': {
    tag: 'Sessions',
    summary: 'Go on with a session',
    description:
      'Exchanges a refresh token for a new access token and the next refresh token. Each refresh token works once: used again by somebody else, it ends the session. A repetition within ten seconds is answered alike.',
    errors: ['invalid_refresh_token'],
    request: { 'The token of the last answer': { refresh_token: EXAMPLE_REFRESH_TOKEN } },
    success: {
      description: 'Tokens, as from signing in. The answer forbids every cache to keep it.',
      example: tokens,
    },
  },
} as const satisfies Record<string, OperationDoc>
