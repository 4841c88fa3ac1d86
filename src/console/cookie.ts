const NAME = 'scoreline_session'

/**
 * The cookie of the console's session. Without a path it is the console's own, under whatever path a
 * proxy serves it. That of TLS alone has a name that no page without TLS can set.
 *
 * @param refreshToken of letters that a cookie can hold as they are; empty ends it
 */
export function sessionCookie(
  refreshToken: string,
  { maxAgeSec, isSecure }: { readonly maxAgeSec: number; readonly isSecure: boolean },
): string {
  const secure = isSecure ? '; Secure' : ''
  return `${nameOf(isSecure)}=${refreshToken}; Max-Age=${maxAgeSec}; HttpOnly; SameSite=Strict${secure}`
}

/** The refresh token that a request carries, or null. */
export function sessionOf(
  { headers }: { readonly headers: { readonly cookie?: string | undefined } },
  isSecure: boolean,
): string | null {
  return SESSIONS[isSecure ? 'secure' : 'plain'].exec(headers.cookie ?? '')?.[1] || null
}

function nameOf(isSecure: boolean): string {
  return isSecure ? `__Secure-${NAME}` : NAME
}

const SESSIONS = { secure: patternOf(nameOf(true)), plain: patternOf(nameOf(false)) }

function patternOf(name: string): RegExp {
  return new RegExp(`(?:^|;)\\s*${name}=([^;\\s]*)`)
}
