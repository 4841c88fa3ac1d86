import { join } from 'node:path'
import type { Logger } from 'pino'
import { Passwords } from './auth/passwords.ts'
import { AuthService } from './auth/service.ts'
import { PostgresAuthStore } from './auth/store.ts'
import { randomBase62 } from './base62.ts'
import { type Clock, systemClock } from './clock.ts'
import type { Config } from './config.ts'
import { openDataDir } from './data-dir.ts'
import { type DatabaseConnections, type DatabaseHandle, openDatabase } from './db/client.ts'
import { guardStore } from './db/guard.ts'
import { DeploymentService } from './deployments/service.ts'
import { PostgresDeploymentStore } from './deployments/store.ts'
import { errorFacts } from './http/error-facts.ts'
import { KeyService } from './keys/service.ts'
import { PostgresKeyStore } from './keys/store.ts'
import { ModelService } from './models/service.ts'
import { PostgresModelStore } from './models/store.ts'
import { ScorecardService } from './scorecards/service.ts'
import { Drain } from './scorelog/drain.ts'
import { PostgresLogTables } from './scorelog/partitions.ts'
import type { SpoolReader } from './scorelog/reader.ts'
import type { ScoreLog } from './scorelog/score-log.ts'
import { Spool } from './scorelog/spool.ts'
import { PostgresScoreLogStore } from './scorelog/store.ts'
import { Upkeep } from './scorelog/upkeep.ts'
import { ServingCache } from './scoring/cache.ts'
import { ChallengerFaults } from './scoring/challenger-faults.ts'
import { ScoringService } from './scoring/service.ts'
import { PostgresServingStore } from './scoring/store.ts'
import { StatsService } from './stats/service.ts'
import { PostgresStatsStore } from './stats/store.ts'

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
  /** Brings it there. */
  readonly drain: Drain
  readonly stats: StatsService
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
/** Longest time that the end of the process waits for the drain; what is left stays in the spool. */
const DRAIN_CLOSE_MS = 2_000
/** One for the drain, one for upkeep. */
const LOG_CONNECTIONS = 2
/** Of a round of upkeep, which no request waits for. */
const UPKEEP_DEADLINE_MS = 60_000
const WRITER_CHARS = 10
/** Records gather for a fifth of a second: stats are that much behind, and a busy log saves transactions. */
const GATHER_MS = 200
const DRAIN_BATCH = { batchRecordsMax: 1_000, batchBytesMax: 4 * 1024 * 1024 }

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
    const connections = database.apart(LOG_CONNECTIONS)
    const upkeep = makeUpkeep(config, database, connections, clock, options.log)
    const drain = makeDrain(config, connections, spool, clock, options.log)
    // Before the first record comes: there must be a partition for it.
    await upkeep.start()
    drain.start()
    return {
      ...wire(config, database, options.scoreLog ?? spool, clock, options.log),
      jwtSecret,
      log: options.log,
      clock,
      spool,
      drain,
      close: async () => {
        await drain.close(DRAIN_CLOSE_MS)
        await spool.close()
        await upkeep.close()
        await connections.close()
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

/** Rollup rows are named after the process, so that no two replicas write the same. */
function makeDrain(
  { scoreLogDurability }: Config,
  { db, renew }: DatabaseConnections,
  spool: Spool,
  clock: Clock,
  log: Logger,
): Drain {
  const store = new PostgresScoreLogStore(db, randomBase62(WRITER_CHARS))
  return new Drain({
    spool,
    store: guardStore(store, { deadlineMs: DATABASE_DEADLINE_MS, onOverdue: renew }),
    clock,
    log: {
      failing: (facts, error) =>
        log.error({ ...facts, err: errorFacts(error) }, 'the score log can not be drained'),
      recovered: (facts) => log.info(facts, 'the score log is drained again'),
      setAside: (facts) => log.error(facts, 'a record of the score log was set aside'),
    },
    gatherMs: scoreLogDurability === 'database' ? 0 : GATHER_MS,
    ...DRAIN_BATCH,
  })
}

function makeUpkeep(
  { scoreLogRetentionDays }: Config,
  { hasAutovacuum }: DatabaseHandle,
  { db, renew }: DatabaseConnections,
  clock: Clock,
  log: Logger,
): Upkeep {
  const tables = new PostgresLogTables(db)
  return new Upkeep({
    tables: guardStore(tables, { deadlineMs: UPKEEP_DEADLINE_MS, onOverdue: renew }),
    clock,
    retentionDays: scoreLogRetentionDays,
    hasAutovacuum,
    log: {
      dropped: (partitions) => log.info({ partitions }, 'partitions beyond the retention dropped'),
      stray: (rows) => log.warn({ rows }, 'rows of the score log have no partition of their day'),
      failed: (error) =>
        log.error({ err: errorFacts(error) }, 'upkeep of the score log failed, will try again'),
    },
  })
}

function wire(
  config: Config,
  { db, renew }: DatabaseHandle,
  scoreLog: ScoreLog,
  clock: Clock,
  log: Logger,
): Omit<Services, 'jwtSecret' | 'log' | 'clock' | 'spool' | 'drain' | 'close'> {
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
    stats: new StatsService(guarded(new PostgresStatsStore(db))),
  }
}
