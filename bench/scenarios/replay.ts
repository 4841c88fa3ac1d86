/**
 * What is computed again from a long log: a replay of every logged result, and backtests of three
 * candidates: one with other points, one whose edges are moved, and one less half of the features.
 *
 *   npm run bench -- replay [--scores 10000000] [--backtest-scores 1000000] [--rounds 3]
 *
 * A backtest covers the newest part of the log. Needs the programs of PostgreSQL and Redis, of
 * which it starts its own.
 */
import { setTimeout } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { openDatabase } from '../../src/platform/db/open.ts'
import { startPostgres, startRedis } from '../lib/backends.ts'
import { CARD, makeSpec } from '../lib/card.ts'
import { done, Fleet } from '../lib/fleet.ts'
import { deployOnly, fillLog } from '../lib/log-fill.ts'
import { randomApplicants } from '../lib/logged-scores.ts'
import { peakMiB } from '../lib/peak-memory.ts'
import { type Measured, type Round, storeResult } from '../lib/results.ts'

const { values } = parseArgs({
  options: {
    scores: { type: 'string', default: '10000000' },
    'backtest-scores': { type: 'string', default: '1000000' },
    rounds: { type: 'string', default: '3' },
  },
})
const SCORES = Number(values.scores)
const BACKTEST_SCORES = Math.min(SCORES, Number(values['backtest-scores']))
const ROUNDS = Number(values.rounds)
const DAYS = 31
const POLL_MS = 100
const SPEC = makeSpec(CARD) as Spec
const APPLICANTS = randomApplicants(CARD, 20_000)

interface Spec {
  readonly features: readonly {
    readonly bins: readonly { readonly range?: string; readonly points: number }[]
  }[]
}

/** Each bin with what `change` makes of it. */
function changed(change: (bin: Spec['features'][number]['bins'][number]) => object): object {
  const features = SPEC.features.map((feature) => ({ ...feature, bins: feature.bins.map(change) }))
  return { ...SPEC, version: '2.0.0', features }
}

const CANDIDATES = {
  're-pointed': changed((bin) => ({ ...bin, points: 1.25 * bin.points + 0.1 })),
  're-binned': changed((bin) =>
    bin.range === undefined
      ? bin
      : { ...bin, range: bin.range.replace(/\d+/g, (edge) => String(Number(edge) + 3)) },
  ),
  shortened: {
    ...SPEC,
    version: '2.0.0',
    features: SPEC.features.slice(0, SPEC.features.length / 2),
  },
} as const

/** The result of a job, and the seconds that it took. */
async function finished(url: string, token: string, path: string, order: object) {
  const startedMs = performance.now()
  const { id } = await done(`${url}${path}`, token, order)
  for (;;) {
    const headers = { authorization: `Bearer ${token}` }
    const response = await fetch(`${url}/v1/jobs/${id}`, { headers })
    const job = (await response.json()) as { status: string; result: Record<string, unknown> }
    if (job.status === 'done') {
      return { result: job.result, seconds: (performance.now() - startedMs) / 1_000 }
    }
    if (job.status === 'failed') throw new Error(`void: ${JSON.stringify(job)}`)
    await setTimeout(POLL_MS)
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
    const processId = fleet.replicas[0]?.child.pid ?? 0
    const token = await fleet.signIn()
    const deployed = await deployOnly(url, token, handle.db, SPEC)
    let fromMs = 0
    let made = 0
    const filled = await fillLog(handle.db, deployed, {
      spec: SPEC,
      applicants: APPLICANTS,
      scores: SCORES,
      days: DAYS,
      onScore: (_, atMs) => {
        if (made++ <= SCORES - BACKTEST_SCORES) fromMs = atMs
      },
    })
    console.log(`${SCORES} scores in ${filled.blocks} blocks, ${filled.seconds.toFixed(0)} s`)
    const replays: Round[] = []
    for (let round = 0; round < ROUNDS; round++) {
      const path = `/v1/deployments/${deployed.slug}/replays`
      const { result, seconds } = await finished(url, token, path, {})
      if (result['identical'] !== SCORES) throw new Error(`void: ${JSON.stringify(result)}`)
      replays.push({ seconds, scoresPerSecond: SCORES / seconds, peakMiB: peakMiB(processId) })
      console.log('replay', replays.at(-1))
    }
    const backtests: Measured[] = []
    for (const [name, spec] of Object.entries(CANDIDATES)) {
      const rounds: Round[] = []
      for (let round = 0; round < ROUNDS; round++) {
        const source = { deployment: deployed.slug, from: new Date(fromMs).toISOString() }
        const order = { spec, source, cutoffs: [500] }
        const { result, seconds } = await finished(url, token, '/v1/backtests', order)
        const n = Number(result['n'])
        const exactShare = Number(result['exact_share'])
        rounds.push({ seconds, n, scoresPerSecond: n / seconds, exactShare })
        console.log(name, rounds.at(-1))
      }
      backtests.push({ name, rounds })
    }
    const payload = { card: CARD, scores: SCORES, blocks: filled.blocks, days: DAYS }
    const fills = [{ name: 'fill', rounds: [{ seconds: filled.seconds }] }]
    storeResult('replay', payload, [
      { name: 'fill', measured: fills },
      { name: 'replay of every result', measured: [{ name: 'replay', rounds: replays }] },
      { name: 'backtest of the newest scores', measured: backtests },
    ])
  } finally {
    await handle.close()
    await fleet.remove()
  }
} finally {
  await redis.remove()
  await server.drop()
}
