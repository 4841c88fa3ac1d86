import { guardStore } from '../../platform/db/guard.ts'
import type { Deps } from '../../platform/deps.ts'
import { errorFacts } from '../../platform/error-facts.ts'
import { LogThrottle } from '../../platform/log-throttle.ts'
import { maintainKeys } from './maintenance.ts'
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
}

export interface OpenIdempotency {
  readonly service: IdempotencyService
  close(): Promise<void>
}

/** No request waits for maintenance. */
const MAINTENANCE_DEADLINE_MS = 60_000

/** Opens idempotency and the maintenance of what it stores. */
export function openIdempotency(
  { database, clock, log }: Pick<Deps, 'database' | 'clock' | 'log'>,
  { secret, formerSecret, bytesMax }: IdempotencyOptions,
): OpenIdempotency {
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
  const service = new IdempotencyService({
    store: guarded(STORE_DEADLINE_MS),
    room,
    clock,
    secret,
    formerSecret,
    onFailure: logFailure('an answer could not be kept for its Idempotency-Key'),
  })
  const maintenance = maintainKeys({
    store: guarded(MAINTENANCE_DEADLINE_MS),
    hasAutovacuum: database.hasAutovacuum,
    bytesMax,
    onRoom: (isFull) => {
      if (isFull && !service.isFull) log.warn('there is no room for more idempotent answers')
      service.isFull = isFull
    },
    onFailed: logFailure('maintenance of the idempotency keys failed and will be tried again'),
  }).start()
  return {
    service,
    close: async () => {
      await Promise.all([service.close(), maintenance.close(), room.close()])
    },
  }
}
