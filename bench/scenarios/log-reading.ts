/**
 * Reading a long score log: `GET /v1/scores/{id}` for the newest minute, yesterday and a month ago,
 * the seconds to count a month of a deployment by bin, and what scoring loses beside 100 readers.
 *
 * The log is filled with real results of real applicants by the drain's own store: the hours of the
 * last 31 days in blocks as large as a merge makes them.
 *
 *   npm run bench -- log-reading [--scores 10000000] [--reads 300] [--seconds 10] [--rounds 3]
 *
 * Needs the programs of PostgreSQL and Redis, of which it starts its own.
 */
import { setTimeout } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import autocannon from 'autocannon'
import { openBlock } from '../../src/log/blocks/block-decoder.ts'
import { BlockReader } from '../../src/log/blocks/block-store.ts'
import type { Database } from '../../src/platform/db/client.ts'
import { openDatabase } from '../../src/platform/db/open.ts'
import { percentile } from '../../test/support/load/percentile.ts'
import { startPostgres, startRedis } from '../lib/backends.ts'
import { CARD, makeSpec } from '../lib/card.ts'
import { Fleet } from '../lib/fleet.ts'
import { type Deployed, deployOnly, type Filled, fillLog } from '../lib/log-fill.ts'
import { randomApplicants } from '../lib/logged-scores.ts'
import { type Measured, storeResult } from '../lib/results.ts'

const { values } = parseArgs({
  options: {
    scores: { type: 'string', default: '10000000' },
    reads: { type: 'string', default: '300' },
    seconds: { type: 'string', default: '10' },
    rounds: { type: 'string', default: '3' },
  },
})
const SCORES = Number(values.scores)
const READS = Number(values.reads)
const HOUR_MS = 3_600_000
const DAYS = 31
const READERS = 100
/** Ids that are kept of each period, for reading them back. */
const IDS_EACH = 1_000
const SPEC = makeSpec(CARD)
/** More than a merged block has: repeated ones would compress better than real ones. */
const APPLICANTS = randomApplicants(CARD, 20_000)

type Ids = Readonly<Record<'newest minute' | 'yesterday' | 'a month ago', string[]>>

/** Spreads the scores evenly over the days up to now, and keeps some ids of each period. */
async function fill(db: Database, deployed: Deployed): Promise<Filled & { readonly ids: Ids }> {
  const ids: Ids = { 'newest minute': [], yesterday: [], 'a month ago': [] }
  const endMs = Date.now()
  const dayMs = 24 * HOUR_MS
  const periods = [
    { name: 'newest minute', fromMs: endMs - 60_000, toMs: endMs },
    { name: 'yesterday', fromMs: endMs - 1.5 * dayMs, toMs: endMs - dayMs },
    { name: 'a month ago', fromMs: endMs - 30 * dayMs, toMs: endMs - 29 * dayMs },
  ] as const
  let at = 0
  const filled = await fillLog(db, deployed, {
    spec: SPEC,
    applicants: APPLICANTS,
    scores: SCORES,
    days: DAYS,
    onScore: (requestId, atMs) => {
      const period = periods.find(({ fromMs, toMs }) => atMs >= fromMs && atMs < toMs)
      if (period !== undefined) {
        const kept = ids[period.name]
        if (kept.length < IDS_EACH) kept.push(requestId)
        else if (at % 97 === 0) kept[at % IDS_EACH] = requestId
      }
      at++
    },
  })
  return { ...filled, ids }
}

/** Reads one score after the other. */
async function read(url: string, key: string, ids: readonly string[]) {
  if (ids.length === 0) throw new Error('a period has no score: --scores must be 50,000 or more')
  const tookMs: number[] = []
  for (let read = 0; read < READS; read++) {
    const id = ids[(read * 7_919) % ids.length] ?? ''
    const beganMs = performance.now()
    const response = await fetch(`${url}/v1/scores/${id}`, {
      headers: { authorization: `Bearer ${key}` },
    })
    const text = await response.text()
    tookMs.push(performance.now() - beganMs)
    if (!response.ok || !text.includes(id)) throw new Error(`${id}: ${response.status} ${text}`)
  }
  return {
    reads: READS,
    p50Ms: percentile(tookMs, 0.5),
    p99Ms: percentile(tookMs, 0.99),
  }
}

/** Counts the scores of a deployment by bin of each feature, from the columns of its blocks. */
async function countByBin(db: Database, deploymentId: string) {
  const beganMs = performance.now()
  const { user, system } = process.cpuUsage()
  const counts: Float64Array[] = []
  let scores = 0
  const query = { deploymentId, fromMs: -Infinity, toMs: Infinity, order: 'oldest' } as const
  for await (const stored of new BlockReader(db).blocksIn(query)) {
    for (const group of openBlock(stored).groups) {
      if (group.deploymentId !== deploymentId) continue
      scores += group.rows
      for (const [feature, cells] of (group.models[0]?.cells ?? []).entries()) {
        counts[feature] ??= new Float64Array(256)
        const ofFeature = counts[feature]
        for (const cell of cells) ofFeature[cell] = (ofFeature[cell] ?? 0) + 1
      }
    }
  }
  const counted = counts[0]?.reduce((sum, count) => sum + count, 0)
  if (counted !== scores) throw new Error('the counts do not add up')
  const cpu = process.cpuUsage()
  return {
    scores,
    seconds: (performance.now() - beganMs) / 1_000,
    cpuSeconds: (cpu.user - user + cpu.system - system) / 1e6,
  }
}

/** Scoring at full load, alone and beside readers that each ask once a second. */
async function beside(url: string, { slug, key }: Deployed, ids: readonly string[]) {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}` }
  const duration = Number(values.seconds)
  const score = async () => {
    const body = JSON.stringify(APPLICANTS[0])
    const target = { url: `${url}/v1/score/${slug}`, method: 'POST' as const, headers, body }
    const result = await autocannon({ ...target, connections: 32, duration })
    if (result.non2xx + result.errors > 0) throw new Error('void: not all were answered')
    return result.requests.total / result.duration
  }
  const alone = await score()
  const requests = ids.map((id) => ({ method: 'GET' as const, path: `/v1/scores/${id}`, headers }))
  const reading = autocannon({
    url,
    connections: READERS,
    overallRate: READERS,
    duration: duration + 1,
    requests,
  })
  const withReaders = await score()
  const { requests: reads, latency, non2xx } = await reading
  if (non2xx > 0) throw new Error('void: not all was read')
  return {
    aloneScoresPerSec: alone,
    besideScoresPerSec: withReaders,
    lossShare: 1 - withReaders / alone,
    readsPerSec: reads.total / (duration + 1),
    readP50Ms: latency.p50,
    readP99Ms: latency.p99,
  }
}

const server = await startPostgres()
const redis = await startRedis()
try {
  const servers = { serverUrl: server.url, redisUrl: redis.url }
  const fleet = await Fleet.start({ replicas: 1, ...servers })
  const onCrash = (error: Error) => {
    throw error
  }
  const handle = await openDatabase({ url: fleet.databaseUrl, directory: '', onCrash })
  try {
    const url = fleet.formatUrl(0)
    const deployed = await deployOnly(url, await fleet.signIn(), handle.db, SPEC)
    const filled = await fill(handle.db, deployed)
    console.log(`${SCORES} scores in ${filled.blocks} blocks, ${filled.seconds.toFixed(0)} s`)
    await setTimeout(1_000)
    const reads: Measured[] = []
    for (const [name, ids] of Object.entries(filled.ids)) {
      const rounds = []
      for (let round = 0; round < Number(values.rounds); round++) {
        rounds.push(await read(url, deployed.key, ids))
      }
      reads.push({ name: `GET /v1/scores/{id}, ${name}`, rounds })
    }
    const counts = []
    for (let round = 0; round < Number(values.rounds); round++) {
      counts.push(await countByBin(handle.db, deployed.deploymentId))
    }
    const ids = Object.values(filled.ids).flat()
    const losses = []
    for (let round = 0; round < Number(values.rounds); round++) {
      losses.push(await beside(url, deployed, ids))
    }
    const series = [
      { name: 'fill', measured: [{ name: 'fill', rounds: [{ seconds: filled.seconds }] }] },
      { name: 'read', measured: reads },
      { name: 'count by bin', measured: [{ name: 'all of a deployment', rounds: counts }] },
      { name: 'beside', measured: [{ name: `${READERS} readers`, rounds: losses }] },
    ]
    for (const { name, rounds } of series.flatMap(({ measured }) => measured)) {
      console.log(name, rounds)
    }
    storeResult('log-reading', { card: CARD, scores: SCORES, blocks: filled.blocks }, series)
  } finally {
    await handle.close()
    await fleet.remove()
  }
} finally {
  await redis.remove()
  await server.drop()
}
