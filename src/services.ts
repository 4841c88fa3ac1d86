import { join } from 'node:path'
import type { Logger } from 'pino'
import { ImportSampleChecker } from './cards/import/spec-check.ts'
import { ImportThread } from './cards/import/thread.ts'
import { openCards } from './cards/open.ts'
import type { Config } from './config.ts'
import { ANALYST_ROLES, DEPLOYER_ROLES } from './http/access/caller.ts'
import { openIdempotency } from './http/idempotency/open.ts'
import type { IdempotencyService } from './http/idempotency/service.ts'
import { type AuditLines, withAuditStream } from './identity/audit/stream.ts'
import type { LoginThrottle } from './identity/auth/login-throttle.ts'
import { openThrottle } from './identity/auth/redis.ts'
import { openAccess } from './identity/open.ts'
import { BATCH_JOB } from './jobs/batches/batch.ts'
import { openBatches } from './jobs/batches/open.ts'
import type { JobKind } from './jobs/job.ts'
import { openJobs } from './jobs/open.ts'
import { JobStore } from './jobs/store.ts'
import { openWebhooks } from './jobs/webhooks/open.ts'
import type { Drain, OpenArchive, OpenScoreLog, ScoreLog, SpoolReader } from './log/index.ts'
import {
  openArchive,
  openLogReader,
  openReading,
  openScoreLog,
  ScoreKeyStore,
  WaitingScores,
} from './log/wiring.ts'
import { openOutcomes } from './outcomes/open.ts'
import { InvalidatedCaches, type InvalidationFeed } from './platform/caches/invalidation.ts'
import { openFeed } from './platform/caches/redis-invalidation.ts'
import { type Clock, systemClock } from './platform/clock.ts'
import { closedWithin, once } from './platform/closing.ts'
import { type DataDir, openDataDir } from './platform/data-dir/data-dir.ts'
import { DATABASE_DEADLINE_MS, guardStore } from './platform/db/guard.ts'
import { awayTooLong, DatabaseHealth, healthLines } from './platform/db/health.ts'
import { openDatabase } from './platform/db/open.ts'
import type { Deps } from './platform/deps.ts'
import { openRedisSite } from './platform/redis-cluster/site.ts'
import { RedisRide } from './platform/redis-ride.ts'
import type { Limiter } from './rate-limit/limiter.ts'
import { openLimiter } from './rate-limit/open.ts'
import { openRegistry } from './registry/open.ts'
import { BACKTEST_JOB } from './reports/backtest/service.ts'
import { openReports } from './reports/open.ts'
import { REPLAY_JOB } from './reports/replay/service.ts'
import { batchThreadsFor } from './scoring/batch-threads/batch-threads.ts'
import { openScoring } from './scoring/open.ts'
import { openHostChecks } from './telemetry/host/checks.ts'
import {
  addIdempotencyMetrics,
  addJobMetrics,
  addLimiterMetrics,
  addServiceMetrics,
  addWebhookMetrics,
} from './telemetry/service-metrics.ts'
import { Telemetry } from './telemetry/telemetry.ts'

/** The domains with all that they need. */
export interface Services extends Omit<ReturnType<typeof wire>, 'background'> {
  /** Executes requests with an `Idempotency-Key` once. */
  readonly idempotency: IdempotencyService
  readonly telemetry: Telemetry
  readonly clock: Clock
  /** Holds answered requests until they are in the database. */
  readonly spool: SpoolReader
  /** Moves them from the spool to the database. */
  readonly drain: Drain
  /** Counts requests against quotas. */
  readonly limiter: Limiter
  /** The log of the process: requests, and the work behind them. */
  readonly log: Logger
  /** Key that signs access tokens. */
  readonly jwtSecret: string | Buffer
  /** Resolves when scores can be logged. Never rejects. */
  readonly ready: Promise<void>
  /** Key whose access tokens are still accepted after a rotation; null: there is none. */
  readonly formerJwtSecret: string | null
  /** Closes everything. Every caller awaits the same shutdown. */
  close(): Promise<void>
}

interface ServiceOptions {
  readonly log: Logger
  readonly clock?: Clock
  /** A data directory that the caller has opened; by default this opens the configured one. */
  readonly dataDir?: DataDir
  /** Replaces the spool, in tests and benchmarks. */
  readonly scoreLog?: ScoreLog
  /** Longest time that a response waits for its record to be safe; 10 s by default. */
  readonly answerDeadlineMs?: number
  /** Time of the oldest records that will be written, if they are older than today. */
  readonly logFromMs?: number
  /** Called once when the embedded database has died. */
  readonly onCrash: (error: Error) => void
  readonly openDatabase?: typeof openDatabase
  /** Receives each statement that goes to the database. */
  readonly onQuery?: (statement: string) => void
  readonly auditLines?: AuditLines
  /** True if the caller waits for `ready` itself, and does something else meanwhile. */
  readonly isEarly?: boolean
}

const JWT_SECRET_BYTES = 48
/** Longest wait for work in the background: a later process repeats what was not committed. */
const BACKGROUND_CLOSE_MS = 1_500
/** Time for which scoring continues from memory while the database is unavailable. */
const UNAVAILABLE_TTL_MS = 4 * 60 * 60 * 1000

/**
 * Opens the stores and wires the domains. `close` closes all of them in reverse order. If one part
 * fails to open, the parts that are already open are closed before this rejects.
 *
 * @throws DataDirInUseError, LaterVersionError, DatabaseOpenError, SpoolOpenError
 */
export async function createServices(config: Config, options: ServiceOptions): Promise<Services> {
  await using opened = new AsyncDisposableStack()
  const { log, clock = systemClock } = options
  const dataDir = options.dataDir ?? (await openDataDir(config.dataDir, config.acceptLaterVersion))
  opened.defer(() => dataDir.close())
  const jwtSecret = config.jwtSecret ?? dataDir.secret('jwt-secret', JWT_SECRET_BYTES)
  const database = await (options.openDatabase ?? openDatabase)({
    url: config.databaseUrl,
    directory: join(dataDir.path, 'postgres'),
    acceptedVersion: config.acceptLaterVersion,
    onCrash: options.onCrash,
    ...(options.onQuery && { queryLog: { logQuery: options.onQuery } }),
  })
  opened.defer(() => database.close())
  const redis = openRedisSite(config.redisUrl)
  opened.defer(() => redis?.close())
  const ride = new RedisRide()
  const limiter = await openLimiter({ redis, ride, clock, log })
  opened.defer(() => limiter.close())
  const throttle = openThrottle({ redis, clock })
  opened.defer(() => throttle.close())
  const caches = new InvalidatedCaches()
  const changes = openFeed({ redis, listener: caches, log })
  opened.defer(() => changes.close())

  let endLease = async (): Promise<void> => undefined
  opened.defer(() => endLease())
  const openedLog = await openScoreLog({
    database,
    directory: join(dataDir.path, 'spool'),
    durability: config.scoreLogDurability,
    spoolBytesMax: Math.floor(config.spoolBytesMax / config.workers),
    spoolKeepMs: config.spoolKeepMs,
    retentionDays: config.scoreLogRetentionDays,
    clock,
    log,
    ...(options.answerDeadlineMs !== undefined && { answerDeadlineMs: options.answerDeadlineMs }),
    ...(options.logFromMs !== undefined && { fromMs: options.logFromMs }),
  })
  // They close at the same time: each may have to wait for a database that does not answer.
  const writers: { close(): void | Promise<void> }[] = [openedLog]
  opened.defer(async () => void (await Promise.all(writers.map((writer) => writer.close()))))

  const idempotency = await openIdempotency(
    { database, clock, log },
    {
      secret: jwtSecret,
      formerSecret: config.formerJwtSecret,
      bytesMax: config.idempotencyBytesMax,
      loggedKeys: new ScoreKeyStore(database.db),
      redisUrl: redis?.cluster === null ? redis.url : null,
      isOnlyProcess: config.databaseUrl === null,
      ride,
      waiting: new WaitingScores(openedLog.spool),
      ready: openedLog.ready,
    },
  )
  endLease = () => idempotency.endLease()
  opened.defer(() => idempotency.close())

  const health = new DatabaseHealth(clock, healthLines(log))
  opened.defer(() => health.stopProbes())
  const telemetry = new Telemetry({ tracing: config.otel, commit: config.buildCommit, clock, log })
  opened.defer(() => telemetry.stop())
  const archive = await openArchive(config, {
    database,
    directory: join(dataDir.path, 'archive'),
    clock,
    log,
    metrics: telemetry.metrics,
  })
  opened.defer(() => closedWithin(BACKGROUND_CLOSE_MS, archive).close())

  const audited = withAuditStream(database, options.auditLines ?? null)
  const { db, renew } = audited
  const guard = { deadlineMs: DATABASE_DEADLINE_MS, renew, health }
  const deps: Deps = {
    database: audited,
    db,
    guarded: (store) => guardStore(store, guard),
    clock,
    log,
    metrics: telemetry.metrics,
  }
  const domains = wire(config, deps, {
    jwtSecret,
    throttle,
    caches,
    changes,
    scoreLog: options.scoreLog ?? openedLog.spool,
    openedLog: { ...openedLog, ...archive.forReaders },
    health,
    telemetry,
    dataDir,
  })
  archive.start()
  const { background, ...services } = domains
  writers.push(domains.keys, domains.serviceAccounts)
  for (const part of [telemetry.spans, ...background]) {
    writers.push(closedWithin(BACKGROUND_CLOSE_MS, part))
  }
  const upkeepFailures = () => ({
    ...openedLog.upkeepFailures(),
    index: domains.indexUpkeep.failures,
  })
  const host = {
    telemetry,
    openedLog: { ...openedLog, upkeepFailures },
    database,
    dataDir: dataDir.path,
    clock,
    log,
  }
  addLimiterMetrics(telemetry.metrics, limiter)
  addIdempotencyMetrics(telemetry.metrics, idempotency.service)
  writers.push(closedWithin(BACKGROUND_CLOSE_MS, openHostChecks(host)))

  if (options.isEarly !== true) await Promise.all([openedLog.ready, domains.warmUp.within()])
  const ending = opened.move()
  return {
    ...services,
    idempotency: idempotency.service,
    telemetry,
    limiter,
    jwtSecret,
    formerJwtSecret: config.formerJwtSecret,
    log,
    clock,
    spool: openedLog.spool,
    drain: openedLog.drain,
    ready: openedLog.ready,
    close: once(() => ending.disposeAsync()),
  }
}

interface WireOptions {
  readonly jwtSecret: string | Buffer
  readonly throttle: LoginThrottle
  readonly caches: InvalidatedCaches
  readonly changes: InvalidationFeed
  readonly scoreLog: ScoreLog
  readonly openedLog: Pick<OpenScoreLog, 'spool' | 'damaged' | 'damagedTrees'> &
    OpenArchive['forReaders']
  readonly health: DatabaseHealth
  readonly telemetry: Telemetry
  readonly dataDir: DataDir
}

const ANALYSIS = { cancelled: 'job.cancel', cancellers: ANALYST_ROLES } as const
const JOB_KINDS: Readonly<Record<string, JobKind>> = {
  [REPLAY_JOB]: { started: 'replay.start', ...ANALYSIS },
  [BACKTEST_JOB]: { started: 'backtest.start', ...ANALYSIS },
  [BATCH_JOB]: {
    started: null,
    cancelled: 'batch.cancel',
    readers: [...DEPLOYER_ROLES, 'auditor'],
    cancellers: DEPLOYER_ROLES,
  },
}

/** Opens the domains that use the database. */
function wire(config: Config, deps: Deps, parts: WireOptions) {
  const { caches, changes, openedLog, health, telemetry, dataDir } = parts
  const { formerJwtSecret, specCacheTtlMs: ttlMs } = config
  const secrets = { jwtSecret: parts.jwtSecret, formerJwtSecret }
  const lives = { ttlMs, unavailableTtlMs: UNAVAILABLE_TTL_MS }
  const { metrics, readiness, requests, shedder } = telemetry
  const onChange = (deploymentId: string) => changes.publish('deployment', deploymentId)
  const access = openAccess(deps, { ...parts, ...secrets, ...lives, signIn: config })
  const { auth, keys } = access
  // While the database is away, scoring continues from memory until what is held has expired.
  readiness.add(
    'database',
    () => awayTooLong(health.awayMs, UNAVAILABLE_TTL_MS),
    () => health.trouble,
  )
  health.startProbes(deps.guarded({ ping: deps.database.ping }).ping)
  const logReader = openLogReader({ ...deps, ...openedLog })
  const { serving, cache, challengerFailures, ...scored } = openScoring(deps, {
    ...lives,
    readiness,
    keys,
    scoreLog: parts.scoreLog,
    reader: logReader.reader,
    countedDeployments: config.metricsDeployments,
    batchThreads: config.batchThreads ?? batchThreadsFor(config.workers),
  })
  caches.add('deployment', cache)
  addServiceMetrics(metrics, {
    requests,
    ...scored,
    challengerFaults: challengerFailures,
    caches: { deployments: cache, keys, users: auth },
    shedder,
    database: health,
  })
  const runner = new ImportThread()
  const registry = openRegistry(deps, {
    samples: new ImportSampleChecker(runner, deps.guarded(new JobStore(deps.db))),
    requestLifeMs: config.changeRequestLifeMs,
    onChange,
  })
  const { models } = registry
  const outcomes = openOutcomes(deps, {
    reader: logReader.reader,
    directory: join(dataDir.path, 'imports'),
    holdDays: config.outcomeHoldDays,
  })
  const reading = openReading(deps, {
    logReader,
    damaged: openedLog.damaged,
    damagedTrees: openedLog.damagedTrees,
    others: outcomes.outcomes,
    ...secrets,
  })
  const { proofs } = reading
  const jobs = openJobs(deps, JOB_KINDS)
  const reports = openReports(deps, {
    ...openedLog,
    ...reading,
    ...registry,
    logReader,
    definitions: outcomes.outcomeDefinitions,
    jobs,
    breakGlassEmail: config.breakGlassEmail,
    onChange,
  })
  const { path } = dataDir
  const batches = openBatches(deps, { jobs, config, path, serving, loop: shedder.loop })
  addJobMetrics(metrics, { jobs, batches, nightly: reports.nightly, proofs })
  const baselines = reports.services.reasons
  const cards = openCards(deps, { models, baselines, runner, jobs, dataDir, config })
  const webhooks = openWebhooks(deps, {
    config,
    jwtSecret: parts.jwtSecret,
    readCheckpoint: (teamId) => proofs.checkpoint({ teamId }),
    awayMs: () => health.awayMs,
    spoolRefusal: () => openedLog.spool.refusal,
  })
  addWebhookMetrics(metrics, webhooks)
  // Batches end after their jobs.
  const work = { close: () => jobs.close().then(() => batches.close()) }
  return {
    ...access,
    ...scored,
    ...registry,
    ...outcomes,
    ...reading,
    ...reports.services,
    ...cards.services,
    jobs: jobs.service,
    batches: batches.service,
    webhooks: webhooks.service,
    /** The parts that deliver, cleans up and looks for events beside requests. */
    webhookParts: webhooks,
    background: [
      auth,
      outcomes.outcomeWorker,
      reading.indexUpkeep,
      reading.treeUpkeep,
      work,
      reports,
      cards,
      webhooks,
      scored.batchThreads,
      scored.warmUp,
    ],
  }
}
