/**
 * What the score log costs: requests answered with it, in each durability, against without it.
 *
 * Each round has fresh processes on copies of the same data. The load, from another process, goes to them
 * in turn, a second at a time, so that a machine that is busy with something else hits all of them. A ratio is
 * taken within a round; the processor time of the server for a request is less disturbed by others than the
 * throughput is. Latencies are taken with few connections, where they do not measure the queue.
 *
 *   node bench/scenarios/score-log.ts [--rounds 5] [--slices 6] [--connections 64] [--variants off,process]
 *     [--loads single,batch,calm] [--database URL]
 */
import { parseArgs } from 'node:util'
import {
  BenchServer,
  type Load,
  median,
  prepareScoreBench,
  type ScoreBench,
  scoreLoad,
} from '../lib/score-bench.ts'

const SLICE_SEC = 1
const WARM_UP_SEC = 3

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    slices: { type: 'string', default: '6' },
    connections: { type: 'string', default: '64' },
    variants: { type: 'string', default: 'off,process,disk,database' },
    loads: { type: 'string', default: 'single,batch,calm' },
  },
})
const connections = Number(values.connections)
const slices = Number(values.slices)
const variants = values.variants.split(',')

interface LoadKind {
  readonly pick: (bench: ScoreBench) => Pick<ScoreBench, 'path' | 'body'>
  readonly connections: number
}

const single = ({ path, body }: ScoreBench) => ({ path, body })
const LOADS: Readonly<Record<string, LoadKind>> = {
  single: { pick: single, connections },
  batch: {
    pick: ({ batchPath, batchBody }) => ({ path: batchPath, body: batchBody }),
    connections: 4,
  },
  calm: { pick: single, connections: 4 },
}

function envOf(variant: string): Record<string, string> {
  return variant === 'off' ? { SCORE_LOG_OFF: '1' } : { SCORE_LOG_DURABILITY: variant }
}

interface Outcome {
  readonly requestsPerSec: number
  readonly cpuUs: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly spooledRecords: number
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
    spooledRecords: loads.at(-1)?.spooledRecords ?? Number.NaN,
  }
}

const bench = await prepareScoreBench(1)

async function playRound(kind: LoadKind, round: number): Promise<Outcome[]> {
  const envs = variants.map((variant) => {
    return { ...bench.envOf(`${variant}-${round}-${Math.random()}`), ...envOf(variant) }
  })
  const servers = await Promise.all(envs.map((env) => BenchServer.start(env)))
  const load = (server: BenchServer, seconds: number) => {
    const request = { ...kind.pick(bench), keySecrets: bench.keySecrets }
    return scoreLoad(server, request, { connections: kind.connections, seconds })
  }
  const loads: Load[][] = servers.map(() => [])
  for (const server of servers) await load(server, WARM_UP_SEC)
  for (let slice = 0; slice < slices * servers.length; slice++) {
    // Each follows each of the others equally often.
    const at = (slice + round + Math.floor(slice / servers.length)) % servers.length
    const server = servers[at]
    if (server !== undefined) loads[at]?.push(await load(server, SLICE_SEC))
  }
  await Promise.all(servers.map((server) => server.stop()))
  return loads.map(outcomeOf)
}

function report(name: string, rounds: readonly Outcome[][]): void {
  const ratiosOf = (at: number, of: (outcome: Outcome) => number) => {
    const ratios = rounds.map((outcomes) => {
      const [off, mine] = [outcomes[0], outcomes[at]]
      return off === undefined || mine === undefined ? Number.NaN : of(mine) / of(off)
    })
    const range = `${Math.min(...ratios).toFixed(3)} to ${Math.max(...ratios).toFixed(3)}`
    return `${median(ratios).toFixed(3)} (${range})`
  }
  console.log(`\n${name}, ratios to the first: median of ${rounds.length} rounds (least to most)`)
  console.table(
    variants.map((variant, at) => {
      const shown = (of: (outcome: Outcome) => number, digits: number) =>
        median(rounds.flatMap((outcomes) => outcomes[at] ?? []).map(of)).toFixed(digits)
      return {
        log: variant,
        'requests/s': shown((outcome) => outcome.requestsPerSec, 1),
        ratio: ratiosOf(at, (outcome) => outcome.requestsPerSec),
        'processor µs/request': shown((outcome) => outcome.cpuUs, 1),
        'times off': ratiosOf(at, (outcome) => outcome.cpuUs),
        'p50 ms': shown((outcome) => outcome.p50Ms, 2),
        'p99 ms': shown((outcome) => outcome.p99Ms, 2),
        spooled: shown((outcome) => outcome.spooledRecords, 0),
      }
    }),
  )
}

try {
  for (const name of values.loads.split(',')) {
    const kind = LOADS[name]
    if (kind === undefined) throw new Error(`no load is called ${name}`)
    const rounds: Outcome[][] = []
    for (let round = 0; round < Number(values.rounds); round++) {
      rounds.push(await playRound(kind, round))
    }
    report(name, rounds)
  }
} finally {
  bench.remove()
}
