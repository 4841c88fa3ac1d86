import { join } from 'node:path'
import { Passwords } from './auth/passwords.ts'
import { AuthService } from './auth/service.ts'
import { PostgresAuthStore } from './auth/store.ts'
import { type Clock, systemClock } from './clock.ts'
import type { Config } from './config.ts'
import { openDataDir } from './data-dir.ts'
import { type DatabaseHandle, openDatabase } from './db/client.ts'
import { guardStore } from './db/guard.ts'
import { KeyService } from './keys/service.ts'
import { PostgresKeyStore } from './keys/store.ts'
import { ModelService } from './models/service.ts'
import { PostgresModelStore } from './models/store.ts'
import { ServingCache } from './scoring/cache.ts'
import { ScoringService } from './scoring/service.ts'
import { PostgresServingStore } from './scoring/store.ts'

/** The domains, wired to what they need. */
export interface Services {
  readonly auth: AuthService
  readonly keys: KeyService
  readonly models: ModelService
  readonly scoring: ScoringService
  /** Key of the access tokens' signatures. */
  readonly jwtSecret: string | Buffer
  close(): Promise<void>
}

interface ServiceOptions {
  readonly clock?: Clock
  /** Told once when the embedded database has died. */
  readonly onCrash: (error: Error) => void
  /** Told of each statement that goes to the database. */
  readonly onQuery?: (statement: string) => void
}

const JWT_SECRET_BYTES = 48
/** Longest time that a request waits for the database. */
const DATABASE_DEADLINE_MS = 10_000
/** A removed user or a changed role is in force within a minute. */
const USER_TTL_MS_MAX = 60_000

/** Opens the stores and wires the domains; `close` undoes it in reverse order. */
export async function createServices(config: Config, options: ServiceOptions): Promise<Services> {
  const dataDir = await openDataDir(config.dataDir)
  try {
    const jwtSecret = config.jwtSecret ?? dataDir.secret('jwt-secret', JWT_SECRET_BYTES)
    const database = await openDatabase({
      url: config.databaseUrl,
      directory: join(dataDir.path, 'postgres'),
      onCrash: options.onCrash,
      ...(options.onQuery && { queryLog: { logQuery: options.onQuery } }),
    })
    const domains = wire(config, database, { clock: options.clock ?? systemClock, jwtSecret })
    return {
      ...domains,
      jwtSecret,
      close: async () => {
        await domains.keys.close()
        await database.close()
        dataDir.close()
      },
    }
  } catch (error) {
    dataDir.close()
    throw error
  }
}

function wire(
  config: Config,
  { db, renew }: DatabaseHandle,
  { clock, jwtSecret }: { clock: Clock; jwtSecret: string | Buffer },
): Pick<Services, 'auth' | 'keys' | 'models' | 'scoring'> {
  const ttlMs = config.specCacheTtlMs
  const guarded = <Store extends object>(store: Store) =>
    guardStore(store, { deadlineMs: DATABASE_DEADLINE_MS, onOverdue: renew })
  const serving = new ServingCache(guarded(new PostgresServingStore(db)), clock, ttlMs)
  return {
    auth: new AuthService({
      store: guarded(new PostgresAuthStore(db)),
      passwords: new Passwords(),
      clock,
      userTtlMs: Math.min(ttlMs, USER_TTL_MS_MAX),
      secret: jwtSecret,
    }),
    keys: new KeyService({ store: guarded(new PostgresKeyStore(db)), clock, ttlMs }),
    models: new ModelService(guarded(new PostgresModelStore(db)), clock),
    scoring: new ScoringService(serving, clock),
  }
}
