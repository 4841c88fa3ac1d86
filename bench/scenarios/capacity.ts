/**
 * What a score and a record of a batch cost, by whom: processor time of the service, PostgreSQL,
 * Redis and the load generator, commands of Redis, bytes of the log; and what another worker
 * brings.
 *
 * The service runs as in production, with quota in Redis and the log drained into PostgreSQL.
 * Variants alternate, each round with fresh processes and servers. The load comes from this process
 * and takes its share of the machine, which is stated: with two processors, two workers can't have
 * both.
 *
 *   npm run bench -- capacity [--rounds 3] [--seconds 10] [--workers 1,2] [--connections 32]
 *
 * Needs the programs of PostgreSQL and Redis, of which it starts its own.
 */
import { availableParallelism } from 'node:os'
import { setTimeout } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import autocannon from 'autocannon'
import { median } from '../../test/support/load/percentile.ts'
import { startPostgres, startRedis } from '../lib/backends.ts'
import { CARD, makeApplicants, makeSpec } from '../lib/card.ts'
import { type Costs, costsSoFar, difference } from '../lib/costs.ts'
import { deployed, Fleet } from '../lib/fleet.ts'
import { NEW_KEY } from '../lib/load.ts'
import { storeResult } from '../lib/results.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '10' },
    workers: { type: 'string', default: '1,2' },
    connections: { type: 'string', default: '32' },
  },
})
const seconds = Number(values.seconds)
const workerCounts = values.workers.split(',').map(Number)
/** Different ones: a log of the same applicant again and again takes next to no room. */
const APPLICANTS = 20_000
const BATCH_RECORDS = 1_000
const BATCH_CONNECTIONS = 4
const WARM_UP_SEC = 4
const DRAIN_MS_MAX = 60_000

/** One round of one load: what was answered, and what it took. */
interface Round {
  readonly requests: number
  readonly tookMs: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly costs: Costs
}

const LOADS = ['single', 'keyed', 'batch'] as const
type LoadName = (typeof LOADS)[number]

/** Requests that take turns. */
interface Load {
  readonly url: string
  readonly token: string
  readonly bodies: readonly string[]
  readonly connections: number
  readonly isKeyed?: boolean
}

function readBodies(load: LoadName): string[] {
  const applicants = makeApplicants(CARD, APPLICANTS)
  if (load !== 'batch') return applicants.map((applicant) => JSON.stringify(applicant))
  return Array.from({ length: APPLICANTS / BATCH_RECORDS }, (_, batch) => {
    const from = batch * BATCH_RECORDS
    const records = applicants
      .slice(from, from + BATCH_RECORDS)
      .map((applicant, index) => ({ ...applicant, id: `record-${index}` }))
    return JSON.stringify({ records })
  })
}

async function send({ url, token, bodies, connections, isKeyed = false }: Load, duration: number) {
  const headers = {
    'content-type': 'application/json',
    authorization: `Bearer ${token}`,
    ...(isKeyed && NEW_KEY),
  }
  let next = 0
  const setupClient = (client: autocannon.Client) => {
    // Each connection has applicants of its own, as far as there are enough.
    const share = Math.ceil(bodies.length / connections)
    const own = Array.from({ length: share }, () => bodies[next++ % bodies.length] ?? '')
    client.setRequests(own.map((body) => ({ method: 'POST', body, headers })))
  }
  const result = await autocannon({
    url,
    connections,
    duration,
    setupClient,
    idReplacement: isKeyed,
  })
  if (result.non2xx > 0 || result.errors > 0) {
    throw new Error(`void: ${result.non2xx} refused, ${result.errors} failed`)
  }
  return result
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

async function playRound(workers: number): Promise<Record<LoadName, Round>> {
  const database = await startPostgres()
  const redis = await startRedis()
  try {
    const servers = { serverUrl: database.url, redisUrl: redis.url }
    const fleet = await Fleet.start({ replicas: 1, ...servers, env: { WORKERS: `${workers}` } })
    try {
      const url = fleet.formatUrl(0)
      const target = await deployed(url, await fleet.signIn(), makeSpec(CARD))
      const measured = { url, databaseUrl: fleet.databaseUrl, database, redis }
      const play = async (load: Load): Promise<Round> => {
        await send(load, WARM_UP_SEC)
        await drained(url)
        const before = await costsSoFar(measured)
        const { requests, latency, duration } = await send(load, seconds)
        await drained(url)
        const costs = difference(before, await costsSoFar(measured))
        const { p50: p50Ms, p99: p99Ms } = latency
        return { requests: requests.total, tookMs: 1_000 * duration, p50Ms, p99Ms, costs }
      }
      const singles = {
        ...target,
        bodies: readBodies('single'),
        connections: Number(values.connections),
      }
      return {
        single: await play(singles),
        keyed: await play({ ...singles, isKeyed: true }),
        batch: await play({
          ...target,
          url: `${target.url}/batch`,
          bodies: readBodies('batch'),
          connections: BATCH_CONNECTIONS,
        }),
      }
    } finally {
      await fleet.remove()
    }
  } finally {
    await redis.remove()
    await database.drop()
  }
}

function readRow(rounds: readonly Round[], perRequest: number): Record<string, unknown> {
  const middle = (of: (round: Round) => number, digits = 0) => {
    return Number(median(rounds.map(of)).toFixed(digits))
  }
  const each = (of: (costs: Costs) => number, digits = 1) =>
    middle(({ costs, requests }) => of(costs) / (requests * perRequest), digits)
  const cores = (of: (costs: Costs) => number) =>
    middle(({ costs, tookMs }) => of(costs) / tookMs, 2)
  return {
    'answers/s': middle(({ requests, tookMs }) => (1_000 * requests * perRequest) / tookMs),
    'p50 ms': middle(({ p50Ms }) => p50Ms, 1),
    'p99 ms': middle(({ p99Ms }) => p99Ms, 1),
    'service µs': each(({ serviceCpuMs }) => 1_000 * serviceCpuMs),
    'PostgreSQL µs': each(({ postgresCpuMs }) => 1_000 * postgresCpuMs),
    'Redis µs': each(({ redisCpuMs }) => 1_000 * redisCpuMs),
    'Redis commands': each(({ redisCommands }) => redisCommands, 3),
    'log bytes': each(({ logBytes }) => logBytes),
    'WAL bytes': each(({ walBytes }) => walBytes),
    'cores: service': cores(({ serviceCpuMs }) => serviceCpuMs),
    'cores: PostgreSQL': cores(({ postgresCpuMs }) => postgresCpuMs),
    'cores: load': cores(({ loadCpuMs }) => loadCpuMs),
  }
}

const all = new Map<number, Record<LoadName, Round>[]>()
for (let round = 0; round < Number(values.rounds); round++) {
  for (const workers of workerCounts) {
    all.set(workers, [...(all.get(workers) ?? []), await playRound(workers)])
  }
}
console.log(
  `Node ${process.version}, ${availableParallelism()} processors, median of ${values.rounds} rounds; ` +
    'processor time, commands and bytes for each score, or record of a batch of 1,000',
)
const table: Record<string, unknown> = {}
for (const load of LOADS) {
  for (const [workers, rounds] of all) {
    const name = `${load}, ${workers} ${workers === 1 ? 'worker' : 'workers'}`
    const records = load === 'batch' ? BATCH_RECORDS : 1
    table[name] = readRow(
      rounds.map((one) => one[load]),
      records,
    )
  }
}
console.table(table)

storeResult(
  'capacity',
  {
    card: CARD,
    applicants: APPLICANTS,
    batchRecords: BATCH_RECORDS,
    seconds,
    warmUpSec: WARM_UP_SEC,
  },
  LOADS.map((load) => ({
    name: load,
    measured: [...all].map(([workers, rounds]) => ({
      name: workers === 1 ? '1 worker' : `${workers} workers`,
      rounds: rounds.map(({ [load]: { costs, ...rest } }) => ({ ...rest, ...costs })),
    })),
  })),
)
