/**
 * What the quota costs the score route: requests answered with it against without it.
 *
 * Each round has fresh processes on copies of the same data. The load, from another process, goes to them
 * in turn, a second at a time, so that a machine that is busy with something else hits all of them. The
 * quota is far above what the load can reach: nothing is refused. A ratio is taken within a round; the
 * processor time of the server for a request is less disturbed by others than the throughput is.
 *
 *   node bench/scenarios/quota.ts [--rounds 5] [--slices 8] [--connections 64] [--keys 1] [--redis URL]
 */
import { parseArgs } from 'node:util'
import { BenchServer, type Load, median, prepareScoreBench, scoreLoad } from '../lib/score-bench.ts'

const QUOTA = String(100_000_000)
const SLICE_SEC = 1
const WARM_UP_SEC = 3

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    slices: { type: 'string', default: '8' },
    connections: { type: 'string', default: '64' },
    keys: { type: 'string', default: '1' },
    redis: { type: 'string', default: 'redis://127.0.0.1:6379' },
  },
})
const connections = Number(values.connections)
const slices = Number(values.slices)

/** The embedded database that drains the score log takes as much processor time as the route itself. */
const SCORE_LOG_OFF = '1'
const VARIANTS = {
  off: { SCORE_LOG_OFF, QUOTA_OFF: '1' },
  'in process': { SCORE_LOG_OFF },
  Redis: { SCORE_LOG_OFF, REDIS_URL: values.redis },
} as const
type Variant = keyof typeof VARIANTS
const NAMES = Object.keys(VARIANTS) as Variant[]

interface Outcome {
  readonly requestsPerSec: number
  readonly cpuUs: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly rssMb: number
  readonly degradedShare: number
}

const sum = (loads: readonly Load[], of: (load: Load) => number) =>
  loads.reduce((total, load) => total + of(load), 0)

function outcomeOf(loads: readonly Load[]): Outcome {
  const requests = sum(loads, (load) => load.requests)
  return {
    requestsPerSec: requests / sum(loads, (load) => load.seconds),
    cpuUs: (1000 * sum(loads, (load) => load.cpuMs)) / requests,
    p50Ms: median(loads.map((load) => load.p50Ms)),
    p99Ms: median(loads.map((load) => load.p99Ms)),
    rssMb: loads.at(-1)?.rssMb ?? Number.NaN,
    degradedShare: sum(loads, (load) => load.decidedDegraded) / requests,
  }
}

const bench = await prepareScoreBench(Number(values.keys))
const envs = NAMES.map((name) => ({
  ...bench.envOf(name),
  RATE_LIMIT_PER_MINUTE: QUOTA,
  ...VARIANTS[name],
}))

async function playRound(round: number): Promise<Outcome[]> {
  const servers = await Promise.all(envs.map((env) => BenchServer.start(env)))
  const loads: Load[][] = servers.map(() => [])
  for (const server of servers)
    await scoreLoad(server, bench, { connections, seconds: WARM_UP_SEC })
  for (let slice = 0; slice < slices * servers.length; slice++) {
    // Each follows each of the others equally often.
    const at = (slice + round + Math.floor(slice / servers.length)) % servers.length
    const server = servers[at]
    if (server === undefined) continue
    loads[at]?.push(await scoreLoad(server, bench, { connections, seconds: SLICE_SEC }))
  }
  await Promise.all(servers.map((server) => server.stop()))
  return loads.map(outcomeOf)
}

const rounds: Outcome[][] = []
try {
  for (let round = 0; round < Number(values.rounds); round++) {
    const outcomes = await playRound(round)
    rounds.push(outcomes)
    const shown = outcomes.map(
      ({ requestsPerSec, cpuUs }, at) =>
        `${NAMES[at]} ${requestsPerSec.toFixed(0)}/s ${cpuUs.toFixed(1)} µs`,
    )
    console.log(`round ${round + 1}: ${shown.join(', ')}`)
  }
} finally {
  bench.remove()
}

/** Ratios to the variant without quota, round by round. */
function ratiosOf(at: number, of: (outcome: Outcome) => number): string {
  const ratios = rounds.map((outcomes) => {
    const [off, mine] = [outcomes[0], outcomes[at]]
    return off === undefined || mine === undefined ? Number.NaN : of(mine) / of(off)
  })
  const range = `${Math.min(...ratios).toFixed(3)} to ${Math.max(...ratios).toFixed(3)}`
  return `${median(ratios).toFixed(3)} (${range})`
}

console.table(
  NAMES.map((name, at) => {
    const shown = (of: (outcome: Outcome) => number) =>
      median(rounds.flatMap((outcomes) => outcomes[at] ?? []).map(of)).toFixed(1)
    return {
      quota: name,
      'requests/s': shown((outcome) => outcome.requestsPerSec),
      'of off': ratiosOf(at, (outcome) => outcome.requestsPerSec),
      'processor µs/request': shown((outcome) => outcome.cpuUs),
      'times off': ratiosOf(at, (outcome) => outcome.cpuUs),
      'p50 ms': shown((outcome) => outcome.p50Ms),
      'p99 ms': shown((outcome) => outcome.p99Ms),
      'degraded %': shown((outcome) => 100 * outcome.degradedShare),
      'memory MB': shown((outcome) => outcome.rssMb),
    }
  }),
)
