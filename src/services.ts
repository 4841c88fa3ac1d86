import { join } from 'node:path'
import type { Logger } from 'pino'
import { type OpenArchive, openArchive } from './archive/open.ts'
import { type AuditLines, withAuditStream } from './audit/stream.ts'
import type { LoginThrottle } from './auth/login-throttle.ts'
import { openThrottle } from './auth/open-throttle.ts'
import { type ChangeControlServices, openChangeControl } from './change-requests/open.ts'
import type { Config } from './config.ts'
import { type DeploymentServices, openDeployments } from './deployments/open.ts'
import { type Evidence, openEvidence } from './evidence/open.ts'
import { openExports } from './export/open.ts'
import { errorFacts } from './http/error-facts.ts'
import { openIdempotency } from './idempotency/open.ts'
import type { IdempotencyService } from './idempotency/service.ts'
import { type ModelServices, openModels } from './import/open.ts'
import { type OutcomeServices, openOutcomes } from './outcomes/open.ts'
import { InvalidatedCaches, type InvalidationFeed } from './platform/caches/invalidation.ts'
import { openFeed } from './platform/caches/open-invalidation.ts'
import { type Clock, systemClock } from './platform/clock.ts'
import { closedWithin, once } from './platform/closing.ts'
import { type DataDir, openDataDir } from './platform/data-dir/data-dir.ts'
import type { DatabaseHandle } from './platform/db/client.ts'
import { DATABASE_DEADLINE_MS, guardStore } from './platform/db/guard.ts'
import { awayTooLong, DatabaseHealth } from './platform/db/health.ts'
import { openDatabase } from './platform/db/open.ts'
import { openRedisSite } from './platform/redis-cluster/site.ts'
import type { Limiter } from './rate-limit/limiter.ts'
import { openLimiter } from './rate-limit/open.ts'
import { openReading, type ReadingServices } from './reading/open.ts'
import { openReportServices, type ReportServices } from './reports/services.ts'
import type { Drain } from './score-log/drain/drain.ts'
import { type OpenScoreLog, openScoreLog } from './score-log/open.ts'
import { openLogReader } from './score-log/reading/open-reader.ts'
import type { ScoreLog } from './score-log/score-log.ts'
import type { SpoolReader } from './score-log/spool/reader.ts'
import { type BatchThreads, batchThreadsFor } from './scoring/batch-threads/batch-threads.ts'
import { openScoring } from './scoring/open.ts'
import type { ScoringService } from './scoring/service.ts'
import {
  addIdempotencyMetrics,
  addJobMetrics,
  addLimiterMetrics,
  addReplayMetrics,
  addScoreLogMetrics,
  addServiceMetrics,
  addWebhookMetrics,
} from './service-metrics.ts'
import { type AccessServices, openAccess } from './teams/open-access.ts'
import { Telemetry } from './telemetry.ts'

type EvidenceServices = Evidence['services']

/** The domains with all that they need. */
export interface Services
  extends AccessServices,
    DeploymentServices,
    ModelServices,
    ReportServices,
    OutcomeServices,
    ReadingServices,
    ChangeControlServices,
    EvidenceServices {
  readonly exports: ReturnType<typeof openExports>
  readonly scoring: ScoringService
  /** Score large batches beside the thread that answers. */
  readonly batchThreads: BatchThreads
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
  /** Receives each statement that goes to the database. */
  readonly onQuery?: (statement: string) => void
  readonly auditLines?: AuditLines
  /** Whether the caller waits for `ready` itself, and does something else meanwhile. */
  readonly isEarly?: boolean
}

const JWT_SECRET_BYTES = 48
/** Longest wait for work in the background: a later process repeats what was not committed. */
const BACKGROUND_CLOSE_MS = 1_500
/** How long scoring continues from memory while the database is unavailable. */
const UNAVAILABLE_TTL_MS = 4 * 60 * 60 * 1000

/**
 * Opens the stores and wires the domains. `close` closes all of them in reverse order.
 *
 * If one part fails to open, the parts that are already open are closed before this rejects.
 *
 * @throws DataDirInUseError, DatabaseOpenError, EmbeddedClosedError, SpoolOpenError
 */
export async function createServices(config: Config, options: ServiceOptions): Promise<Services> {
  await using opened = new AsyncDisposableStack()
  const clock = options.clock ?? systemClock
  const { log } = options

  const dataDir = options.dataDir ?? (await openDataDir(config.dataDir))
  opened.defer(() => dataDir.close())
  const jwtSecret = config.jwtSecret ?? dataDir.secret('jwt-secret', JWT_SECRET_BYTES)

  const database = await openDatabase({
    url: config.databaseUrl,
    directory: join(dataDir.path, 'postgres'),
    onCrash: options.onCrash,
    ...(options.onQuery && { queryLog: { logQuery: options.onQuery } }),
  })
  opened.defer(() => database.close())

  const redis = openRedisSite(config.redisUrl)
  opened.defer(() => redis?.close())
  const limiter = await openLimiter({ redis, clock, log })
  opened.defer(() => limiter.close())
  const throttle = openThrottle({ redis, clock })
  opened.defer(() => throttle.close())
  const caches = new InvalidatedCaches()
  const changes = openFeed({ redis, listener: caches, log })
  opened.defer(() => changes.close())

  const openedLog = await openScoreLog({
    database,
    directory: join(dataDir.path, 'spool'),
    durability: config.scoreLogDurability,
    spoolBytesMax: Math.floor(config.spoolBytesMax / config.workers),
    spoolKeepMs: config.spoolKeepMs,
    retentionDays: config.scoreLogRetentionDays,
    clock,
    log,
    factsOf: errorFacts,
    ...(options.answerDeadlineMs !== undefined && { answerDeadlineMs: options.answerDeadlineMs }),
    ...(options.logFromMs !== undefined && { fromMs: options.logFromMs }),
  })
  // They close at the same time: each may have to wait for a database that does not answer.
  const writers: { close(): Promise<void> }[] = [openedLog]
  opened.defer(async () => void (await Promise.all(writers.map((writer) => writer.close()))))

  const idempotency = openIdempotency({
    database,
    secret: jwtSecret,
    formerSecret: config.formerJwtSecret,
    bytesMax: config.idempotencyBytesMax,
    clock,
    log,
    factsOf: errorFacts,
  })
  opened.defer(() => idempotency.close())

  const health = new DatabaseHealth(clock)
  opened.defer(() => health.stopProbes())
  const telemetry = new Telemetry({ tracing: config.otel, clock, log })
  opened.defer(() => telemetry.stop())
  const archive = await openArchive(config, {
    database,
    directory: join(dataDir.path, 'archive'),
    clock,
    log,
    factsOf: errorFacts,
    metrics: telemetry.metrics,
  })
  opened.defer(() => closedWithin(BACKGROUND_CLOSE_MS, archive).close())

  const domains = wire(config, withAuditStream(database, options.auditLines ?? null), {
    clock,
    log,
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
  const { auth, outcomeWorker, evaluator } = domains
  const background = [auth, outcomeWorker, evaluator, telemetry.spans, ...domains.background]
  writers.push(domains.keys, domains.serviceAccounts)
  writers.push(...background.map((part) => closedWithin(BACKGROUND_CLOSE_MS, part)))
  addScoreLogMetrics(telemetry.metrics, openedLog)
  addLimiterMetrics(telemetry.metrics, limiter)
  addIdempotencyMetrics(telemetry.metrics, idempotency.service)
  telemetry.readiness.add('spool', () => openedLog.spool.refusal)

  if (options.isEarly !== true) await openedLog.ready
  const { background: _, ...parts } = domains
  const ending = opened.move()
  return {
    ...parts,
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
  readonly clock: Clock
  readonly log: Logger
  readonly jwtSecret: string | Buffer
  readonly throttle: LoginThrottle
  readonly caches: InvalidatedCaches
  readonly changes: InvalidationFeed
  readonly scoreLog: ScoreLog
  readonly openedLog: Pick<OpenScoreLog, 'spool'> & OpenArchive['forReaders']
  readonly health: DatabaseHealth
  readonly telemetry: Telemetry
  readonly dataDir: DataDir
}

/** The domains that use the database. */
type Domains = Omit<
  Services,
  | 'idempotency'
  | 'telemetry'
  | 'jwtSecret'
  | 'formerJwtSecret'
  | 'limiter'
  | 'log'
  | 'clock'
  | 'spool'
  | 'drain'
  | 'ready'
  | 'close'
> & {
  /** Jobs, nightly replays, change requests and webhooks. */
  readonly background: readonly { close(): Promise<void> }[]
}

function wire(config: Config, database: DatabaseHandle, parts: WireOptions): Domains {
  const { clock, log, jwtSecret, throttle, caches, changes } = parts
  const { openedLog, health, telemetry, dataDir } = parts
  const { db, renew, ping } = database
  const ttlMs = config.specCacheTtlMs
  const guarded = <Store extends object>(store: Store) =>
    guardStore(store, { deadlineMs: DATABASE_DEADLINE_MS, onOverdue: renew, health })
  const { scoring, serving, cache, challengerFailures, batchThreads } = openScoring({
    db,
    guarded,
    clock,
    ttlMs,
    unavailableTtlMs: UNAVAILABLE_TTL_MS,
    log: parts.scoreLog,
    onChallengerFailed: (challenger, error) =>
      log.error({ ...challenger, err: errorFacts(error) }, 'a challenger failed'),
    batchThreads: config.batchThreads ?? batchThreadsFor(config.workers),
    onBatchThreadCrash: (error) =>
      log.error({ err: errorFacts(error) }, 'a thread for batches ended'),
  })
  const onChange = (deploymentId: string) => changes.publish('deployment', deploymentId)
  const { deployments, scorecards } = openDeployments({
    db,
    guarded,
    clock,
    requestLifeMs: config.changeRequestLifeMs,
    onChange,
  })
  caches.add('deployment', cache)
  const access = openAccess({
    db,
    guarded,
    clock,
    jwtSecret,
    formerJwtSecret: config.formerJwtSecret,
    signIn: config,
    throttle,
    caches,
    changes,
    ttlMs,
    unavailableTtlMs: UNAVAILABLE_TTL_MS,
  })
  const { auth, keys } = access
  const { metrics, readiness, requests, shedder } = telemetry
  addServiceMetrics(metrics, {
    requests,
    scoring,
    batchThreads,
    challengerFaults: challengerFailures,
    caches: { deployments: cache, keys, users: auth },
    shedder,
    database: health,
  })
  // While the database is away, scoring continues from memory until what is held has expired.
  readiness.add('database', () => awayTooLong(health.awayMs, UNAVAILABLE_TTL_MS))
  health.startProbes(guarded({ ping }).ping)
  const ofModels = openModels({ db, guarded, clock, onChange })
  const { models } = ofModels
  const logReader = openLogReader({ db, guarded, ...openedLog })
  const { reader, models: loggedModels, eraser } = logReader
  const ofLog = { db, guarded, reader, models: loggedModels, clock, archive: openedLog.archive }
  const outcomes = openOutcomes({
    db,
    guarded,
    reader,
    clock,
    directory: join(dataDir.path, 'imports'),
    holdDays: config.outcomeHoldDays,
    log: { failed: (what, error) => log.warn({ err: errorFacts(error) }, `failed: ${what}`) },
  })
  const reading = openReading({ ...ofLog, eraser, others: outcomes.outcomes, log })
  const { scoreReading } = reading
  const evidence = openEvidence({
    db,
    guarded,
    logReader,
    clock,
    reading: scoreReading,
    models,
    definitions: outcomes.outcomeDefinitions,
    batches: { config, path: dataDir.path, serving, loop: shedder.loop },
    jwtSecret,
    formerJwtSecret: config.formerJwtSecret,
    log,
    factsOf: errorFacts,
  })
  addReplayMetrics(metrics, evidence.nightly)
  addJobMetrics(metrics, evidence)
  const reports = openReportServices({
    ...ofLog,
    logReader,
    database,
    deployments,
    scoreReading,
    metrics,
    log,
    factsOf: errorFacts,
  })
  const changeControl = openChangeControl({
    ...ofLog,
    changes: reports.changes,
    database,
    config,
    jwtSecret,
    log,
    factsOf: errorFacts,
    onChange,
    checkpointOf: (teamId) => evidence.services.proofs.checkpoint({ teamId }),
    awayMs: () => health.awayMs,
    spoolRefusal: () => openedLog.spool.refusal,
  })
  addWebhookMetrics(metrics, changeControl.services.webhookParts)
  return {
    ...access,
    ...ofModels,
    exports: openExports(models, reports.services.reasons),
    deployments,
    scorecards,
    scoring,
    batchThreads,
    ...reading,
    ...changeControl.services,
    ...evidence.services,
    background: [evidence, changeControl, reports, batchThreads],
    ...reports.services,
    ...outcomes,
  }
}
