import { join } from 'node:path'
import type { Logger } from 'pino'
import { randomBase62 } from '../base62.ts'
import type { Clock } from '../clock.ts'
import type { DatabaseHandle } from '../db/client.ts'
import { guardStore } from '../db/guard.ts'
import { errorFacts } from '../http/error-facts.ts'
import { Drain } from './drain.ts'
import { PostgresLogTables } from './partitions.ts'
import type { Durability } from './score-log.ts'
import { Spool } from './spool.ts'
import { PostgresScoreLogStore } from './store.ts'
import { Upkeep } from './upkeep.ts'

interface OpenOptions {
  readonly dataDir: string
  readonly database: DatabaseHandle
  readonly durability: Durability
  readonly spoolBytesMax: number
  readonly retentionDays: number
  readonly clock: Clock
  readonly log: Logger
}

/** The score log of a process: what was answered is in the spool, and from there on its way. */
export interface OpenedScoreLog {
  readonly spool: Spool
  readonly drain: Drain
  close(): Promise<void>
}

/** One for the drain, one for upkeep. */
const CONNECTIONS = 2
/** Longest time that the drain waits for the database. */
const DRAIN_DEADLINE_MS = 10_000
/** Longest time that the end of the process waits for the drain; what is left stays in the spool. */
const DRAIN_CLOSE_MS = 2_000
/** Of a round of upkeep, which no request waits for. */
const UPKEEP_DEADLINE_MS = 60_000
const WRITER_CHARS = 10
/** Records gather for a fifth of a second: stats are that much behind, and a busy log saves transactions. */
const GATHER_MS = 200
const DRAIN_BATCH = { batchRecordsMax: 1_000, batchBytesMax: 4 * 1024 * 1024 }

/** Opens the spool, with what a dead process left in it, and begins to drain it. */
export async function openScoreLog(options: OpenOptions): Promise<OpenedScoreLog> {
  const { dataDir, database, durability, spoolBytesMax, clock, log } = options
  const spool = await Spool.open({
    directory: join(dataDir, 'spool'),
    // The name of a process's directory sorts by its start.
    name: `${String(Date.now()).padStart(15, '0')}-${process.pid}`,
    durability,
    bytesMax: spoolBytesMax,
    clock,
    warn: (facts, text) => log.warn(facts, text),
  })
  const connections = database.apart(CONNECTIONS)
  const { db, renew } = connections
  const upkeep = new Upkeep({
    tables: guardStore(new PostgresLogTables(db), {
      deadlineMs: UPKEEP_DEADLINE_MS,
      onOverdue: renew,
    }),
    clock,
    retentionDays: options.retentionDays,
    hasAutovacuum: database.hasAutovacuum,
    log: {
      dropped: (partitions) => log.info({ partitions }, 'partitions beyond the retention dropped'),
      stray: (rows) => log.warn({ rows }, 'rows of the score log have no partition of their day'),
      failed: (error) =>
        log.error({ err: errorFacts(error) }, 'upkeep of the score log failed, will try again'),
    },
  })
  const drain = new Drain({
    spool,
    // Rollup rows are named after the process, so that no two replicas write the same.
    store: guardStore(new PostgresScoreLogStore(db, randomBase62(WRITER_CHARS)), {
      deadlineMs: DRAIN_DEADLINE_MS,
      onOverdue: renew,
    }),
    clock,
    log: {
      failing: (facts, error) =>
        log.error({ ...facts, err: errorFacts(error) }, 'the score log can not be drained'),
      recovered: (facts) => log.info(facts, 'the score log is drained again'),
      setAside: (facts) => log.error(facts, 'a record of the score log was set aside'),
    },
    gatherMs: durability === 'database' ? 0 : GATHER_MS,
    ...DRAIN_BATCH,
  })
  // Before the first record comes: there must be a partition for it.
  await upkeep.start()
  drain.start()
  return {
    spool,
    drain,
    close: async () => {
      await drain.close(DRAIN_CLOSE_MS)
      await spool.close()
      await upkeep.close()
      await connections.close()
    },
  }
}
