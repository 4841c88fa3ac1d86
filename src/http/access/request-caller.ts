import type { FastifyRequest } from 'fastify'
import type { Caller, KeyCaller, UserCaller } from './caller.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The sender of the request; null on a route that is open to anyone. */
    caller: Caller | null
    /** Why the request is refused before its body is read; null if it is not. */
    refusal: Error | null
    /** A look-up of the request's key that began before authentication; null if none did. */
    keyLookup: KeyLookup | null
  }
}

/** The outcome of a look-up, or the promise of it. */
export interface KeyLookup {
  readonly found: KeyCaller | null | Promise<KeyCaller | null>
}

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

/** The caller of a route that accepts users and API keys. */
export function provenCaller(request: FastifyRequest): Caller {
  if (request.caller === null) throw new TypeError('the route is open to anyone')
  return request.caller
}
