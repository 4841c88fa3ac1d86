import type { FastifyReply, FastifyRequest } from 'fastify'
import { forbidStoring } from '../identity/auth/plugin.ts'
import { REFRESH_TOKEN_LIFE_MS } from '../identity/auth/service.ts'
import { SESSION_COOKIE } from './cookie.ts'

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
