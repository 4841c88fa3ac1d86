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
      'Exchanges email and password for an access token, which is valid for one hour. An unknown email and a wrong password get the same error.',
    errors: ['invalid_credentials'],
    request: { 'An owner': { email: 'owner@lender.example', password: EXAMPLE_PASSWORD } },
    success: {
      description: 'The tokens. `Cache-Control: no-store` keeps them out of caches.',
      example: tokens,
    },
  },
  'auth.refresh': {
    tag: 'Sessions',
    summary: 'Refresh a session',
    description:
      'Exchanges a refresh token for a new access token and the next refresh token. Each refresh token works once. A repetition within ten seconds gets the same tokens again; a later one ends the session, because somebody else may hold the token.',
    errors: ['invalid_refresh_token'],
    request: { 'The last refresh token': { refresh_token: EXAMPLE_REFRESH_TOKEN } },
    success: {
      description:
        'The tokens, as after signing in. `Cache-Control: no-store` keeps them out of caches.',
      example: tokens,
    },
  },
} as const satisfies Record<string, OperationDoc>
