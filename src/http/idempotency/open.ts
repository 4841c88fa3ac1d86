import { guardStore } from '../../platform/db/guard.ts'
import type { Deps } from '../../platform/deps.ts'
import { errorFacts } from '../../platform/error-facts.ts'
import { LogThrottle } from '../../platform/log-throttle.ts'
import type { RedisRide } from '../../platform/redis-ride.ts'
import { maintainKeys } from './maintenance.ts'
import { AgreementStore } from './score-claims/agreement-store.ts'
import { ClaimsMode } from './score-claims/claims-mode.ts'
import { loadKeys, readHashes, readKeys, StoredKeyStore } from './score-claims/key-loader.ts'
import type { LoggedKeys } from './score-claims/logged-keys.ts'
import { ONLY_MODE, ProcessClaims, type WaitingScores } from './score-claims/process-claims.ts'
import { RedisClaims } from './score-claims/redis-claims.ts'
import { ONLY_SURE_MS, ScoreClaims } from './score-claims/score-claims.ts'
import { IdempotencyService } from './service.ts'
import { IdempotencyStore, STORE_DEADLINE_MS } from './store.ts'
import { TeamRoom } from './team-room.ts'

interface IdempotencyOptions {
  /** Key of the service, from which others are derived. */
  readonly secret: string | Buffer
  /** The other one while the secret is rotated; null: there is none. */
  readonly formerSecret: string | null
  /** Bound of what is kept. */
  readonly bytesMax: number
  /** Null: keys of scores are claimed in the process if it is the only one, else in the database. */
  readonly redisUrl: string | null
  /** True if no other process can use the database meanwhile. */
  readonly isOnlyProcess: boolean
  /** Carries claims to it. */
  readonly ride: RedisRide
  readonly loggedKeys: LoggedKeys
  readonly waiting: WaitingScores
  /** Resolves once the spool knows what the database has of it. */
  readonly ready: Promise<unknown>
}

export interface OpenIdempotency {
  readonly service: IdempotencyService
  close(): Promise<void>
  /** To be called after `close`, when the score log has closed. */
  endLease(): Promise<void>
}

/** No request waits for maintenance. */
const MAINTENANCE_DEADLINE_MS = 60_000

/** Opens idempotency and the maintenance of what it stores. */
export async function openIdempotency(
  { database, clock, log }: Pick<Deps, 'database' | 'clock' | 'log'>,
  options: IdempotencyOptions,
): Promise<OpenIdempotency> {
  const { secret, formerSecret, bytesMax } = options
  const store = new IdempotencyStore(database.db)
  const throttle = new LogThrottle(clock)
  const logFailure = (text: string) => (error: unknown) => {
    const count = throttle.hit(text)
    if (count > 0) log.warn({ count, err: errorFacts(error) }, text)
  }
  // A late answer says little about the connections: the guards of the domains replace dead ones.
  const guarded = (deadlineMs: number) => guardStore(store, { deadlineMs, renew: () => {} })
  const room = new TeamRoom({
    store: guarded(STORE_DEADLINE_MS),
    bytesMax,
    onFailure: logFailure('the answers kept for Idempotency-Keys could not be counted'),
  })
  const scores = await openScoreClaims({ database, clock, log }, options)
  const service = new IdempotencyService({
    store: guarded(STORE_DEADLINE_MS),
    scoreClaims: scores.claims,
    room,
    clock,
    waiting: options.waiting,
    secret,
    formerSecret,
    onFailure: logFailure('an answer could not be kept for its Idempotency-Key'),
  })
  const maintenance = maintainKeys({
    store: guarded(MAINTENANCE_DEADLINE_MS),
    bytesMax,
    onRoom: (isFull) => {
      if (isFull && !service.isFull) log.warn('there is no room for more idempotent answers')
      service.isFull = isFull
    },
    onFailed: logFailure('maintenance of the idempotency keys failed and will be tried again'),
  }).start()
  return {
    service,
    endLease: scores.endLease,
    close: async () => {
      await Promise.all([service.close(), scores.close(), maintenance.close(), room.close()])
    },
  }
}

/**
 * Claims the keys of scores: in this process, if it is the only one of its database; in Redis; or in
 * the database, also while there are two secrets, of which other replicas may have one alone.
 */
async function openScoreClaims(deps: ClaimDeps, options: IdempotencyOptions) {
  const throttle = new LogThrottle(deps.clock)
  const logFailure = (text: string) => (error: unknown) => {
    const count = throttle.hit(text)
    if (count > 0) deps.log.warn({ count, err: errorFacts(error) }, text)
  }
  const { redisUrl, ride, formerSecret, isOnlyProcess, loggedKeys, waiting, ready } = options
  const agreements = guardStore(new AgreementStore(deps.database.db), {
    deadlineMs: STORE_DEADLINE_MS,
    renew: () => {},
  })
  const parts = { loggedKeys, waiting, ready, agreements, logFailure }
  if (isOnlyProcess && redisUrl === null && formerSecret === null) {
    return openProcessClaims(deps, parts)
  }
  const redis = redisUrl === null || formerSecret !== null ? null : { url: redisUrl, ride }
  return openSharedClaims(deps, parts, redis)
}

type ClaimDeps = Pick<Deps, 'database' | 'clock' | 'log'>

interface ClaimParts extends Pick<IdempotencyOptions, 'loggedKeys' | 'waiting' | 'ready'> {
  readonly agreements: AgreementStore
  readonly logFailure: (text: string) => (error: unknown) => void
}

/** It agrees with nobody, but notes in the database that it has keys, for processes after it. */
async function openProcessClaims(
  { database, clock }: ClaimDeps,
  { loggedKeys, waiting, ready, agreements, logFailure }: ClaimParts,
) {
  await agreements.claimAlone()
  const stored = new StoredKeyStore(database.db)
  const keys = new ProcessClaims({
    clock,
    waiting,
    ready,
    readStored: () => readHashes({ stored, logged: loggedKeys }),
    onFailed: logFailure('the Idempotency-Keys of scores could not be read'),
  })
  const claims = new ScoreClaims({
    mode: ONLY_MODE,
    keys,
    logged: guardLogged(loggedKeys),
    clock,
    sureMs: ONLY_SURE_MS,
    onFailure: logFailure('the Idempotency-Key of a score could not be claimed'),
  })
  return { claims, endLease: () => Promise.resolve(), close: () => keys.close() }
}

function guardLogged(loggedKeys: LoggedKeys): LoggedKeys {
  return guardStore(loggedKeys, { deadlineMs: STORE_DEADLINE_MS, renew: () => {} })
}

async function openSharedClaims(
  { database, clock, log }: ClaimDeps,
  { loggedKeys, waiting, agreements, logFailure }: ClaimParts,
  server: { readonly url: string; readonly ride: RedisRide } | null,
) {
  const stored = new StoredKeyStore(database.db)
  const hasRedis = server !== null
  let leftMark: unknown
  let leftAt: { readonly sinceMs: number; readonly mark: unknown } | null = null
  const redis: RedisClaims | null = hasRedis
    ? new RedisClaims({
        ...server,
        place: await agreements.readPlace(),
        onOpen: (run) => mode.connect(run),
        onLost: (reason) => mode.disconnect(reason),
      })
    : null
  const mode: ClaimsMode = new ClaimsMode({
    store: agreements,
    clock,
    hasRedis,
    isDrainedSince: (sinceMs) => {
      if (claims.open > 0) return false
      if (leftAt?.sinceMs !== sinceMs) leftAt = { sinceMs, mark: waiting.mark() }
      return waiting.isDrainedTo(leftAt.mark)
    },
    isLeftDrained: () => {
      leftMark ??= waiting.mark()
      return waiting.isDrainedTo(leftMark)
    },
    look: async () => redis?.look(),
    load: async (mark) =>
      redis !== null && loadKeys(redis, readKeys({ stored, logged: loggedKeys }), mark),
    onFailed: logFailure('the agreement on the Idempotency-Keys of scores could not be renewed'),
    onMode: (to, reason) => {
      if (to === 'fast') log.info('the Idempotency-Keys of scores are claimed in Redis')
      else if (to === 'both') {
        log.info(
          { reason },
          'the Idempotency-Keys of scores are claimed in the database and in Redis',
        )
      } else if (hasRedis) {
        log.warn({ reason }, 'the Idempotency-Keys of scores are claimed in the database')
      }
    },
  })
  const claims = new ScoreClaims({
    mode,
    keys: redis,
    logged: guardLogged(loggedKeys),
    clock,
    onFailure: logFailure('the Idempotency-Key of a score could not be claimed in Redis'),
  })
  // Without Redis nobody has to know of this process before its first score with a key.
  if (hasRedis) mode.start()
  return {
    claims,
    endLease: () => mode.endLease(),
    close: async () => {
      await mode.close()
      redis?.close()
    },
  }
}
