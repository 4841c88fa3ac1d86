import { join } from 'node:path'
import type { Logger } from 'pino'
import { Passwords } from './auth/passwords.ts'
import { AuthService } from './auth/service.ts'
import { PostgresAuthStore } from './auth/store.ts'
import { type Clock, systemClock } from './clock.ts'
import type { Config } from './config.ts'
import { openDataDir } from './data-dir.ts'
import { type DatabaseHandle, openDatabase } from './db/client.ts'
import { guardStore } from './db/guard.ts'
import { DeploymentService } from './deployments/service.ts'
import { PostgresDeploymentStore } from './deployments/store.ts'
import { errorFacts } from './http/error-facts.ts'
import { KeyService } from './keys/service.ts'
import { PostgresKeyStore } from './keys/store.ts'
import { ModelService } from './models/service.ts'
import { PostgresModelStore } from './models/store.ts'
import { ScorecardService } from './scorecards/service.ts'
import type { SpoolReader } from './scorelog/reader.ts'
import type { ScoreLog } from './scorelog/score-log.ts'
import { Spool } from './scorelog/spool.ts'
import { ServingCache } from './scoring/cache.ts'
import { ChallengerFaults } from './scoring/challenger-faults.ts'
import { ScoringService } from './scoring/service.ts'
import { PostgresServingStore } from './scoring/store.ts'

/** The domains, wired to what they need. */
export interface Services {
  readonly auth: AuthService
  readonly keys: KeyService
  readonly models: ModelService
  readonly deployments: DeploymentService
  readonly scorecards: ScorecardService
  readonly scoring: ScoringService
  readonly clock: Clock
  /** What was answered and is not in the database yet. */
  readonly spool: SpoolReader
  /** Of the process: requests and what happens behind them. */
  readonly log: Logger
  /** Key of the access tokens' signatures. */
  readonly jwtSecret: string | Buffer
  close(): Promise<void>
}

interface ServiceOptions {
  readonly log: Logger
  readonly clock?: Clock
  /** Told once when the embedded database has died. */
  readonly onCrash: (error: Error) => void
  /** Told of each statement that goes to the database. */
  readonly onQuery?: (statement: string) => void
  /** Stands in for the spool, to measure what it costs. */
  readonly scoreLog?: ScoreLog
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
    const clock = options.clock ?? systemClock
    const spool = await openSpool(config, dataDir.path, clock, options.log).catch(async (error) => {
      await database.close()
      throw error
    })
    return {
      ...wire(config, database, options.scoreLog ?? spool, clock, options.log),
      jwtSecret,
      log: options.log,
      clock,
      spool,
      close: async () => {
        await spool.close()
        await database.close()
        dataDir.close()
      },
    }
  } catch (error) {
    dataDir.close()
    throw error
  }
}

/** The name of a process's directory sorts by its start. */
function openSpool(config: Config, dataDir: string, clock: Clock, log: Logger): Promise<Spool> {
  return Spool.open({
    directory: join(dataDir, 'spool'),
    name: `${String(systemClock.epochMs()).padStart(15, '0')}-${process.pid}`,
    durability: config.scoreLogDurability,
    bytesMax: config.spoolBytesMax,
    clock,
    warn: (facts, text) => log.warn(facts, text),
  })
}

function wire(
  config: Config,
  { db, renew }: DatabaseHandle,
  scoreLog: ScoreLog,
  clock: Clock,
  log: Logger,
): Omit<Services, 'jwtSecret' | 'log' | 'clock' | 'spool' | 'close'> {
  const ttlMs = config.specCacheTtlMs
  const guarded = <Store extends object>(store: Store) =>
    guardStore(store, { deadlineMs: DATABASE_DEADLINE_MS, onOverdue: renew })
  const challengerFaults = new ChallengerFaults(clock, (place, error) =>
    log.error({ ...place, err: errorFacts(error) }, 'a challenger failed'),
  )
  const cache = new ServingCache({
    store: guarded(new PostgresServingStore(db)),
    clock,
    ttlMs,
    challengerFaults,
  })
  const onChange = (deploymentId: string) => cache.expire(deploymentId)
  const deployments = new DeploymentService({
    store: guarded(new PostgresDeploymentStore(db)),
    clock,
    onChange,
  })
  return {
    auth: new AuthService({
      store: guarded(new PostgresAuthStore(db)),
      passwords: new Passwords(),
      clock,
      userTtlMs: Math.min(ttlMs, USER_TTL_MS_MAX),
    }),
    keys: new KeyService({ store: guarded(new PostgresKeyStore(db)), clock, ttlMs }),
    models: new ModelService({ store: guarded(new PostgresModelStore(db)), clock, onChange }),
    deployments,
    scorecards: new ScorecardService(deployments, clock),
    scoring: new ScoringService({ cache, challengerFaults, log: scoreLog, clock }),
  }
}
