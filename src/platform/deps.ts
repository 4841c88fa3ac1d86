import type { Logger } from 'pino'
import type { Clock } from './clock.ts'
import type { Database, DatabaseHandle } from './db/client.ts'
import type { MetricRegistry } from './metrics/registry.ts'

/** Things that nearly every domain needs. It is passed on whole. */
export interface Deps {
  readonly database: DatabaseHandle
  readonly db: Database
  /** Gives each call of a store a deadline, see `guardStore`. */
  readonly guarded: <Store extends object>(store: Store) => Store
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: MetricRegistry
}
