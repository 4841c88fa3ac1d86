/**
 * What the tree of the score log costs the drain, for each score: batches of records are turned
 * into blocks and stored, with the trees of their team and without, in turn.
 *
 *   npm run bench -- proof [--scores 100000] [--rounds 5]
 *
 * *In process*: the columns of a block, and beside them the leaves and roots. *Stored*: the same in
 * the transaction of the drain, on a server of PostgreSQL of its own, whose programs it needs.
 */
import { parseArgs } from 'node:util'
import { sql } from 'drizzle-orm'
import { BlockEncoder } from '../../src/log/blocks/block-encoder.ts'
import { makeInsert } from '../../src/log/blocks/block-rows.ts'
import { encodeByHour } from '../../src/log/blocks/encode-blocks.ts'
import { insertBlocks } from '../../src/log/drain/store.ts'
import { writeDrainedSources } from '../../src/log/proof/block-sources.ts'
import { LogTables } from '../../src/log/retention/partitions.ts'
import { type Database, queryRows } from '../../src/platform/db/client.ts'
import { openDatabase } from '../../src/platform/db/open.ts'
import { testModel } from '../../test/support/score-log/record-payloads.ts'
import { readTrees } from '../../test/support/score-log/trees.ts'
import type { PostgresServer } from '../../test/support/servers/postgres-server.ts'
import { startPostgres } from '../lib/backends.ts'
import { CARD, makeSpec } from '../lib/card.ts'
import { batchRecord, randomApplicants, ScoreRecords } from '../lib/logged-scores.ts'
import { processesCpuMs } from '../lib/processor-time.ts'
import { type Measured, type Round, type Series, storeResult } from '../lib/results.ts'

const { values } = parseArgs({
  options: {
    scores: { type: 'string', default: '100000' },
    rounds: { type: 'string', default: '5' },
  },
})
const SCORES = Number(values.scores)
const ROUNDS = Number(values.rounds)
const BATCH_APPLICANTS = 100
const HOUR_MS = 3_600_000
const APPLICANTS = randomApplicants(CARD, 20_000)
const MODEL = testModel(makeSpec(CARD), 'mod_0VbcS4T982wOdiA3oiOZvU')
const MODELS = new Map([[MODEL.modelId, MODEL.model]])

/** Scores of a drained batch: a quarter of a second at 200 and at 4,000 a second. */
const SHAPES = [
  { name: 'singles, 50 a block', isBatch: false, scores: 50 },
  { name: 'singles, 1000 a block', isBatch: false, scores: 1_000 },
  { name: 'batches, 1000 a block', isBatch: true, scores: 1_000 },
] as const
type Shape = (typeof SHAPES)[number]

const KINDS = ['without trees', 'with trees'] as const
type Kind = (typeof KINDS)[number]

/** The hour before the last one, which is over. */
const START_MS = Math.floor(Date.now() / HOUR_MS) * HOUR_MS - 2 * HOUR_MS

function readBatches({ isBatch, scores }: Shape): Buffer[][] {
  const records = new ScoreRecords(MODEL, APPLICANTS)
  const perRequest = isBatch ? BATCH_APPLICANTS : 1
  const requests = scores / perRequest
  return Array.from({ length: Math.ceil(SCORES / scores) }, (_, batch) =>
    Array.from({ length: requests }, (__, request) => {
      const number = batch * requests + request
      const atMs = START_MS + (number % HOUR_MS)
      if (!isBatch) return records.single(atMs).payload
      const from = (number * BATCH_APPLICANTS) % APPLICANTS.length
      return batchRecord(MODEL, APPLICANTS.slice(from, from + BATCH_APPLICANTS), atMs)
    }),
  )
}

function readBlock(payloads: readonly Buffer[]) {
  const encoder = new BlockEncoder(MODELS)
  for (const payload of payloads) encoder.add(payload)
  const block = encoder.encode()
  if (block === null) throw new Error('the batch is empty')
  return block
}

/** Processor time of this process for each score, in microseconds. */
async function spentUs(scores: number, work: () => unknown): Promise<number> {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / scores
}

async function inProcess(batches: readonly Buffer[][], scores: number): Promise<Round[]> {
  const columns = await spentUs(scores, () => {
    for (const payloads of batches) readBlock(payloads)
  })
  const trees = await spentUs(scores, () => {
    for (const payloads of batches) readTrees(payloads)
  })
  return [{ cpuUs: columns }, { cpuUs: columns + trees }]
}

async function storeBatch(db: Database, payloads: readonly Buffer[], kind: Kind): Promise<void> {
  if (kind === 'with trees') {
    const blocks = encodeByHour(payloads, MODELS)
    await db.transaction((tx) => insertBlocks(tx, blocks))
    return
  }
  const block = readBlock(payloads)
  await db.transaction(async (tx) => {
    await tx.execute(makeInsert(block, { isSummed: false, sources: writeDrainedSources([]) }))
  })
}

const readWal = async (db: Database) => {
  const [row] = await queryRows<{ wal: number }>(
    db,
    sql`select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 as wal`,
  )
  return row?.wal ?? 0
}

async function stored(
  { db, server }: { readonly db: Database; readonly server: PostgresServer },
  batches: readonly Buffer[][],
  { scores, kind }: { readonly scores: number; readonly kind: Kind },
): Promise<Round> {
  await db.execute(sql`truncate score_blocks, score_sums`)
  const walBefore = await readWal(db)
  const postgresBeforeMs = processesCpuMs(server.processId)
  const startedMs = performance.now()
  const cpuUs = await spentUs(scores, async () => {
    for (const payloads of batches) await storeBatch(db, payloads, kind)
  })
  const tookMs = performance.now() - startedMs
  return {
    cpuUs,
    postgresUs: (1_000 * (processesCpuMs(server.processId) - postgresBeforeMs)) / scores,
    tookUs: (1_000 * tookMs) / scores,
    walBytes: ((await readWal(db)) - walBefore) / scores,
  }
}

const server = await startPostgres()
const handle = await openDatabase({
  url: server.url,
  directory: '',
  onCrash: (error) => {
    throw error
  },
})
const series: Series[] = []
try {
  await new LogTables(handle.db).makePartitions([START_MS - (START_MS % (24 * HOUR_MS))])
  for (const shape of SHAPES) {
    const batches = readBatches(shape)
    const scores = batches.length * shape.scores
    const [inMemory, database] = [0, 1].map(() => KINDS.map((): Round[] => []))
    for (let round = -1; round < ROUNDS; round++) {
      const rounds = await inProcess(batches, scores)
      for (const [place, kind] of KINDS.entries()) {
        const found = await stored({ db: handle.db, server }, batches, { scores, kind })
        // The first round warms up.
        if (round < 0) continue
        inMemory?.[place]?.push(rounds[place] ?? {})
        database?.[place]?.push(found)
      }
    }
    const measured = (all: readonly Round[][] | undefined): Measured[] =>
      KINDS.map((name, place) => ({ name, rounds: all?.[place] ?? [] }))
    series.push({ name: `${shape.name}, in process`, measured: measured(inMemory) })
    series.push({ name: `${shape.name}, stored`, measured: measured(database) })
  }
} finally {
  await handle.close()
  await server.drop()
}
for (const { name, measured } of series) {
  console.log(`\n${name}, for each score`)
  for (const one of measured) {
    const figures = Object.keys(one.rounds[0] ?? {}).map((figure) => {
      const all = one.rounds.map((round) => round[figure] ?? 0).sort((a, b) => a - b)
      const [least, median, most] = [0, Math.floor(all.length / 2), all.length - 1].map((place) =>
        (all[place] ?? 0).toFixed(2),
      )
      return `${figure} ${median} (${least} to ${most})`
    })
    console.log(`  ${one.name.padEnd(14)} ${figures.join('   ')}`)
  }
}
storeResult('proof', { card: CARD, batchApplicants: BATCH_APPLICANTS, scores: SCORES }, series)
