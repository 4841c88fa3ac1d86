import { join } from 'node:path'
import type { Logger } from 'pino'
import { AuditLogService } from './auditlog/service.ts'
import { PostgresAuditLogStore } from './auditlog/store.ts'
import { MemoryLoginThrottle } from './auth/memory.ts'
import { Passwords } from './auth/passwords.ts'
import { AuthService } from './auth/service.ts'
import { PostgresAuthStore } from './auth/store.ts'
import { type ChangeFeed, Kept } from './changes/feed.ts'
import { openFeed } from './changes/open.ts'
import { type Clock, systemClock } from './clock.ts'
import type { Config } from './config.ts'
import { type DataDir, openDataDir } from './data-dir.ts'
import { type DatabaseHandle, openDatabase } from './db/client.ts'
import { guardStore } from './db/guard.ts'
import { DatabaseHealth } from './db/health.ts'
import { DeploymentService } from './deployments/service.ts'
import { PostgresDeploymentStore } from './deployments/store.ts'
import { ExportService } from './export/service.ts'
import { ExportThread } from './export/thread.ts'
import { errorFacts } from './http/error-facts.ts'
import { ImportService } from './import/service.ts'
import { ImportThread } from './import/thread.ts'
import { KeyService } from './keys/service.ts'
import { PostgresKeyStore } from './keys/store.ts'
import { MemberService } from './members/service.ts'
import { PostgresMemberStore } from './members/store.ts'
import {
  addLimiterMetrics,
  addScoreLogMetrics,
  addServiceMetrics,
} from './metrics/service-metrics.ts'
import { ModelService } from './models/service.ts'
import { PostgresModelStore } from './models/store.ts'
import { Operations } from './operations.ts'
import type { Limiter } from './ratelimit/limiter.ts'
import { openLimiter } from './ratelimit/open.ts'
import { ScorecardService } from './scorecards/service.ts'
import type { Drain } from './scorelog/drain.ts'
import { openScoreLog } from './scorelog/open.ts'
import type { SpoolReader } from './scorelog/reader.ts'
import type { ScoreLog } from './scorelog/score-log.ts'
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
  readonly members: MemberService
  readonly auditLog: AuditLogService
  readonly models: ModelService
  readonly imports: ImportService
  readonly exports: ExportService
  readonly deployments: DeploymentService
  readonly scorecards: ScorecardService
  readonly scoring: ScoringService
  readonly operations: Operations
  readonly stats: StatsService
  readonly clock: Clock
  /** What was answered and is not in the database yet. */
  readonly spool: SpoolReader
  /** Brings it there. */
  readonly drain: Drain
  /** Counts requests against quotas; null, in measurements alone: nothing does. */
  readonly limiter: Limiter | null
  /** Of the process: requests and what happens behind them. */
  readonly log: Logger
  /** Key of the access tokens' signatures. */
  readonly jwtSecret: string | Buffer
  close(): Promise<void>
}

interface ServiceOptions {
  readonly log: Logger
  readonly clock?: Clock
  /** Where the caller has it open already. */
  readonly dataDir?: DataDir
  /** In the place of the spool, for measurements without one. */
  readonly scoreLog?: ScoreLog
  /** Told once when the embedded database has died. */
  readonly onCrash: (error: Error) => void
  /** Told of each statement that goes to the database. */
  readonly onQuery?: (statement: string) => void
}

const JWT_SECRET_BYTES = 48
/** Longest time that a request waits for the database. */
export const DATABASE_DEADLINE_MS = 10_000
/** A removed user or a changed role is in force within a minute. */
const USER_TTL_MS_MAX = 60_000

/** How long scoring goes on without a look into a database that is away. */
const UNAVAILABLE_TTL_MS = 4 * 60 * 60 * 1000

/** Opens the stores and wires the domains; `close` undoes it in reverse order. */
export async function createServices(config: Config, options: ServiceOptions): Promise<Services> {
  const dataDir = options.dataDir ?? (await openDataDir(config.dataDir))
  const clock = options.clock ?? systemClock
  try {
    const jwtSecret = config.jwtSecret ?? dataDir.secret('jwt-secret', JWT_SECRET_BYTES)
    const database = await openDatabase({
      url: config.databaseUrl,
      directory: join(dataDir.path, 'postgres'),
      onCrash: options.onCrash,
      ...(options.onQuery && { queryLog: { logQuery: options.onQuery } }),
    })
    const { log } = options
    const spoolBytesMax = Math.floor(config.spoolBytesMax / config.workers)
    const logged = await openScoreLog({
      database,
      directory: join(dataDir.path, 'spool'),
      durability: config.scoreLogDurability,
      spoolBytesMax,
      retentionDays: config.scoreLogRetentionDays,
      clock,
      log,
      factsOf: errorFacts,
    }).catch(async (error) => {
      await database.close()
      throw error
    })
    const limiter = await openLimiter({ redisUrl: config.redisUrl, clock, log })
    const health = new DatabaseHealth(clock)
    const kept = new Kept()
    const changes = openFeed({ redisUrl: config.redisUrl, listener: kept, log })
    const scoreLog = options.scoreLog ?? logged.spool
    const domains = wire(config, database, {
      ...{ clock, log, jwtSecret, kept, changes, scoreLog, health },
    })
    const { operations } = domains
    addScoreLogMetrics(operations.metrics, logged)
    addLimiterMetrics(operations.metrics, limiter)
    operations.readiness.add('spool', () =>
      logged.spool.stats.bytes < spoolBytesMax ? null : 'full',
    )
    return {
      ...domains,
      limiter,
      jwtSecret,
      log,
      clock,
      spool: logged.spool,
      drain: logged.drain,
      close: once(async () => {
        operations.stop()
        health.stopProbes()
        await Promise.all([logged.close(), domains.keys.close()])
        await changes.close()
        limiter.close()
        await database.close()
        dataDir.close()
      }),
    }
  } catch (error) {
    dataDir.close()
    throw error
  }
}

/** All who end the service wait for the one end. */
function once(end: () => Promise<void>): () => Promise<void> {
  let ending: Promise<void> | null = null
  return () => {
    ending ??= end()
    return ending
  }
}

interface WireOptions {
  readonly clock: Clock
  readonly log: Logger
  readonly jwtSecret: string | Buffer
  readonly kept: Kept
  readonly changes: ChangeFeed
  readonly scoreLog: ScoreLog
  readonly health: DatabaseHealth
}

/** What one function wires: all domains that stand on the database. */
type Domains = Omit<
  Services,
  'jwtSecret' | 'limiter' | 'log' | 'clock' | 'spool' | 'drain' | 'close'
>

function wire(
  config: Config,
  { db, renew, ping }: DatabaseHandle,
  { clock, log, jwtSecret, kept, changes, scoreLog, health }: WireOptions,
): Domains {
  const ttlMs = config.specCacheTtlMs
  const guarded = <Store extends object>(store: Store) =>
    guardStore(store, { deadlineMs: DATABASE_DEADLINE_MS, onOverdue: renew, health })
  const challengerFaults = new ChallengerFaults(clock, (place, error) =>
    log.error({ ...place, err: errorFacts(error) }, 'a challenger failed'),
  )
  const cache = new ServingCache({
    store: guarded(new PostgresServingStore(db)),
    clock,
    ttlMs,
    unavailableTtlMs: UNAVAILABLE_TTL_MS,
    challengerFaults,
  })
  const onChange = (deploymentId: string) => changes.tell('deployment', deploymentId)
  const deployments = new DeploymentService({
    store: guarded(new PostgresDeploymentStore(db)),
    clock,
    onChange,
  })
  const passwords = new Passwords()
  const auth = new AuthService({
    store: guarded(new PostgresAuthStore(db)),
    passwords,
    throttle: new MemoryLoginThrottle(clock),
    clock,
    userTtlMs: Math.min(ttlMs, USER_TTL_MS_MAX),
    secret: jwtSecret,
  })
  const keys = new KeyService({
    store: guarded(new PostgresKeyStore(db)),
    clock,
    ttlMs,
    unavailableTtlMs: UNAVAILABLE_TTL_MS,
    onChange: (keyHash) => changes.tell('key', keyHash),
  })
  kept.add('deployment', cache)
  kept.add('key', keys)
  kept.add('user', auth)
  const scoring = new ScoringService({ cache, challengerFaults, log: scoreLog, clock })
  const operations = new Operations()
  const { metrics, readiness, requests, shedder } = operations
  const caches = { deployments: cache, keys, users: auth }
  const database = health
  addServiceMetrics(metrics, { requests, scoring, challengerFaults, caches, shedder, database })
  // While the database is away, scores go on from memory, until nothing that is held there may be served.
  readiness.add('database', () => awayTooLong(health.awayMs, UNAVAILABLE_TTL_MS))
  health.startProbes(guarded({ ping }).ping)
  const models = new ModelService({ store: guarded(new PostgresModelStore(db)), clock, onChange })
  return {
    auth,
    keys,
    members: new MemberService({
      store: guarded(new PostgresMemberStore(db)),
      passwords,
      clock,
      onChange: (userId) => changes.tell('user', userId),
    }),
    auditLog: new AuditLogService(guarded(new PostgresAuditLogStore(db))),
    models,
    imports: new ImportService({ models, runner: new ImportThread() }),
    exports: new ExportService(models, new ExportThread()),
    deployments,
    scorecards: new ScorecardService(deployments, clock),
    scoring,
    operations,
    stats: new StatsService(guarded(new PostgresStatsStore(db)), clock),
  }
}

function awayTooLong(awayMs: number, bridgedMs: number): string | null {
  return awayMs > bridgedMs ? `away for ${Math.floor(awayMs / 1000)} s` : null
}
