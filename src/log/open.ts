import type { Logger } from 'pino'
import { type Clock, systemClock } from '../platform/clock.ts'
import type { DatabaseConnections, DatabaseHandle } from '../platform/db/client.ts'
import { ClockError, DatabaseClock } from '../platform/db/database-clock.ts'
import { DATABASE_DEADLINE_MS, guardStore } from '../platform/db/guard.ts'
import { errorFacts } from '../platform/error-facts.ts'
import { LogThrottle } from '../platform/log-throttle.ts'
import type { Periodic } from '../platform/periodic.ts'
import { DamagedBlocks } from './blocks/damaged-block.ts'
import { BlockTables } from './blocks/upkeep/block-tables.ts'
import { BlockUpkeep } from './blocks/upkeep/block-upkeep.ts'
import { Drain } from './drain/drain.ts'
import type { RangeDrainer } from './drain/drain-options.ts'
import { DrainThread } from './drain/drain-thread.ts'
import { ScoreLogStore } from './drain/store.ts'
import { treeFault } from './proof/log-tree.ts'
import { makeModels } from './reading/stored-models.ts'
import type { ModelSource } from './record/model-source.ts'
import { maintainPartitions } from './retention/partition-maintenance.ts'
import { LogTables } from './retention/partitions.ts'
import { ScoreKeyStore } from './score-keys/store.ts'
import type { Durability } from './score-log.ts'
import { Spool } from './spool/spool.ts'

interface ScoreLogOptions {
  readonly database: DatabaseHandle
  /** Directory of the spools of all processes. */
  readonly directory: string
  readonly durability: Durability
  readonly spoolBytesMax: number
  /** Time for which drained records stay in the spool. */
  readonly spoolKeepMs: number
  /** Longest wait of a response, see `SpoolOptions`. */
  readonly answerDeadlineMs?: number
  readonly retentionDays: number
  /** Time of the oldest records that will be written; by default they are of today. */
  readonly fromMs?: number
  readonly clock: Clock
  readonly log: Logger
}

/** Running spool, drain and partition maintenance. */
export interface OpenScoreLog {
  readonly spool: Spool
  readonly drain: Drain
  /** Counts the blocks that this process has found damaged. */
  readonly damaged: DamagedBlocks
  /** Teams whose tree of proofs was found damaged, and not sound again. */
  readonly damagedTrees: Set<string>
  /**
   * Resolves when records can be written: there are partitions for them, and each record of the
   * spool is found. Never rejects.
   */
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
  const models = makeModels(connections.db)
  const maintenance = makePartitionMaintenance(options, connections)
  opened.defer(() => maintenance.close())
  const damaged = new DamagedBlocks(({ damage, message }) => {
    const { blockId: block, firstAtMs, part } = damage
    const facts = { block, firstAt: new Date(firstAtMs).toISOString(), part }
    options.log.error(facts, message)
  })
  const upkeep = makeBlockUpkeep(options, connections, { models, damaged })
  opened.defer(() => upkeep.periodic.close())
  const thread = makeDrainThread(options, connections.renew)
  opened.defer(async () => thread?.close())
  const damagedTrees = new Set<string>()
  const drain = makeDrain(options, { connections, models, spool, thread, damagedTrees })
  // The first record needs a partition.
  const ready = maintenance
    .start(0)
    .runOnce()
    .then(() => {
      upkeep.periodic.start()
      return drain.start()
    })
  opened.move()
  return {
    spool,
    drain,
    damaged,
    damagedTrees,
    ready,
    upkeepFailures: () => ({ blocks: upkeep.failures, partitions: maintenance.failures }),
    close: async () => {
      await ready
      await drain.close(DRAIN_CLOSE_MS)
      await spool.close()
      // In parallel: each can have to wait for a database that does not respond.
      const upkeeps = [maintenance.close(), upkeep.periodic.close()]
      await Promise.all([thread?.close(), ...upkeeps, connections.close()])
    },
  }
}

/** The name of a process's directory sorts by its start. */
function openSpool(options: ScoreLogOptions): Promise<Spool> {
  const { directory, durability, spoolBytesMax, spoolKeepMs, clock, log } = options
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
    fail: (facts, text) => log.error(facts, text),
    onThrown: (error) => log.error({ err: errorFacts(error) }, 'an answer could not be given'),
  })
}

/** Null for the embedded database, which has its own thread and takes one caller. */
function makeDrainThread(
  { database: { url }, durability, log }: ScoreLogOptions,
  onSilent: () => void,
): RangeDrainer | null {
  if (url === null) return null
  return new DrainThread({
    databaseUrl: url,
    isAwaited: durability === 'database',
    onCrash: (error) =>
      log.error({ err: errorFacts(error) }, 'the thread that drains the score log has ended'),
    onSilent,
  })
}

interface DrainParts {
  readonly connections: DatabaseConnections
  readonly models: ModelSource
  readonly spool: Spool
  readonly thread: RangeDrainer | null
  readonly damagedTrees: Set<string>
}

function makeDrain(
  { durability, clock, log }: ScoreLogOptions,
  { connections: { db, renew }, models, spool, thread, damagedTrees }: DrainParts,
): Drain {
  const heldLines = new LogThrottle(clock)
  const store = new ScoreLogStore(db, models)
  return new Drain({
    spool,
    thread,
    store: guardStore(store, { deadlineMs: DATABASE_DEADLINE_MS, renew }),
    clock,
    log: {
      failing: (facts, error) =>
        log.error({ ...facts, err: errorFacts(error) }, "the score log can't be drained"),
      recovered: (facts) => log.info(facts, 'the score log is drained again'),
      held: ({ teamId, records }) => {
        damagedTrees.add(teamId)
        const count = heldLines.hit(teamId)
        const message = `${treeFault(teamId)}: records of the team were set aside`
        if (count > 0) log.error({ teamId, records: records.length, batches: count }, message)
      },
      quarantine: (facts) => log.error(facts, 'a record of the score log was set aside'),
    },
    gatherMs: durability === 'database' ? 0 : GATHER_MS,
    ...DRAIN_BATCH,
  })
}

function makeBlockUpkeep(
  { clock, log }: ScoreLogOptions,
  { db, renew }: DatabaseConnections,
  { models, damaged }: { readonly models: ModelSource; readonly damaged: DamagedBlocks },
): BlockUpkeep {
  const tables = new BlockTables(db, models, damaged)
  return new BlockUpkeep({
    tables: guardStore(tables, { deadlineMs: MAINTENANCE_DEADLINE_MS, renew }),
    clock,
    onFailed: (error) =>
      log.error(
        { err: errorFacts(error) },
        'upkeep of the blocks of the score log failed and will be tried again',
      ),
  })
}

function makePartitionMaintenance(
  { database, retentionDays, fromMs, clock, log }: ScoreLogOptions,
  { db, renew }: DatabaseConnections,
): Periodic {
  const guarded = <Store extends object>(store: Store) =>
    guardStore(store, { deadlineMs: MAINTENANCE_DEADLINE_MS, renew })
  return maintainPartitions({
    tables: guarded(new LogTables(db)),
    keys: guarded(new ScoreKeyStore(db)),
    clock,
    sharedClock: guarded(new DatabaseClock(db, clock)),
    retentionDays,
    ...(fromMs !== undefined && { fromMs }),
    hasAutovacuum: database.hasAutovacuum,
    log: {
      dropped: (partitions) => log.info({ partitions }, 'partitions beyond the retention dropped'),
      stray: (rows) => log.warn({ rows }, 'rows of the score log have no partition of their day'),
      failed: (error) =>
        log.error(
          { ...(error instanceof ClockError && { reason: error.message }), err: errorFacts(error) },
          'maintenance of the score log failed and will be tried again',
        ),
    },
  })
}
