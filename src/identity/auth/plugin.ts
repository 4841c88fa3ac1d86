import type { FastifyReply, FastifyRequest } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import { AppError } from '../../errors.ts'
import {
  type Access,
  bearerToken,
  type Caller,
  KEY_PREFIX,
  type KeyCaller,
  PROOF_LIFE_MS,
  SERVICE_ACCOUNT_PREFIX,
  type UserCaller,
} from '../../http/access/caller.ts'
import { insufficientRole } from '../../http/access/manager.ts'
import { notFoundHandler } from '../../http/error-handler.ts'
import type { Clock } from '../../platform/clock.ts'
import type { AuthService } from './service.ts'

interface Claims {
  readonly sub: string
  readonly team: string
  readonly session?: string
}

declare module 'fastify' {
  interface FastifyInstance {
    /**
     * Refuses a caller whose key was revoked, or who was removed or demoted, since their request
     * began. Absent in an app without authentication.
     *
     * @throws AppError as if the request began now
     */
    proveAnew?: (request: FastifyRequest) => Promise<void>
  }
}

/** Namespace of the verifier that knows the secret before the last rotation. */
export const FORMER_SECRET = 'former'

/** Finds the caller of a secret; null if no valid key or service account has it. */
interface SecretProver<Proven> {
  findCaller(secret: string): Proven | null | Promise<Proven | null>
  /**
   * Tells whether `findCaller` would ask the database for a secret that this process has never
   * admitted.
   */
  isUnknown(secret: string): boolean
}

interface AuthPluginOptions {
  readonly auth: AuthService
  readonly keys: SecretProver<KeyCaller>
  readonly serviceAccounts: SecretProver<UserCaller>
  readonly clock: Clock
  /** Bounds the look-ups of unknown keys by address. */
  readonly lookUps: LookUpGate
}

/** Runs look-ups for clients that are not proven yet, within the quota of their addresses. */
interface LookUpGate {
  /** @throws AppError `rate_limited`, without a look-up, for an address beyond its quota */
  run<T>(address: string, lookUp: () => Promise<T>): Promise<T>
}

/**
 * Proves the caller before the body is read. The refusal is 401 for a caller that is not proven,
 * and 403 for a role that lacks the right. `refusalPlugin` sends it once the quota has counted the
 * request.
 */
export const authPlugin = fastifyPlugin<AuthPluginOptions>(
  async (app, { auth, keys, serviceAccounts, clock, lookUps }) => {
    // The second secret is there after a rotation only.
    const former = Reflect.get(app.jwt, FORMER_SECRET) as typeof app.jwt | undefined
    const verifiers = former === undefined ? [app.jwt] : [app.jwt, former]
    app.decorateRequest('caller', null)
    app.decorateRequest('refusal', null)
    app.decorateRequest('keyLookup', null)

    app.addHook('onRequest', (request, _reply, done) => {
      if (request.caller !== null || request.refusal !== null) {
        done()
        return
      }
      const { access } = request.routeOptions.config
      if (request.is404 || access?.by === 'anyone') {
        done()
        return
      }
      if (access === undefined) {
        done(new TypeError(`${request.routeOptions.url} declares no access`))
        return
      }
      const admit = (found: Caller | null) => {
        const isOutside = !comesFromAllowed(found, request)
        // A key from elsewhere proves nobody: the request counts against its address.
        const caller = isOutside ? null : found
        request.refusal = isOutside ? outsideRefusal(access) : formatRefusal(caller, access)
        request.caller = caller
        done()
      }
      const fail = (error: Error) => {
        request.refusal = error
        done()
      }
      const found =
        request.keyLookup === null ? findCaller(request, access.by) : request.keyLookup.found
      // A warm caller costs no turn of the event loop.
      if (found instanceof Promise) found.then(admit, fail)
      else admit(found)
    })

    app.decorate('proveAnew', async (request: FastifyRequest) => {
      const { access } = request.routeOptions.config
      if (access === undefined || access.by === 'anyone') return
      const refusal = formatRefusal(await findCaller(request, access.by), access)
      if (refusal !== null) throw refusal
    })

    // A body may take a minute. Meanwhile its key may be revoked, or its member removed.
    app.addHook('preValidation', (request, _reply, done) => {
      const { access } = request.routeOptions.config
      const isProven = clock.monotonicMs() - request.receivedAtMs <= PROOF_LIFE_MS
      if (isProven || access === undefined || access.by === 'anyone') {
        done()
        return
      }
      const admit = (caller: Caller | null) => {
        request.caller = caller
        done(formatRefusal(caller, access) ?? undefined)
      }
      const found = findCaller(request, access.by)
      if (found instanceof Promise) found.then(admit, done)
      else admit(found)
    })

    function findCaller(
      request: FastifyRequest,
      by: 'key' | 'user' | 'user-or-key',
    ): Caller | null | Promise<Caller | null> {
      const token = bearerToken(request.headers.authorization)
      if (token === null) return null
      const isKey = by === 'key' || (by === 'user-or-key' && token.startsWith(KEY_PREFIX))
      if (isKey) return lookedUp(keys, request, token)
      if (token.startsWith(SERVICE_ACCOUNT_PREFIX)) return lookedUp(serviceAccounts, request, token)
      const claims = verifiedClaims(token)
      return claims === null ? null : auth.currentUser(claims.sub, claims.team, claims.session)
    }

    /**
     * Refuses to look up an unknown key for an address that is beyond its quota: then a guess costs
     * the database nothing. A valid key that is new to this process gets the same 429 with
     * Retry-After, because only the look-up could tell it from a guess. The address regains room
     * within a minute of its last wrong attempts. Known keys are in memory and are re-checked
     * there, so others behind the same address don't affect them. A valid look-up takes nothing
     * from the address.
     */
    function lookedUp<Proven>(
      prover: SecretProver<Proven>,
      request: FastifyRequest,
      token: string,
    ): Proven | null | Promise<Proven | null> {
      if (!prover.isUnknown(token)) return prover.findCaller(token)
      return lookUps.run(request.ip, async () => prover.findCaller(token))
    }

    function verifiedClaims(token: string): Claims | null {
      for (const verifier of verifiers) {
        try {
          return verifier.verify(token)
        } catch {
          // A token that fails with each secret, for any reason, proves nobody.
        }
      }
      return null
    }
  },
  { name: 'auth', dependencies: ['@fastify/jwt'], fastify: '5.x' },
)

/** Answers refused requests, and paths without a route, before their bodies are read. */
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

function formatRefusal(
  caller: Caller | null,
  access: Exclude<Access, { by: 'anyone' }>,
): AppError | null {
  if (access.by === 'key') {
    const isAllowed = caller?.kind === 'key' && caller.scopes.includes(access.scope)
    const proof = `an API key with the scope ${access.scope} as Authorization: Bearer ${KEY_PREFIX}…`
    return isAllowed ? null : new AppError('invalid_api_key', lackText(caller, access.scope, proof))
  }
  if (access.by === 'user-or-key') {
    if (caller?.kind === 'user' && access.roles !== undefined) {
      return access.roles.includes(caller.role) ? null : insufficientRole(access.roles)
    }
    const scopes = access.orScope === undefined ? [access.scope] : [access.scope, access.orScope]
    const isAllowed =
      caller?.kind === 'user' || scopes.some((scope) => caller?.scopes.includes(scope) === true)
    const wanted = scopes.join(' or ')
    const proof = `an access token, or an API key with the scope ${wanted}, as Authorization: Bearer …`
    return isAllowed ? null : new AppError('unauthorized', lackText(caller, wanted, proof))
  }
  if (caller?.kind !== 'user') {
    return new AppError(
      'unauthorized',
      'sign in and send the access token as Authorization: Bearer …',
    )
  }
  if (!access.roles.includes(caller.role)) return insufficientRole(access.roles)
  if (access.inPerson !== true || caller.userId.startsWith('usr_')) return null
  return new AppError(
    'insufficient_role',
    "a service account can't change members or service accounts: let an owner or admin do it",
  )
}

/** Tells the holder of a key what it lacks. Anyone else learns only what to send. */
function lackText(caller: Caller | null, scope: string, proof: string): string {
  if (caller?.kind !== 'key') return `send ${proof}`
  const scopes = caller.scopes.join(' and ')
  return `this API key has the scope ${scopes}, and this needs the scope ${scope}: send ${proof}`
}

function comesFromAllowed(caller: Caller | null, { ip }: FastifyRequest): boolean {
  return caller?.kind !== 'key' || caller.admitsAddress === null || caller.admitsAddress(ip)
}

function outsideRefusal({ by }: Access): AppError {
  const message = 'this API key is not accepted from your address: see its allowed_addresses'
  return new AppError(by === 'key' ? 'invalid_api_key' : 'unauthorized', message)
}

/** Keeps a response that holds a token out of every cache. */
export function forbidStoring(reply: FastifyReply): void {
  reply.header('cache-control', 'no-store')
}
