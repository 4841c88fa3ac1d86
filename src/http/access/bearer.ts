/** Every API key's secret starts with this, and no access token of a user does. */
export const KEY_PREFIX = 'sk_'

/** Every token of a service account starts with this. */
export const SERVICE_ACCOUNT_PREFIX = 'sa_'

/** The form that most clients write; `bearerToken` accepts other forms. */
export const BEARER_PREFIX = 'Bearer '
const BEARER = /^Bearer +([^\s]+) *$/i

/**
 * The token of a request.
 *
 * @param authorization the header `Authorization`
 * @returns null without a bearer token
 */
export function bearerToken(authorization: string | undefined): string | null {
  return BEARER.exec(authorization ?? '')?.[1] ?? null
}
