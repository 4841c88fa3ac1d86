import type { Logger } from 'pino'
import { type Clock, systemClock } from '../platform/clock.ts'
import type { DatabaseConnections, DatabaseHandle } from '../platform/db/client.ts'
import { ClockError, DatabaseClock } from '../platform/db/database-clock.ts'
import { DATABASE_DEADLINE_MS, guardStore } from '../platform/db/guard.ts'
import { randomBase62 } from '../platform/ids/base62.ts'
import { PostgresBlockTables } from './blocks/upkeep/block-tables.ts'
import { BlockUpkeep } from './blocks/upkeep/block-upkeep.ts'
import { Drain } from './drain/drain.ts'
import { DrainThread } from './drain/drain-thread.ts'
import type { RangeDrainer } from './drain/drained-range.ts'
import { PostgresScoreLogStore } from './drain/store.ts'
import { modelsOf } from './reading/model-text-store.ts'
import type { ModelSource } from './record/model-source.ts'
import { PartitionMaintenance } from './retention/partition-maintenance.ts'
import { PostgresLogTables } from './retention/partitions.ts'
import type { Durability } from './score-log.ts'
import { Spool } from './spool/spool.ts'

export interface ScoreLogOptions {
  readonly database: DatabaseHandle
  /** Directory of the spools of all processes. */
  readonly directory: string
  readonly durability: Durability
  readonly spoolBytesMax: number
  /** How long drained records stay in the spool. */
  readonly spoolKeepMs: number
  /** Longest wait of a response, see `SpoolOptions`. */
  readonly answerDeadlineMs?: number
  readonly retentionDays: number
  /** Time of the oldest records that will be written; by default they are of today. */
  readonly fromMs?: number
  readonly clock: Clock
  readonly log: Logger
  /** The facts of an error that may appear in the service's log. */
  readonly factsOf: (error: unknown) => object
}

/** Running spool, drain and partition maintenance. */
export interface OpenScoreLog {
  readonly spool: Spool
  readonly drain: Drain
  /** Resolves when records can be written: there are partitions for them. Never rejects. */
  readonly ready: Promise<void>
  /** Rounds that failed and are tried again, since the start. */
  readonly upkeepFailures: () => { readonly blocks: number; readonly partitions: number }
  /** Drains what it can; the rest stays in the spool. Call it when no request is in flight. */
  close(): Promise<void>
}

/** Longest time that the end of the process waits for the drain. */
const DRAIN_CLOSE_MS = 2_000
/** One for the drain, one for maintenance. */
const CONNECTIONS = 2
/** Longest time of a round of maintenance, which no request waits for. */
const MAINTENANCE_DEADLINE_MS = 60_000
const WRITER_CHARS = 10
/** Records gather for 0.2 s. Statistics lag by that time, and a busy log saves transactions. */
const GATHER_MS = 200
const DRAIN_BATCH = { batchRecordsMax: 1_000, batchBytesMax: 4 * 1024 * 1024 }

/**
 * Opens the spool, creates missing partitions, and drains what ended processes have left. The last
 * two go on while the caller opens other parts, until `ready`.
 *
 * @throws SpoolOpenError
 */
export async function openScoreLog(options: ScoreLogOptions): Promise<OpenScoreLog> {
  await using opened = new AsyncDisposableStack()
  const spool = await openSpool(options)
  opened.defer(() => spool.close())
  const connections = options.database.apart(CONNECTIONS)
  opened.defer(() => connections.close())
  const models = modelsOf(connections.db)
  const maintenance = makePartitionMaintenance(options, connections)
  opened.defer(() => maintenance.close())
  const upkeep = makeBlockUpkeep(options, connections, models)
  opened.defer(() => upkeep.close())
  const thread = makeDrainThread(options, connections.renew)
  opened.defer(async () => thread?.close())
  const drain = makeDrain(options, { connections, models, spool, thread })
  // The first record needs a partition.
  const ready = maintenance.start().then(() => {
    drain.start()
    upkeep.start()
  })
  opened.move()
  return {
    spool,
    drain,
    ready,
    upkeepFailures: () => ({ blocks: upkeep.failures, partitions: maintenance.failures }),
    close: async () => {
      await ready
      await drain.close(DRAIN_CLOSE_MS)
      await spool.close()
      // In parallel: each can have to wait for a database that does not respond.
      const upkeeps = [maintenance.close(), upkeep.close()]
      await Promise.all([thread?.close(), ...upkeeps, connections.close()])
    },
  }
}

/** The name of a process's directory sorts by its start. */
function openSpool(options: ScoreLogOptions): Promise<Spool> {
  const { directory, durability, spoolBytesMax, spoolKeepMs, clock, log, factsOf } = options
  const { answerDeadlineMs } = options
  return Spool.open({
    directory,
    name: `${String(systemClock.epochMs()).padStart(15, '0')}-${process.pid}`,
    durability,
    bytesMax: spoolBytesMax,
    keepMs: spoolKeepMs,
    ...(answerDeadlineMs !== undefined && { answerDeadlineMs }),
    clock,
    warn: (facts, text) => log.warn(facts, text),
    onThrown: (error) => log.error({ err: factsOf(error) }, 'an answer could not be given'),
  })
}

/** Names rollup rows with one writer: no other replica, and no other thread of this one. */
function newWriter(): string {
  return randomBase62(WRITER_CHARS)
}

/** Null for the embedded database, which has its own thread and takes one caller. */
function makeDrainThread(
  { database: { url }, durability, log, factsOf }: ScoreLogOptions,
  onSilent: () => void,
): RangeDrainer | null {
  if (url === null) return null
  return new DrainThread({
    databaseUrl: url,
    writer: newWriter(),
    isAwaited: durability === 'database',
    onCrash: (error) =>
      log.error({ err: factsOf(error) }, 'the thread that drains the score log has ended'),
    onSilent,
  })
}

interface DrainParts {
  readonly connections: DatabaseConnections
  readonly models: ModelSource
  readonly spool: Spool
  readonly thread: RangeDrainer | null
}

function makeDrain(
  { durability, clock, log, factsOf }: ScoreLogOptions,
  { connections: { db, renew }, models, spool, thread }: DrainParts,
): Drain {
  const store = new PostgresScoreLogStore(db, newWriter(), models)
  return new Drain({
    spool,
    thread,
    store: guardStore(store, { deadlineMs: DATABASE_DEADLINE_MS, onOverdue: renew }),
    clock,
    log: {
      failing: (facts, error) =>
        log.error({ ...facts, err: factsOf(error) }, "the score log can't be drained"),
      recovered: (facts) => log.info(facts, 'the score log is drained again'),
      quarantine: (facts) => log.error(facts, 'a record of the score log was set aside'),
    },
    gatherMs: durability === 'database' ? 0 : GATHER_MS,
    ...DRAIN_BATCH,
  })
}

function makeBlockUpkeep(
  { clock, log, factsOf }: ScoreLogOptions,
  { db, renew }: DatabaseConnections,
  models: ModelSource,
): BlockUpkeep {
  const tables = new PostgresBlockTables(db, models)
  return new BlockUpkeep({
    tables: guardStore(tables, { deadlineMs: MAINTENANCE_DEADLINE_MS, onOverdue: renew }),
    clock,
    onFailed: (error) =>
      log.error(
        { err: factsOf(error) },
        'upkeep of the blocks of the score log failed and will be tried again',
      ),
  })
}

function makePartitionMaintenance(
  { database, retentionDays, fromMs, clock, log, factsOf }: ScoreLogOptions,
  { db, renew }: DatabaseConnections,
): PartitionMaintenance {
  const tables = new PostgresLogTables(db)
  return new PartitionMaintenance({
    tables: guardStore(tables, { deadlineMs: MAINTENANCE_DEADLINE_MS, onOverdue: renew }),
    clock,
    sharedClock: guardStore(new DatabaseClock(db, clock), {
      deadlineMs: MAINTENANCE_DEADLINE_MS,
      onOverdue: renew,
    }),
    retentionDays,
    ...(fromMs !== undefined && { fromMs }),
    hasAutovacuum: database.hasAutovacuum,
    log: {
      dropped: (partitions) => log.info({ partitions }, 'partitions beyond the retention dropped'),
      stray: (rows) => log.warn({ rows }, 'rows of the score log have no partition of their day'),
      failed: (error) =>
        log.error(
          { ...(error instanceof ClockError && { reason: error.message }), err: factsOf(error) },
          'maintenance of the score log failed and will be tried again',
        ),
    },
  })
}
