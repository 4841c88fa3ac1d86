type SameSite = 'Strict' | 'Lax'

/**
 * A cookie of the console that scripts can't read. It sets no path, so the browser restricts it to
 * the console, under any path that a proxy uses. With TLS its name has a prefix that pages without
 * TLS can't set.
 */
class ConsoleCookie {
  private readonly name: string
  private readonly sameSite: SameSite
  private readonly plain: RegExp
  private readonly secure: RegExp

  constructor(name: string, sameSite: SameSite) {
    this.name = name
    this.sameSite = sameSite
    this.plain = makePattern(name)
    this.secure = makePattern(`__Secure-${name}`)
  }

  /**
   * The header that sets the cookie.
   *
   * @param value characters that a cookie can hold unescaped; an empty text deletes the cookie
   */
  header(
    value: string,
    { maxAgeSec, isSecure }: { readonly maxAgeSec: number; readonly isSecure: boolean },
  ): string {
    const name = isSecure ? `__Secure-${this.name}` : this.name
    const secure = isSecure ? '; Secure' : ''
    return `${name}=${value}; Max-Age=${maxAgeSec}; HttpOnly; SameSite=${this.sameSite}${secure}`
  }

  /** The value in a request, or null. */
  valueIn(
    { headers }: { readonly headers: { readonly cookie?: string | undefined } },
    isSecure: boolean,
  ): string | null {
    const pattern = isSecure ? this.secure : this.plain
    return pattern.exec(headers.cookie ?? '')?.[1] || null
  }
}

function makePattern(name: string): RegExp {
  return new RegExp(`(?:^|;)\\s*${name}=([^;\\s]*)`)
}

/** Holds the refresh token. Other sites can't send it. */
export const SESSION_COOKIE = new ConsoleCookie('scoreline_session', 'Strict')
/**
 * Holds what a sign-on has begun with, sealed. The identity provider, which is another site, sends
 * the browser back with it.
 */
export const SIGN_ON_COOKIE = new ConsoleCookie('scoreline_sign_on', 'Lax')
