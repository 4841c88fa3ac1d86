import type { FastifyReply, FastifyRequest } from 'fastify'
import { forbidStoring } from '../identity/auth/plugin.ts'
import { REFRESH_TOKEN_LIFE_MS } from '../identity/auth/service.ts'

export class ConsoleSession {
  private readonly publicUrl: string | null

  /** @param publicUrl configured URL under which browsers reach the service, or null */
  constructor(publicUrl: string | null) {
    this.publicUrl = publicUrl
  }

  /** Also checks the public URL, because an untrusted proxy can't report the client's protocol. */
  isSecure(request: FastifyRequest): boolean {
    return request.protocol === 'https' || this.publicUrl?.startsWith('https:') === true
  }

  /** The refresh token that the browser has, or null. */
  readToken(request: FastifyRequest): string | null {
    return SESSION_COOKIE.valueIn(request, this.isSecure(request))
  }

  /** Gives the browser a refresh token in the place of the one that it has. */
  keep(request: FastifyRequest, reply: FastifyReply, refreshToken: string): void {
    forbidStoring(reply)
    const maxAgeSec = REFRESH_TOKEN_LIFE_MS / 1000
    const isSecure = this.isSecure(request)
    reply.header('set-cookie', SESSION_COOKIE.header(refreshToken, { maxAgeSec, isSecure }))
  }

  forget(request: FastifyRequest, reply: FastifyReply): void {
    const isSecure = this.isSecure(request)
    reply.header('set-cookie', SESSION_COOKIE.header('', { maxAgeSec: 0, isSecure }))
  }
}

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
const SESSION_COOKIE = new ConsoleCookie('scoreline_session', 'Strict')
/**
 * Holds what a sign-on has begun with, sealed. The identity provider, which is another site, sends
 * the browser back with it.
 */
export const SIGN_ON_COOKIE = new ConsoleCookie('scoreline_sign_on', 'Lax')
