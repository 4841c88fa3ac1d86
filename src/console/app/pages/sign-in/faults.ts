export const SIGN_ON_FAULTS: Readonly<Record<string, string>> = {
  flow: 'The sign-in took longer than ten minutes, or began in another browser. Try again.',
  state: 'The answer belongs to another sign-in. Try again.',
  access_denied: 'The identity provider refused the sign-in.',
  code: 'The code of the identity provider has expired or was used before. Try again.',
  iss: 'The identity provider names an unexpected issuer. Tell the operator.',
  aud: 'The identity provider answered for another application. Tell the operator.',
  nonce: 'The identity token belongs to another sign-in. Try again.',
  exp: 'The identity token has expired, or a clock is wrong. Try again.',
  sub: 'The identity provider answered for another person. Tell the operator.',
  id_token: 'The identity token can’t be believed. Tell the operator.',
  email: 'The identity provider gives no valid email address for you. Ask its administrators.',
  email_verified: 'The identity provider has not verified your email address. Verify it there.',
  groups: 'None of your groups has a role here. Ask the administrators of the identity provider.',
  team: 'There is no team to join. The operator must name one.',
  member: 'Another user has your email address. Ask the operator.',
  ended: 'The identity provider ended the session. Sign in again.',
  unavailable: 'The identity provider does not answer, or refuses this service. Try again later.',
  not_found: 'This service has no single sign-on.',
}

/** The sentence of a reason in the address, which anybody may have written. */
export function signOnFaultText(reason: string): string {
  return Object.hasOwn(SIGN_ON_FAULTS, reason)
    ? (SIGN_ON_FAULTS[reason] ?? '')
    : 'The sign-in failed. Try again.'
}
