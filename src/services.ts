import { join } from 'node:path'
import type { Logger } from 'pino'
import { MemoryLoginThrottle } from './auth/memory.ts'
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
import { MemberService } from './members/service.ts'
import { PostgresMemberStore } from './members/store.ts'
import { ModelService } from './models/service.ts'
import { PostgresModelStore } from './models/store.ts'
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
import { TeamService } from './teams/service.ts'
import { PostgresTeamStore } from './teams/store.ts'

/** The domains, wired to what they need. */
export interface Services {
  readonly auth: AuthService
  readonly keys: KeyService
  readonly members: MemberService
  readonly models: ModelService
  readonly deployments: DeploymentService
  readonly scorecards: ScorecardService
  readonly scoring: ScoringService
  readonly stats: StatsService
  readonly clock: Clock
  /** What was answered and is not in the database yet. */
  readonly spool: SpoolReader
  /** Brings it there. */
  readonly drain: Drain
  /** Of the process: requests and what happens behind them. */
  readonly log: Logger
  /** Key of the access tokens' signatures. */
  readonly jwtSecret: string | Buffer
  close(): Promise<void>
}

/** The domains that the operator's command line works on. */
export interface OperatorServices {
  readonly teams: TeamService
  readonly members: MemberService
  readonly keys: KeyService
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
    const { log, clock = systemClock } = options
    const logged = await openScoreLog({
      database,
      directory: join(dataDir.path, 'spool'),
      durability: config.scoreLogDurability,
      spoolBytesMax: config.spoolBytesMax,
      retentionDays: config.scoreLogRetentionDays,
      clock,
      log,
      factsOf: errorFacts,
    }).catch(async (error) => {
      await database.close()
      throw error
    })
    const scoreLog = options.scoreLog ?? logged.spool
    const domains = wire(config, database, { clock, log, jwtSecret, scoreLog })
    return {
      ...domains,
      jwtSecret,
      log,
      clock,
      spool: logged.spool,
      drain: logged.drain,
      close: async () => {
        await logged.close()
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

/**
 * Opens what the operator's command line works on. Over PostgreSQL the data directory stays closed, because
 * the service may run on it; the embedded database is the service's or the operator's, one at a time.
 *
 * @throws DataDirInUseError while the service has the embedded database open
 */
export async function createOperatorServices(
  config: Config,
  onCrash: (error: Error) => void,
): Promise<OperatorServices> {
  const dataDir = config.databaseUrl === null ? await openDataDir(config.dataDir) : null
  try {
    const directory = join(dataDir?.path ?? config.dataDir, 'postgres')
    const database = await openDatabase({ url: config.databaseUrl, directory, onCrash })
    const { db, renew } = database
    const guarded = <Store extends object>(store: Store) =>
      guardStore(store, { deadlineMs: DATABASE_DEADLINE_MS, onOverdue: renew })
    const clock = systemClock
    const passwords = new Passwords()
    const members = { store: guarded(new PostgresMemberStore(db)), passwords, clock }
    const keyStore = guarded(new PostgresKeyStore(db))
    return {
      teams: new TeamService({ store: guarded(new PostgresTeamStore(db)), passwords, clock }),
      // What this process remembers of users ends with it.
      members: new MemberService({ ...members, onChange: () => {} }),
      keys: new KeyService({ store: keyStore, clock, ttlMs: config.specCacheTtlMs }),
      close: async () => {
        await database.close()
        dataDir?.close()
      },
    }
  } catch (error) {
    dataDir?.close()
    throw error
  }
}

function wire(
  config: Config,
  { db, renew }: DatabaseHandle,
  {
    clock,
    log,
    jwtSecret,
    scoreLog,
  }: { clock: Clock; log: Logger; jwtSecret: string | Buffer; scoreLog: ScoreLog },
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
  const passwords = new Passwords()
  const auth = new AuthService({
    store: guarded(new PostgresAuthStore(db)),
    passwords,
    throttle: new MemoryLoginThrottle(clock),
    clock,
    userTtlMs: Math.min(ttlMs, USER_TTL_MS_MAX),
    secret: jwtSecret,
  })
  return {
    auth,
    members: new MemberService({
      store: guarded(new PostgresMemberStore(db)),
      passwords,
      clock,
      onChange: (userId) => auth.userChanged(userId),
    }),
    keys: new KeyService({ store: guarded(new PostgresKeyStore(db)), clock, ttlMs }),
    models: new ModelService({ store: guarded(new PostgresModelStore(db)), clock, onChange }),
    deployments,
    scorecards: new ScorecardService(deployments, clock),
    scoring: new ScoringService({ cache, challengerFaults, log: scoreLog, clock }),
    stats: new StatsService(guarded(new PostgresStatsStore(db))),
  }
}
