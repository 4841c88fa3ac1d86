import type { FastifyReply, FastifyRequest } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import type { Operation } from '../../schemas/docs.ts'
import { AppError } from '../errors.ts'
import { handoverOf } from '../handover.ts'
import { notFoundHandler } from '../http/not-found.ts'
import type { Access, Caller, KeyCaller, UserCaller } from './caller.ts'
import type { AuthService } from './service.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Who makes the request; null on a route that is open to anyone. */
    caller: Caller | null
    /** Why the request is not carried out; null if nothing of its caller speaks against it. */
    refusal: Error | null
  }
  interface FastifyContextConfig {
    /** Name of what the route does, shared by documentation, log and metrics. */
    operation?: Operation | `docs.${string}` | `operations.${string}` | `console.${string}`
    access?: Access
    /** The route takes a request with the header of a JSON body but without the body. */
    isBodyOptional?: boolean
  }
}

/** Tells whose an API key is; null for none that is in force. */
interface KeyProver {
  callerOf(keySecret: string): KeyCaller | null | Promise<KeyCaller | null>
}

interface AuthPluginOptions {
  readonly auth: AuthService
  readonly keys: KeyProver
}

/**
 * Proves who calls before the body is read, and finds out who may not: 401 for a caller that is not
 * proven, 403 for a role that may not. `refusalPlugin` refuses them, once the quota has counted them.
 */
export const authPlugin = fastifyPlugin<AuthPluginOptions>(
  async (app, { auth, keys }) => {
    app.decorateRequest('caller', null)
    app.decorateRequest('refusal', null)

    app.addHook('onRequest', (request, _reply, done) => {
      const begun = handoverOf(request.raw)
      if (begun !== undefined) {
        request.caller = begun.caller
        request.refusal = begun.failure
        done()
        return
      }
      const { access } = request.routeOptions.config
      if (request.is404 || access?.by === 'anyone') {
        done()
        return
      }
      if (access === undefined) {
        done(new TypeError(`${request.routeOptions.url} does not say who may call it`))
        return
      }
      const admit = (caller: Caller | null) => {
        request.refusal = refusalOf(caller, access)
        request.caller = caller
        done()
      }
      const fail = (error: Error) => {
        request.refusal = error
        done()
      }
      const found = callerOf(request, access.by)
      // A warm caller costs no turn of the event loop.
      if (found instanceof Promise) found.then(admit, fail)
      else admit(found)
    })

    function callerOf(
      request: FastifyRequest,
      by: 'key' | 'user' | 'user-or-key',
    ): Caller | null | Promise<Caller | null> {
      const token = bearerToken(request)
      if (token === null) return null
      const isKey = by === 'key' || (by === 'user-or-key' && token.startsWith(KEY_PREFIX))
      if (isKey) return keys.callerOf(token)
      const claims = verifiedClaims(token)
      return claims === null ? null : auth.currentUser(claims.sub, claims.team)
    }

    function verifiedClaims(token: string): { sub: string; team: string } | null {
      try {
        return app.jwt.verify(token)
      } catch {
        // Whatever is wrong with a token, its bearer is not proven.
        return null
      }
    }
  },
  { name: 'auth', dependencies: ['@fastify/jwt'], fastify: '5.x' },
)

/** Refuses who may not, and at once what no route has: their bodies are not worth reading. */
export const refusalPlugin = fastifyPlugin(
  async (app) => {
    app.addHook('onRequest', (request, reply, done) => {
      if (request.is404) notFoundHandler(request, reply)
      else if (request.refusal === null) done()
      else done(request.refusal)
    })
  },
  { name: 'refusal', dependencies: ['auth'], fastify: '5.x' },
)

/** The caller of a route that only API keys may call. */
export function keyCaller(request: FastifyRequest): KeyCaller {
  if (request.caller?.kind !== 'key') throw new TypeError('the route does not ask for an API key')
  return request.caller
}

/** The caller of a route that only signed-in users may call. */
export function userCaller(request: FastifyRequest): UserCaller {
  if (request.caller?.kind !== 'user') throw new TypeError('the route does not ask for a user')
  return request.caller
}

/** The caller of a route that lets in users and API keys. */
export function provenCaller(request: FastifyRequest): Caller {
  if (request.caller === null) throw new TypeError('the route is open to anyone')
  return request.caller
}

function refusalOf(
  caller: Caller | null,
  access: Exclude<Access, { by: 'anyone' }>,
): AppError | null {
  if (access.by === 'key') {
    const isAllowed = caller?.kind === 'key' && caller.scopes.includes(access.scope)
    const message = `send an API key with the scope ${access.scope} as Authorization: Bearer sk_…`
    return isAllowed ? null : new AppError('invalid_api_key', message)
  }
  if (access.by === 'user-or-key') {
    const isAllowed = caller?.kind === 'user' || caller?.scopes.includes(access.scope) === true
    const message = `send an access token, or an API key with the scope ${access.scope}, as Authorization: Bearer …`
    return isAllowed ? null : new AppError('unauthorized', message)
  }
  if (caller?.kind !== 'user') {
    return new AppError(
      'unauthorized',
      'sign in and send the access token as Authorization: Bearer …',
    )
  }
  if (access.roles.includes(caller.role)) return null
  return new AppError('insufficient_role', `this needs the role ${access.roles.join(' or ')}`)
}

/** What the secrets of API keys begin with, and no token of a user does. */
const KEY_PREFIX = 'sk_'
const BEARER = /^Bearer +([^\s]+) *$/i

function bearerToken(request: FastifyRequest): string | null {
  return BEARER.exec(request.headers.authorization ?? '')?.[1] ?? null
}

/** Answers that hold a token stay out of every cache. */
export function forbidStoring(reply: FastifyReply): void {
  reply.header('cache-control', 'no-store')
}
