import type { Logger } from 'pino'
import { randomBase62 } from '../base62.ts'
import { type Clock, systemClock } from '../clock.ts'
import type { DatabaseConnections, DatabaseHandle } from '../db/client.ts'
import { guardStore } from '../db/guard.ts'
import type { Carrier } from './carrier.ts'
import { CarrierThread } from './carrier-thread.ts'
import { Drain } from './drain.ts'
import { PostgresLogTables } from './partitions.ts'
import type { Durability } from './score-log.ts'
import { Spool } from './spool.ts'
import { PostgresScoreLogStore } from './store.ts'
import { Upkeep } from './upkeep.ts'

export interface ScoreLogOptions {
  readonly database: DatabaseHandle
  /** Of the spools of all processes. */
  readonly directory: string
  readonly durability: Durability
  readonly spoolBytesMax: number
  readonly retentionDays: number
  readonly clock: Clock
  readonly log: Logger
  /** What may be logged of an error. */
  readonly factsOf: (error: unknown) => object
}

/** Spool, drain and upkeep at work. */
export interface OpenScoreLog {
  readonly spool: Spool
  readonly drain: Drain
  /** Drains what it can; the rest stays in the spool. Call it when no request is in flight. */
  close(): Promise<void>
}

/** Longest time that the end of the process waits for the drain. */
const DRAIN_CLOSE_MS = 2_000
/** One for the drain, one for upkeep. */
const CONNECTIONS = 2
/** Longest time that a batch may take; then its connection counts as dead. */
const DRAIN_DEADLINE_MS = 10_000
/** Of a round of upkeep, which no request waits for. */
const UPKEEP_DEADLINE_MS = 60_000
const WRITER_CHARS = 10
/** Records gather for a fifth of a second: stats are that much behind, and a busy log saves transactions. */
const GATHER_MS = 200
const DRAIN_BATCH = { batchRecordsMax: 1_000, batchBytesMax: 4 * 1024 * 1024 }

/**
 * Opens the spool, makes sure that there are partitions, and drains what is left of processes before.
 *
 * @throws SpoolOpenError
 */
export async function openScoreLog(options: ScoreLogOptions): Promise<OpenScoreLog> {
  const spool = await openSpool(options)
  const connections = options.database.apart(CONNECTIONS)
  const upkeep = makeUpkeep(options, connections)
  const carrier = makeCarrier(options, connections.renew)
  const drain = makeDrain(options, { connections, spool, carrier })
  // Before the first record comes: there must be a partition for it.
  await upkeep.start()
  drain.start()
  return {
    spool,
    drain,
    close: async () => {
      await drain.close(DRAIN_CLOSE_MS)
      await spool.close()
      // At once: each may have to wait for a database that is silent.
      await Promise.all([carrier?.close(), upkeep.close(), connections.close()])
    },
  }
}

/** The name of a process's directory sorts by its start. */
function openSpool(options: ScoreLogOptions): Promise<Spool> {
  const { directory, durability, spoolBytesMax, clock, log } = options
  return Spool.open({
    directory,
    name: `${String(systemClock.epochMs()).padStart(15, '0')}-${process.pid}`,
    durability,
    bytesMax: spoolBytesMax,
    clock,
    warn: (facts, text) => log.warn(facts, text),
  })
}

/** For rollup rows that nobody else writes: neither another replica nor the other thread of this one. */
function newWriter(): string {
  return randomBase62(WRITER_CHARS)
}

/** The embedded database has a thread of its own already, and takes one caller. */
function makeCarrier(
  { database: { url }, log, factsOf }: ScoreLogOptions,
  onSilent: () => void,
): Carrier | null {
  if (url === null) return null
  return new CarrierThread({
    ...{ databaseUrl: url, writer: newWriter() },
    onCrash: (error) =>
      log.error({ err: factsOf(error) }, 'the thread that drains the score log has ended'),
    onSilent,
  })
}

interface DrainParts {
  readonly connections: DatabaseConnections
  readonly spool: Spool
  readonly carrier: Carrier | null
}

function makeDrain(
  { durability, clock, log, factsOf }: ScoreLogOptions,
  { connections: { db, renew }, spool, carrier }: DrainParts,
): Drain {
  const store = new PostgresScoreLogStore(db, newWriter())
  return new Drain({
    spool,
    carrier,
    store: guardStore(store, { deadlineMs: DRAIN_DEADLINE_MS, onOverdue: renew }),
    clock,
    log: {
      failing: (facts, error) =>
        log.error({ ...facts, err: factsOf(error) }, 'the score log can not be drained'),
      recovered: (facts) => log.info(facts, 'the score log is drained again'),
      setAside: (facts) => log.error(facts, 'a record of the score log was set aside'),
    },
    gatherMs: durability === 'database' ? 0 : GATHER_MS,
    ...DRAIN_BATCH,
  })
}

function makeUpkeep(
  { database, retentionDays, clock, log, factsOf }: ScoreLogOptions,
  { db, renew }: DatabaseConnections,
): Upkeep {
  const tables = new PostgresLogTables(db)
  return new Upkeep({
    tables: guardStore(tables, { deadlineMs: UPKEEP_DEADLINE_MS, onOverdue: renew }),
    clock,
    retentionDays,
    hasAutovacuum: database.hasAutovacuum,
    log: {
      dropped: (partitions) => log.info({ partitions }, 'partitions beyond the retention dropped'),
      stray: (rows) => log.warn({ rows }, 'rows of the score log have no partition of their day'),
      failed: (error) =>
        log.error({ err: factsOf(error) }, 'upkeep of the score log failed, will try again'),
    },
  })
}
