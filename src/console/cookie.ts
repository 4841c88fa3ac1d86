const NAME = 'scoreline_session'

/**
 * Returns the cookie of the console's session. It sets no path, so the browser restricts it to the
 * console, under any path that a proxy uses. With TLS its name has a prefix that pages without TLS
 * can't set.
 *
 * @param refreshToken characters that a cookie can hold unescaped; an empty text deletes the cookie
 */
export function sessionCookie(
  refreshToken: string,
  { maxAgeSec, isSecure }: { readonly maxAgeSec: number; readonly isSecure: boolean },
): string {
  const secure = isSecure ? '; Secure' : ''
  return `${nameOf(isSecure)}=${refreshToken}; Max-Age=${maxAgeSec}; HttpOnly; SameSite=Strict${secure}`
}

/** The refresh token in a request's cookie, or null. */
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
