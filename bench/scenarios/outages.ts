/**
 * What callers see while PostgreSQL or Redis is away: two replicas under a steady load of scores,
 * and a management call every half second. Each server is killed, stopped (SIGSTOP: it accepts and
 * says nothing) and restarted. At the end of each outage the answers are compared with the score
 * log.
 *
 *   npm run bench -- outages [--clients 8] [--before 10] [--outage 20] [--after 10]
 *     [--servers postgres,redis] [--ways killed,stopped,restarted]
 *
 * Needs the programs of PostgreSQL and Redis, of which it starts its own. All share the machine:
 * latencies are to be compared with those before, not taken for themselves.
 */
import { setTimeout } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import postgres from 'postgres'
import {
  type LoadRequest,
  type Outcome,
  startClients,
} from '../../test/support/load/load-clients.ts'
import type { PostgresServer } from '../../test/support/servers/postgres-server.ts'
import type { RedisServer } from '../../test/support/servers/redis-server.ts'
import { startPostgres, startRedis } from '../lib/backends.ts'
import { Fleet, outcomeFigures, outcomeRow, sampleRequest } from '../lib/fleet.ts'
import { type Measured, storeResult } from '../lib/results.ts'

const { values } = parseArgs({
  options: {
    clients: { type: 'string', default: '8' },
    before: { type: 'string', default: '10' },
    outage: { type: 'string', default: '20' },
    after: { type: 'string', default: '10' },
    servers: { type: 'string', default: 'postgres,redis' },
    ways: { type: 'string', default: 'killed,stopped,restarted' },
  },
})
const clients = Number(values.clients)
const seconds = { before: values.before, outage: values.outage, after: values.after }
/**
 * A client waits so long between its requests: a steady load, far below what the machine can take.
 */
const PAUSE_MS = 20
const PAUSES = { pauseMs: PAUSE_MS, refusedPauseMs: PAUSE_MS }
const MANAGE_EVERY_MS = 500
const DRAIN_MS_MAX = 60_000
/** Shorter than an outage: what is in memory is served beyond it. */
const ENV = { SPEC_CACHE_TTL_SECONDS: '5' }

/** A way to take a server away, and to bring it back. */
interface Fault {
  readonly begin: () => Promise<unknown> | unknown
  readonly end: () => Promise<unknown> | unknown
  /** It is back by itself: there is no time without it beyond the restart. */
  readonly isRestart?: boolean
}

function postgresFaults(server: PostgresServer): Record<string, Fault> {
  return {
    killed: { begin: () => server.signal('SIGKILL'), end: () => server.resume() },
    stopped: { begin: () => server.signal('SIGSTOP'), end: () => server.signal('SIGCONT') },
    restarted: {
      begin: async () => {
        await server.stop()
        await server.resume()
      },
      end: () => undefined,
      isRestart: true,
    },
  }
}

function redisFaults(server: RedisServer): Record<string, Fault> {
  return {
    killed: { begin: () => server.kill(), end: () => server.restart() },
    stopped: { begin: () => server.signal('SIGSTOP'), end: () => server.signal('SIGCONT') },
    restarted: {
      begin: async () => {
        await server.kill()
        await server.restart()
      },
      end: () => undefined,
      isRestart: true,
    },
  }
}

type Phase = 'warmUp' | 'before' | 'outage' | 'after'

/** Scores of both replicas, and calls of management, by the phase in which they were asked. */
class Watch {
  phase: Phase = 'warmUp'
  readonly scores: Record<Phase, Outcome[]> = { warmUp: [], before: [], outage: [], after: [] }
  readonly management: Record<Phase, Outcome[]> = { warmUp: [], before: [], outage: [], after: [] }
  private readonly fleet: Fleet
  private readonly stops: (() => Promise<unknown>)[] = []

  constructor(fleet: Fleet) {
    this.fleet = fleet
  }

  async start(loadRequest: LoadRequest, token: string): Promise<void> {
    for (const position of this.fleet.ports.keys()) {
      const url = this.fleet.formatUrl(position) + new URL(loadRequest.url).pathname
      const note = (outcome: Outcome) => void this.scores[this.phase].push(outcome)
      this.stops.push(await startClients(clients / 2, { ...loadRequest, url }, note, PAUSES))
    }
    let isOn = true
    const managing = (async () => {
      while (isOn) {
        const startedAtMs = performance.now()
        const { phase } = this
        const response = await fetch(`${this.fleet.formatUrl(1)}/v1/models`, {
          headers: { authorization: `Bearer ${token}` },
        }).catch(() => null)
        await response?.arrayBuffer()
        const tookMs = performance.now() - startedAtMs
        const status = response?.status ?? null
        this.management[phase].push({ status, tookMs, isNewConnection: false })
        await setTimeout(MANAGE_EVERY_MS)
      }
    })()
    this.stops.push(() => {
      isOn = false
      return managing
    })
  }

  async stop(): Promise<void> {
    await Promise.all(this.stops.map((stop) => stop()))
  }
}

/** @returns answered scores, rows of the log, and how long until all were in it */
async function reconcile(fleet: Fleet, answered: number): Promise<string> {
  const startedAtMs = performance.now()
  const client = postgres(fleet.databaseUrl, { max: 1, onnotice: () => undefined })
  try {
    for (;;) {
      const [row] = await client<{ count: number }[]>`
        select coalesce(sum(records), 0)::int4 as count from score_blocks
        where superseded_at is null`
      const tookMs = performance.now() - startedAtMs
      const logged = row?.count ?? 0
      if (logged >= answered || tookMs > DRAIN_MS_MAX) {
        return `${answered} answered, ${logged} logged, ${(tookMs / 1000).toFixed(1)} s after the end`
      }
      await setTimeout(200)
    }
  } finally {
    await client.end()
  }
}

async function play(
  name: string,
  findFault: (servers: { database: PostgresServer; redis: RedisServer }) => Fault | undefined,
): Promise<void> {
  const database = await startPostgres()
  const redis = await startRedis()
  try {
    const fault = findFault({ database, redis })
    if (fault === undefined) throw new Error(`there is no outage ${name}`)
    const servers = { serverUrl: database.url, redisUrl: redis.url }
    const fleet = await Fleet.start({ replicas: 2, ...servers, env: ENV })
    try {
      const token = await fleet.signIn()
      const loadRequest = await sampleRequest(fleet.formatUrl(0), token)
      const watch = new Watch(fleet)
      await watch.start(loadRequest, token)
      // Nobody's latency is that of code which is not compiled yet.
      await setTimeout(3_000)
      watch.phase = 'before'
      await setTimeout(1_000 * Number(seconds.before))
      watch.phase = 'outage'
      await fault.begin()
      await setTimeout(fault.isRestart === true ? 2_000 : 1_000 * Number(seconds.outage))
      await fault.end()
      watch.phase = 'after'
      await setTimeout(1_000 * Number(seconds.after))
      await watch.stop()
      report(name, watch)
      const all = Object.values(watch.scores).flat()
      const answered = all.filter(({ status }) => status === 200).length
      console.log(`score log: ${await reconcile(fleet, answered)}\n`)
    } finally {
      await fleet.remove()
    }
  } finally {
    await redis.remove()
    await database.drop()
  }
}

const measured: Measured[] = []

function report(name: string, { scores, management }: Watch): void {
  const table: Record<string, unknown> = {}
  for (const phase of ['before', 'outage', 'after'] as const) {
    const tookMs = 1_000 * Number(seconds[phase])
    const { 'requests/s': _rate, ...row } = outcomeRow(scores[phase], tookMs)
    const managed = outcomeRow(management[phase], tookMs)
    measured.push({ name: `${name}, ${phase}`, rounds: [outcomeFigures(scores[phase], tookMs)] })
    table[phase] = {
      ...row,
      management: `${managed['requests']}, ${managed['failed']} failed ${managed['how'] ?? ''}`,
    }
  }
  console.log(name)
  console.table(table)
}

console.log(`Node ${process.version}, two replicas, ${clients} clients that wait ${PAUSE_MS} ms`)
for (const server of values.servers.split(',')) {
  for (const way of values.ways.split(',')) {
    await play(`${server} ${way}`, ({ database, redis }) => {
      return server === 'postgres' ? postgresFaults(database)[way] : redisFaults(redis)[way]
    })
  }
}
storeResult('outages', { replicas: 2, clients, pauseMs: PAUSE_MS, seconds }, [
  { name: 'outages', measured },
])
