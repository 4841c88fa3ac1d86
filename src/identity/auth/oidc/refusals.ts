import { AppError } from '../../../errors.ts'

/** Why a single sign-on is refused. The name says what is wrong; the text, what to do. */
export const SIGN_ON_REFUSALS = {
  flow: 'this sign-in is unknown or older than ten minutes: start again',
  state: 'the answer belongs to another sign-in: start again',
  access_denied: 'the identity provider refused the sign-in',
  code: 'the code is unknown, expired or was used before: start again',
  iss: 'the identity provider names an issuer other than OIDC_ISSUER: ask the operator',
  aud: 'the identity token is for an application other than OIDC_CLIENT_ID: ask the operator',
  nonce: 'the identity token belongs to another sign-in: start again',
  exp: 'the identity token has expired, or a clock is wrong: start again',
  sub: 'the identity provider answered for another person: start again',
  id_token: 'the identity token is malformed, or its signature is wrong: ask the operator',
  email: 'the identity provider gives no valid email address for you: ask its administrators',
  email_verified: 'the identity provider has not verified your email address: verify it there',
  groups: 'none of your groups has a role here: ask the administrators of the identity provider',
  team: 'there is no team to join: the operator must set OIDC_TEAM',
  member: 'another user has your email address: ask the operator',
  ended: 'the identity provider ended the session: sign in again',
} as const

export type SignOnRefusal = keyof typeof SIGN_ON_REFUSALS

/** Refuses a sign-on; `details` name the reason as the path of what is wrong. */
export function signOnRefused(reason: SignOnRefusal, cause?: unknown): AppError {
  const message = SIGN_ON_REFUSALS[reason]
  return new AppError('sign_on_refused', message, { details: [{ path: reason, message }], cause })
}

/** The refusal while the provider can't be asked; the request may be sent again. */
export function providerAway(cause?: unknown): AppError {
  const message = 'the identity provider does not answer as it should, try again later'
  return new AppError('unavailable', message, { cause })
}

/** The reason of a refusal; null for any other error. */
export function findSignOnRefusal(error: unknown): SignOnRefusal | null {
  if (!(error instanceof AppError) || error.code !== 'sign_on_refused') return null
  const path = error.details?.[0]?.path ?? ''
  return Object.hasOwn(SIGN_ON_REFUSALS, path) ? (path as SignOnRefusal) : null
}
