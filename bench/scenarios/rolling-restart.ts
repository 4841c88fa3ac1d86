/**
 * What callers see of a rolling restart: two replicas over one PostgreSQL and one Redis, behind
 * HAProxy with the configuration of docker/, restarted in turn under load. Whatever is not answered
 * 200 is a failure.
 *
 *   npm run bench -- rolling-restart [--rounds 5] [--clients 16] [--workers 1]
 *
 * Needs `haproxy` (Debian's package). Clients, balancer, replicas and databases share the machine:
 * the latencies are those of that, the failures are what counts.
 */
import { setTimeout } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import {
  type LoadRequest,
  type Outcome,
  startClients,
} from '../../test/support/load/load-clients.ts'
import { Fleet, needed, outcomeFigures, outcomeRow, sampleRequest } from '../lib/fleet.ts'
import { type Measured, storeResult } from '../lib/results.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    clients: { type: 'string', default: '16' },
    workers: { type: 'string', default: '1' },
  },
})
const rounds = Number(values.rounds)
const clients = Number(values.clients)
/** As an orchestrator waits before it goes on to the next replica. */
const SETTLE_MS = 1_000

async function restartAll(fleet: Fleet): Promise<void> {
  for (const position of fleet.ports.keys()) {
    const exitCode = await fleet.replicas[position]?.stop('SIGTERM')
    if (exitCode !== 0) throw new Error(`a replica ended with ${exitCode}`)
    await fleet.startReplica(position)
    await setTimeout(SETTLE_MS)
  }
}

const table: Record<string, unknown> = {}
const measured: Measured[] = []

async function measure(
  name: string,
  loadRequest: LoadRequest,
  work: () => Promise<unknown>,
): Promise<number> {
  const outcomes: Outcome[] = []
  const startedAtMs = performance.now()
  const stop = await startClients(clients, loadRequest, (outcome) => outcomes.push(outcome))
  await work()
  await stop()
  const tookMs = performance.now() - startedAtMs
  table[name] = outcomeRow(outcomes, tookMs)
  measured.push({ name, rounds: [outcomeFigures(outcomes, tookMs)] })
  return outcomes.filter(({ status }) => status !== 200).length
}

const fleet = await Fleet.start({
  replicas: 2,
  serverUrl: needed('TEST_DATABASE_URL'),
  redisUrl: needed('TEST_REDIS_URL'),
  env: { WORKERS: values.workers },
})
try {
  const balancer = await fleet.startBalancer()
  try {
    const loadRequest = await sampleRequest(balancer.url, await fleet.signIn(balancer.url))
    await measure('warm-up', loadRequest, () => setTimeout(3_000))
    await measure('before', loadRequest, () => setTimeout(10_000))
    let failures = 0
    for (let round = 1; round <= rounds; round++) {
      failures += await measure(`rolling restart ${round}`, loadRequest, () => restartAll(fleet))
    }
    await measure('after', loadRequest, () => setTimeout(10_000))
    console.log(
      `Node ${process.version}, ${values.workers} workers each, ${clients} clients, one request at a time each`,
    )
    console.table(table)
    const payload = { replicas: 2, workersEach: Number(values.workers), clients, rounds }
    storeResult('rolling-restart', payload, [{ name: 'rolling restart', measured }])
    console.log(`failed requests during ${2 * rounds} restarts: ${failures}`)
    process.exitCode = failures === 0 ? 0 : 1
  } finally {
    await balancer.stop()
  }
} finally {
  await fleet.remove()
}
