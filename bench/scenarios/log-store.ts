/**
 * What the score log takes: bytes of a score on the disk of PostgreSQL with indexes, in its
 * write-ahead log and in the spool, and the processor time of PostgreSQL and of the drain's thread.
 *
 * *Stored*: requests are stored as the drain stores them at a rate, a block for each batch, then
 * rolled up and merged as once their hour is over. An hour at a low rate need not be waited
 * for. *Live*: the service under a load of that rate.
 *
 *   npm run bench -- log-store [--scores 20000] [--rounds 1] [--seconds 15]
 *
 * Needs the programs of PostgreSQL and Redis, of which it starts its own.
 */
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import autocannon from 'autocannon'
import { sql } from 'drizzle-orm'
import { BlockTables } from '../../src/log/blocks/upkeep/block-tables.ts'
import { ScoreLogStore } from '../../src/log/drain/store.ts'
import type { ModelSource } from '../../src/log/record/model-source.ts'
import { readRecordV4 } from '../../src/log/record/record-v4.ts'
import { LogTables } from '../../src/log/retention/partitions.ts'
import { type Database, queryRows } from '../../src/platform/db/client.ts'
import { openDatabase } from '../../src/platform/db/open.ts'
import { testModel } from '../../test/support/score-log/record-payloads.ts'
import type { PostgresServer } from '../../test/support/servers/postgres-server.ts'
import type { RedisServer } from '../../test/support/servers/redis-server.ts'
import { startPostgres, startRedis } from '../lib/backends.ts'
import { CARD, makeSpec } from '../lib/card.ts'
import { done, Fleet } from '../lib/fleet.ts'
import { batchRecord, randomApplicants, ScoreRecords } from '../lib/logged-scores.ts'
import { processesCpuMs, threadsCpuMs } from '../lib/processor-time.ts'
import { type Measured, storeResult } from '../lib/results.ts'

const { values } = parseArgs({
  options: {
    scores: { type: 'string', default: '20000' },
    rounds: { type: 'string', default: '1' },
    seconds: { type: 'string', default: '15' },
  },
})
const SCORES = Number(values.scores)
const RATES = [1, 50, 1_000]
const BATCH_APPLICANTS = 100
/** Records gather for 0.2 s, and the drain rests after a batch. */
const DRAIN_SEC = 0.25
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const DRAIN_MS_MAX = 60_000
/** As many as a merged block has, and more: repeated ones would compress better than real ones. */
const APPLICANTS = randomApplicants(CARD, 20_000)
const MODEL = testModel(makeSpec(CARD), 'mod_0VbcS4T982wOdiA3oiOZvU')
const SOURCE: ModelSource = { compiled: async () => new Map([[MODEL.modelId, MODEL.model]]) }

type Kind = 'singles' | 'batches'
type Figures = Record<string, number>

interface Sizes {
  readonly disk: number
  readonly wal: number
  readonly blocks: number
}

async function computeSizes(db: Database): Promise<Sizes> {
  const [row] = await queryRows<Sizes>(
    db,
    sql`select (select coalesce(sum(pg_total_relation_size(inhrelid)), 0) from pg_inherits
          where inhparent = 'score_blocks'::regclass)::float8
          + pg_total_relation_size('score_sums')::float8 as disk,
        pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 as wal,
        (select count(*) from score_blocks where superseded_at is null)::float8 as blocks`,
  )
  return row ?? { disk: 0, wal: 0, blocks: 0 }
}

/** Stores as many scores as the drain would store in its batches at this rate, and merges them. */
async function store(server: PostgresServer, kind: Kind, rate: number): Promise<Figures> {
  const handle = await openDatabase({ url: server.url, directory: '', onCrash: fail })
  const { db } = handle
  await db.execute(sql`truncate score_blocks, score_sums, score_rollups`)
  // The hour before the last one, which is over.
  const startMs = Math.floor(Date.now() / HOUR_MS) * HOUR_MS - 2 * HOUR_MS
  await new LogTables(db).makePartitions([startMs - (startMs % DAY_MS)])
  const before = await computeSizes(db)
  const cpuBeforeMs = processesCpuMs(server.processId)
  const log = new ScoreLogStore(db, SOURCE)
  const perRequest = kind === 'singles' ? 1 : BATCH_APPLICANTS
  const requestsABlock = Math.max(1, Math.round((rate * DRAIN_SEC) / perRequest))
  const requests = Math.min(SCORES / perRequest, (3_600 * rate) / perRequest)
  const stepMs = (1_000 * perRequest) / rate
  const records = new ScoreRecords(MODEL, APPLICANTS)
  let spoolBytes = 0
  for (let at = 0; at < requests; at += requestsABlock) {
    const count = Math.min(requestsABlock, requests - at)
    const batch = Array.from({ length: count }, (_, place) => {
      const atMs = startMs + Math.floor(((at + place) * stepMs) % HOUR_MS)
      const payload =
        kind === 'singles'
          ? records.single(atMs).payload
          : batchRecord(MODEL, listApplicants(at + place), atMs)
      spoolBytes += payload.length + 12
      return readRecordV4(payload)
    })
    await log.append(batch)
  }
  const scores = requests * perRequest
  const drained = await computeSizes(db)
  const cpuDrainedMs = processesCpuMs(server.processId)
  const tables = new BlockTables(db, SOURCE)
  while ((await tables.rollUp()) > 0);
  while ((await tables.merge(Date.now())) > 0);
  const merged = await computeSizes(db)
  const cpuMergedMs = processesCpuMs(server.processId)
  await tables.dropSuperseded(Date.now() + DAY_MS)
  const [rest] = await queryRows<{ disk: number }>(
    db,
    sql`select sum(octet_length(data) + 200)::float8 as disk from score_blocks`,
  )
  // As the next vacuum leaves the day once its rows are rewritten; the room is used again.
  await db.execute(sql`vacuum full score_blocks`)
  await db.execute(sql`vacuum full score_sums`)
  const compact = await computeSizes(db)
  await handle.close()
  return {
    scores,
    blocks: drained.blocks,
    blocksMerged: compact.blocks,
    diskBytes: (drained.disk - before.disk) / scores,
    diskMergedBytes: (compact.disk - before.disk) / scores,
    rowBytes: (rest?.disk ?? 0) / scores,
    walBytes: (drained.wal - before.wal) / scores,
    walWithUpkeepBytes: (merged.wal - before.wal) / scores,
    postgresUs: (1_000 * (cpuDrainedMs - cpuBeforeMs)) / scores,
    postgresWithUpkeepUs: (1_000 * (cpuMergedMs - cpuBeforeMs)) / scores,
    spoolBytes: spoolBytes / requests,
  }
}

function listApplicants(batch: number): typeof APPLICANTS {
  const from = (batch * BATCH_APPLICANTS) % APPLICANTS.length
  return APPLICANTS.slice(from, from + BATCH_APPLICANTS)
}

/** Loads the service at a rate of scores a second, and tells who spent how much. */
async function live(server: PostgresServer, redis: RedisServer, kind: Kind): Promise<Figures> {
  const servers = { serverUrl: server.url, redisUrl: redis.url }
  const fleet = await Fleet.start({ replicas: 1, ...servers })
  try {
    const url = fleet.formatUrl(0)
    const token = await fleet.signIn()
    const order = { spec: makeSpec(CARD), environment: 'production', auto_deploy: true }
    const { deployment } = await done(`${url}/v1/models/deploy`, token, order)
    const { slug } = deployment as { slug: string }
    const { key } = await done(`${url}/v1/keys`, token, { name: 'bench' })
    const perRequest = kind === 'singles' ? 1 : BATCH_APPLICANTS
    const bodies = Array.from({ length: 200 }, (_, batch) => {
      const records = listApplicants(batch).map((one, id) => ({ ...one, id }))
      return JSON.stringify(kind === 'singles' ? APPLICANTS[batch] : { records })
    })
    const send = (duration: number) =>
      autocannon({
        url: `${url}/v1/score/${slug}${kind === 'singles' ? '' : '/batch'}`,
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
        requests: bodies.map((body) => ({ body })),
        connections: 8,
        overallRate: 1_000 / perRequest,
        duration,
      })
    await send(4)
    await drained(url)
    const processId = fleet.replicas[0]?.child.pid ?? 0
    const spoolBefore = spoolBytes(fleet.directory)
    const threads = threadsCpuMs(processId)
    const postgresMs = processesCpuMs(server.processId)
    const { requests } = await send(Number(values.seconds))
    await drained(url)
    const scores = requests.total * perRequest
    const us = (ms: number) => (1_000 * ms) / scores
    const figures: Figures = {
      scores,
      scoresPerSec: scores / Number(values.seconds),
      postgresUs: us(processesCpuMs(server.processId) - postgresMs),
      spoolBytesARequest: (spoolBytes(fleet.directory) - spoolBefore) / requests.total,
    }
    for (const [id, { name, cpuMs }] of threadsCpuMs(processId)) {
      const spentMs = cpuMs - (threads.get(id)?.cpuMs ?? 0)
      const thread = `thread ${name} us`
      if (spentMs > 0) figures[thread] = (figures[thread] ?? 0) + us(spentMs)
    }
    return figures
  } finally {
    await fleet.remove()
  }
}

function spoolBytes(directory: string): number {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.seg'))
    .reduce((sum, name) => sum + statSync(join(directory, name)).size, 0)
}

/** Waits until what was answered is in the database, so that its cost counts. */
async function drained(url: string): Promise<void> {
  const deadlineMs = performance.now() + DRAIN_MS_MAX
  while (performance.now() < deadlineMs) {
    const text = await (await fetch(`${url}/metrics`)).text()
    const left = [...text.matchAll(/^scoreline_spool_records\S* (\d+)$/gm)]
    if (left.length > 0 && left.every(([, count]) => count === '0')) return
    await setTimeout(100)
  }
  throw new Error('the log was not drained')
}

function fail(error: Error): never {
  throw error
}

function rounded(figures: Figures): Figures {
  return Object.fromEntries(
    Object.entries(figures).map(([name, value]) => [name, Number(value.toFixed(2))]),
  )
}

const stored: Measured[] = []
const loaded: Measured[] = []
const server = await startPostgres()
const redis = await startRedis()
try {
  for (const kind of ['singles', 'batches'] as const) {
    for (const rate of RATES) {
      const rounds: Figures[] = []
      for (let round = 0; round < Number(values.rounds); round++) {
        rounds.push(rounded(await store(server, kind, rate)))
      }
      stored.push({ name: `${kind}, ${rate} scores a second`, rounds })
    }
    const rounds: Figures[] = []
    for (let round = 0; round < Number(values.rounds); round++) {
      rounds.push(rounded(await live(server, redis, kind)))
    }
    loaded.push({ name: `${kind}, 1000 scores a second`, rounds })
  }
} finally {
  await redis.remove()
  await server.drop()
}
for (const { name, rounds } of [...stored, ...loaded]) console.log(name, rounds)
storeResult('log-store', { card: CARD, batchApplicants: BATCH_APPLICANTS, drainSec: DRAIN_SEC }, [
  { name: 'stored', measured: stored },
  { name: 'live', measured: loaded },
])
