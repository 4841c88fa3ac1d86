import {
  AuthorizationResponseError,
  ClientError,
  ResponseBodyError,
  WWWAuthenticateChallengeError,
} from 'openid-client'
import { AppError } from '../../../errors.ts'
import { providerAway, type SignOnRefusal, signOnRefused } from './refusals.ts'

/**
 * The kinds of request to the provider: to describe itself, to sign somebody on, or whether a
 * session goes on.
 */
export type Answerer = 'description' | 'sign-on' | 'session'

const BY_CLAIM: Readonly<Record<string, SignOnRefusal>> = {
  iss: 'iss',
  issuer: 'iss',
  aud: 'aud',
  azp: 'aud',
  nonce: 'nonce',
  sub: 'sub',
}
/** Codes of openid-client for an identity token that can't be believed. */
const UNBELIEVABLE = new Set(['OAUTH_INVALID_RESPONSE', 'OAUTH_KEY_SELECTION_FAILED'])
const COMPARISONS = new Set([
  'OAUTH_JWT_CLAIM_COMPARISON_FAILED',
  'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED',
])

/**
 * Turns what openid-client throws into what the caller sees. A reason is given only where the
 * provider has answered; anything else counts as a provider that is away, and ends no session.
 */
export function classifyFailure(error: unknown, answerer: Answerer): AppError {
  if (error instanceof AppError) return error
  if (answerer === 'description') return providerAway(error)
  if (error instanceof AuthorizationResponseError) return signOnRefused('access_denied', error)
  if (error instanceof ResponseBodyError && error.error === 'invalid_grant') {
    return signOnRefused(answerer === 'session' ? 'ended' : 'code', error)
  }
  if (error instanceof WWWAuthenticateChallengeError && isOfToken(error)) {
    return signOnRefused('ended', error)
  }
  if (error instanceof ResponseBodyError || error instanceof WWWAuthenticateChallengeError) {
    const check = 'the operator must check OIDC_CLIENT_ID, OIDC_CLIENT_SECRET and OIDC_SCOPES'
    const message = `the identity provider refuses this service: ${check}`
    return new AppError('unavailable', message, { cause: error })
  }
  if (error instanceof ClientError) {
    const reason = findReason(error)
    if (reason !== null) return signOnRefused(reason, error)
  }
  return providerAway(error)
}

/** Tells whether the provider refuses the person's token, and not the service's own credentials. */
function isOfToken({ cause }: WWWAuthenticateChallengeError): boolean {
  return cause.some(({ scheme }) => scheme === 'bearer')
}

function findReason(error: ClientError): SignOnRefusal | null {
  const { code = '' } = error
  if (code === 'OAUTH_JWT_TIMESTAMP_CHECK_FAILED') return 'exp'
  if (COMPARISONS.has(code)) return BY_CLAIM[comparedIn(error)] ?? 'id_token'
  return UNBELIEVABLE.has(code) ? 'id_token' : null
}

/** Name of the claim or attribute that is another than expected; empty if it is not named. */
function comparedIn(error: Error): string {
  let place: unknown = error
  while (typeof place === 'object' && place !== null) {
    const { claim, attribute, cause } = place as Readonly<Record<string, unknown>>
    const name = claim ?? attribute
    if (typeof name === 'string') return name
    place = cause
  }
  return ''
}
