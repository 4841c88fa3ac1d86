import { EXAMPLE_REFRESH_TOKEN } from './examples.ts'
import type { OperationDoc } from './operation-doc.ts'

export const SIGN_ON_DOCS = {
  'auth.sign_on_start': {
    tag: 'Sessions',
    summary: 'Start a single sign-on',
    description:
      "For programs on a person's own machine: returns the address of the identity provider, to which the program sends the person's browser. The provider sends the browser back to `redirect_uri`, with `code` and `state`. Without an identity provider the answer is 404.",
    errors: ['not_found'],
    request: { 'A program on port 8400': { redirect_uri: 'http://127.0.0.1:8400/callback' } },
    success: {
      description: 'Where to go, and what must come back.',
      example: {
        authorization_url: 'https://login.lender.example/authorize?client_id=scoreline&…',
        flow: 'y3kPq0…',
        expires_in: 600,
      },
    },
  },
  'auth.sign_on': {
    tag: 'Sessions',
    summary: 'End a single sign-on',
    description:
      "Exchanges the identity provider's code for tokens, as after signing in with a password. The first sign-on of a person makes their member. A refusal names its reason in `details`.",
    errors: ['sign_on_refused', 'not_found'],
    request: {
      'What the provider sent': {
        flow: 'y3kPq0…',
        code: 'SplxlOBeZQQYbYS6WxSbIA',
        state: 'af0ifjsldkj',
      },
    },
    success: {
      description: 'The tokens. `Cache-Control: no-store` keeps them out of caches.',
      example: {
        access_token: 'eyJhbGciOi…',
        refresh_token: EXAMPLE_REFRESH_TOKEN,
        expires_in: 3600,
        token_type: 'Bearer',
      },
    },
  },
} as const satisfies Record<string, OperationDoc>
