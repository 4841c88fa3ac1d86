/**
 * Whether the service stays as it was: mixed traffic for 20 minutes, with memory, event loop, spool
 * and latency of each minute. Singles, batches of 100, statistics, refused keys; each second
 * something of management: sign in, deploy, make a key, use it and revoke it.
 *
 *   npm run bench -- soak [--minutes 20] [--workers 2] [--clients 8]
 *
 * Needs the programs of PostgreSQL and Redis, of which it starts its own.
 */
import { setTimeout } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { sampleApplicants, sampleSpec } from '../../test/support/cards/cards.ts'
import {
  type LoadRequest,
  type Outcome,
  startClients,
} from '../../test/support/load/load-clients.ts'
import { percentile } from '../../test/support/load/percentile.ts'
import { startPostgres, startRedis } from '../lib/backends.ts'
import { done, Fleet, sampleRequest } from '../lib/fleet.ts'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '20' },
    workers: { type: 'string', default: '2' },
    clients: { type: 'string', default: '8' },
  },
})
const MINUTE_MS = 60_000
const BATCH_RECORDS = 100
const BATCH_CLIENTS = 2
const PACE = {
  single: { pauseMs: 20, refusedPauseMs: 20 },
  batch: { pauseMs: 200, refusedPauseMs: 200 },
  refused: { pauseMs: 100, refusedPauseMs: 100 },
} as const
const MANAGE_EVERY_MS = 1_000
const MIB = 2 ** 20

type Load = keyof typeof PACE

/** Outcomes since the last look. */
const seen: Record<Load, Outcome[]> = { single: [], batch: [], refused: [] }
let managed = 0

/** All values of a metric, of all processes. */
function readValues(text: string, name: string): number[] {
  return [...text.matchAll(new RegExp(`^${name}(?:\\{.*\\})? (\\S+)$`, 'gm'))].map(([, value]) =>
    Number(value),
  )
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0)

/** Counts of event loop delays by their bound, of all workers. */
function delayCounts(text: string): Map<number, number> {
  const counts = new Map<number, number>()
  const lines = text.matchAll(
    /^nodejs_event_loop_delay_seconds_bucket\{(?:.*,)?le="([^"]+)".*\} (\d+)$/gm,
  )
  for (const [, le = '', count] of lines) {
    const bound = le === '+Inf' ? Infinity : Number(le)
    counts.set(bound, (counts.get(bound) ?? 0) + Number(count))
  }
  return counts
}

/** Smallest bound below which a share of the delays since the last look lie, in milliseconds. */
function delayMs(before: Map<number, number>, after: Map<number, number>, share: number): number {
  const since = [...after].map(
    ([bound, count]) => [bound, count - (before.get(bound) ?? 0)] as const,
  )
  const total = since.at(-1)?.[1] ?? 0
  return 1_000 * (since.find(([, count]) => count >= share * total)?.[0] ?? Number.NaN)
}

async function manage(url: string, fleet: Fleet, loadRequest: LoadRequest): Promise<void> {
  const token = await fleet.signIn(url)
  const order = { spec: sampleSpec(), environment: 'production', auto_deploy: true }
  const { key, id } = await done(`${url}/v1/keys`, token, { name: `soak ${managed}` })
  await done(loadRequest.url, String(key), JSON.parse(loadRequest.body) as object)
  const headers = { authorization: `Bearer ${token}` }
  const revoked = await fetch(`${url}/v1/keys/${id}`, { method: 'DELETE', headers })
  const stats = new URL(loadRequest.url).pathname.replace('/v1/score/', '/v1/deployments/')
  const read = await fetch(`${url}${stats}/stats`, { headers })
  await read.arrayBuffer()
  if (revoked.status !== 204 || read.status !== 200) throw new Error('management failed')
  // The lists of models grow by one a minute.
  if (managed % 60 === 0) await done(`${url}/v1/models/deploy`, token, order)
  managed++
}

async function soak(fleet: Fleet): Promise<Record<string, unknown>[]> {
  const url = fleet.formatUrl(0)
  const single = await sampleRequest(url, await fleet.signIn())
  const applicants = sampleApplicants()
  const records = Array.from({ length: BATCH_RECORDS }, (_, index) => ({
    ...applicants[index % applicants.length]?.applicant,
    id: index,
  }))
  const batch = { ...single, url: `${single.url}/batch`, body: JSON.stringify({ records }) }
  const refused = { ...single, token: `${single.token}x` }
  const noteFor = (load: Load) => (outcome: Outcome) => void seen[load].push(outcome)
  const stops = [
    await startClients(Number(values.clients), single, noteFor('single'), PACE.single),
    await startClients(BATCH_CLIENTS, batch, noteFor('batch'), PACE.batch),
    await startClients(1, refused, noteFor('refused'), PACE.refused),
  ]
  let isOn = true
  let fault: unknown = null
  const managing = (async () => {
    while (isOn && fault === null) {
      await manage(url, fleet, single).catch((error: unknown) => {
        fault = error
      })
      await setTimeout(MANAGE_EVERY_MS)
    }
  })()

  const rows: Record<string, unknown>[] = []
  let delays = delayCounts(await (await fetch(`${url}/metrics`)).text())
  const startedAtMs = performance.now()
  for (let minute = 1; minute <= Number(values.minutes); minute++) {
    await setTimeout(startedAtMs + minute * MINUTE_MS - performance.now())
    const text = await (await fetch(`${url}/metrics`)).text()
    const now = delayCounts(text)
    const took = (load: Load, share: number) =>
      Number(
        percentile(
          seen[load].map(({ tookMs }) => tookMs),
          share,
        ).toFixed(1),
      )
    const wrong = (load: Load, status: number) =>
      seen[load].filter((outcome) => outcome.status !== status).length
    const row = {
      minute,
      singles: seen.single.length,
      'p50 ms': took('single', 0.5),
      'p99 ms': took('single', 0.99),
      batches: seen.batch.length,
      'batch p99 ms': took('batch', 0.99),
      failed: wrong('single', 200) + wrong('batch', 200) + wrong('refused', 401),
      'resident MiB': Math.round(
        sum(readValues(text, 'process_memory_bytes\\{part="resident".*\\}')) / MIB,
      ),
      'heap MiB': Math.round(
        sum(readValues(text, 'process_memory_bytes\\{part="heap_used".*\\}')) / MIB,
      ),
      'loop p50 ms': delayMs(delays, now, 0.5),
      'loop p99 ms': delayMs(delays, now, 0.99),
      'spool KiB': Math.round(sum(readValues(text, 'scoreline_spool_bytes')) / 1024),
      'spool records': sum(readValues(text, 'scoreline_spool_records')),
      'lag s': Math.max(...readValues(text, 'scoreline_drain_lag_seconds')),
    }
    rows.push(row)
    console.log(JSON.stringify(row))
    delays = now
    for (const outcomes of Object.values(seen)) outcomes.length = 0
    if (fault !== null) throw fault
  }
  isOn = false
  await Promise.all([...stops.map((stop) => stop()), managing])
  return rows
}

const database = await startPostgres()
const redis = await startRedis()
try {
  const servers = { serverUrl: database.url, redisUrl: redis.url }
  const fleet = await Fleet.start({ replicas: 1, ...servers, env: { WORKERS: values.workers } })
  try {
    const rows = await soak(fleet)
    console.log(
      `Node ${process.version}, ${values.workers} workers, ${managed} rounds of management`,
    )
    console.table([...new Set([...rows.slice(0, 2), ...rows.slice(-2)])])
  } finally {
    await fleet.remove()
  }
} finally {
  await redis.remove()
  await database.drop()
}
