/**
 * What the pages of a risk manager cost on a month of a deployment with a challenger: stability of
 * 20 features, its series by day, cut-offs, a swap set and migration, each the median and the 99th
 * percentile of its repeats in a round; all of them asked at once; and what scoring loses while ten
 * consoles look. Each score has a reference, of which reports count the last scoring.
 *
 *   npm run bench -- monitoring [--scores 10000000] [--rounds 1] [--repeats 10] [--consoles 10]
 *     [--seconds 20] [--without-references]
 *
 * Without references nothing is stored.
 *
 * Needs the programs of PostgreSQL and Redis, of which it starts its own.
 */
import { setTimeout } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import autocannon from 'autocannon'
import { sql } from 'drizzle-orm'
import { type Database, queryRows } from '../../src/platform/db/client.ts'
import { openDatabase } from '../../src/platform/db/open.ts'
import { percentile } from '../../test/support/load/percentile.ts'
import { testModel } from '../../test/support/score-log/record-payloads.ts'
import { startPostgres, startRedis } from '../lib/backends.ts'
import { CARD, makeSpec } from '../lib/card.ts'
import { fillMonth } from '../lib/filled-log.ts'
import { done, Fleet } from '../lib/fleet.ts'
import { randomApplicants, ScoreRecords } from '../lib/logged-scores.ts'
import { type Measured, storeResult } from '../lib/results.ts'

const { values } = parseArgs({
  options: {
    scores: { type: 'string', default: '10000000' },
    rounds: { type: 'string', default: '1' },
    repeats: { type: 'string', default: '10' },
    'without-references': { type: 'boolean', default: false },
    consoles: { type: 'string', default: '10' },
    seconds: { type: 'string', default: '20' },
  },
})
const SCORES = Number(values.scores)
const ROUNDS = Number(values.rounds)
const REPEATS = Number(values.repeats)
const CONSOLES = Number(values.consoles)
const DAYS = 31
const SPEC = withCounts(makeSpec(CARD))
const CUTOFF = 500
/** As the slider of the console asks. */
const SLIDER = Array.from({ length: 50 }, (_, place) => `cutoff=${10 * place + 10}`)
/** More than a merged block has: repeated ones would compress better than real ones. */
const APPLICANTS = randomApplicants(CARD, 20_000)

interface Counted {
  readonly features: readonly { readonly bins: readonly object[] }[]
}

/** The card with a development sample, so that every index is computed. */
function withCounts(spec: object): object {
  const { features } = spec as Counted
  const counted = features.map((feature) => ({
    ...feature,
    bins: feature.bins.map((bin) => ({ ...bin, baseline_count: 1_000 })),
  }))
  return { ...spec, features: counted }
}

interface Deployed {
  readonly slug: string
  readonly key: string
  readonly teamId: string
  readonly deploymentId: string
  readonly modelId: string
  readonly challengerId: string
  readonly challengerModelId: string
}

async function patch(url: string, token: string, body: object): Promise<void> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const answer = await fetch(url, { method: 'PATCH', headers, body: JSON.stringify(body) })
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${await answer.text()}`)
}

/** A champion with a development sample, and a challenger with other points. */
async function deploy(url: string, token: string, db: Database): Promise<Deployed> {
  const order = { spec: SPEC, environment: 'production', auto_deploy: true }
  const { deployment } = await done(`${url}/v1/models/deploy`, token, order)
  const { slug } = deployment as { slug: string }
  const other = {
    ...order,
    spec: { ...SPEC, version: '2.0.0', base_points: 410 },
    auto_deploy: false,
  }
  const { model_id: challengerModelId } = await done(`${url}/v1/models/deploy`, token, other)
  const traffic = `${url}/v1/deployments/${slug}/traffic`
  await patch(traffic, token, { action: 'toggle_shadow', shadow_mode: true })
  await patch(traffic, token, {
    action: 'add_challenger',
    model_id: challengerModelId,
    traffic_pct: 10,
  })
  const scopes = ['score', 'read']
  const { key } = await done(`${url}/v1/keys`, token, { name: 'bench', scopes })
  const [row] = await queryRows<{ id: string; team: string; model: string; challenger: string }>(
    db,
    sql`select d.id, d.team_id as team, d.champion_model_id as model, c.id as challenger
      from deployments d join challengers c on c.deployment_id = d.id`,
  )
  if (row === undefined) throw new Error('there is no deployment')
  return {
    slug,
    key: String(key),
    teamId: row.team,
    deploymentId: row.id,
    modelId: row.model,
    challengerId: row.challenger,
    challengerModelId: String(challengerModelId),
  }
}

async function fill(db: Database, deployed: Deployed): Promise<number> {
  const { teamId, deploymentId, modelId, challengerId, challengerModelId } = deployed
  const model = testModel(SPEC, modelId)
  const otherSpec = { ...SPEC, version: '2.0.0', base_points: 410 }
  const challenger = testModel(otherSpec, challengerModelId, challengerId)
  const models = new Map([
    [modelId, model.model],
    [challengerModelId, challenger.model],
  ])
  const withReferences = !values['without-references']
  const as = { teamId, deploymentId, challenger, withReferences }
  const records = new ScoreRecords(model, APPLICANTS, as)
  return fillMonth({ db, records, models, scores: SCORES, days: DAYS })
}

/** The reports of the pages, by what they are called in the result. */
function readReports({ slug, challengerId }: Deployed): Readonly<Record<string, string>> {
  const path = `/v1/deployments/${slug}`
  const swap = `${path}/swap-set?challenger_id=${challengerId}&cutoff=${CUTOFF}`
  return {
    'stability of 20 features': `${path}/stability`,
    'stability, each scoring counts': `${path}/stability?dedupe=none`,
    'stability by day': `${path}/stability/series?interval=day`,
    'cut-offs': `${path}/cutoffs?${SLIDER.join('&')}`,
    'swap set, same cut-off': `${swap}&rule=same_cutoff`,
    'swap set, same approval rate': `${swap}&rule=same_approval_rate`,
    migration: `${path}/migration?challenger_id=${challengerId}`,
  }
}

/** One report after the other, as one person asks; then all of them at once, as a page does. */
async function measure(url: string, deployed: Deployed): Promise<Measured[]> {
  const headers = { authorization: `Bearer ${deployed.key}` }
  const ask = async (path: string) => {
    const answer = await fetch(url + path, { headers })
    const found = (await answer.json()) as { n?: number }
    if (!answer.ok) throw new Error(`void: ${path} was answered ${answer.status}`)
    if (found.n !== undefined && found.n !== SCORES) throw new Error(`void: ${found.n} counted`)
  }
  const reports = readReports(deployed)
  const all = { 'all reports at once': Object.values(reports) }
  const measured = Object.entries({ ...reports, ...all }).map(([name, paths]) => ({
    name,
    paths: [paths].flat(),
    rounds: [] as Record<string, number>[],
  }))
  for (let number = 0; number < ROUNDS; number++) {
    for (const { name, paths, rounds } of measured) {
      const tookMs: number[] = []
      for (let repeat = 0; repeat < REPEATS; repeat++) {
        const beganMs = performance.now()
        await Promise.all(paths.map(ask))
        tookMs.push(performance.now() - beganMs)
      }
      const [p50Ms, p99Ms] = [percentile(tookMs, 0.5), percentile(tookMs, 0.99)]
      const round = { asked: REPEATS, p50Ms, p99Ms, mostMs: Math.max(...tookMs) }
      console.log(name, round)
      rounds.push(round)
    }
  }
  return measured.map(({ name, rounds }) => ({ name, rounds }))
}

/** Scoring at full load, alone and while consoles ask for one report after the other. */
async function beside(url: string, deployed: Deployed) {
  const { slug, key } = deployed
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}` }
  const duration = Number(values.seconds)
  const score = async () => {
    const body = JSON.stringify(APPLICANTS[0])
    const target = { url: `${url}/v1/score/${slug}`, method: 'POST' as const, headers, body }
    const result = await autocannon({ ...target, connections: 32, duration })
    if (result.non2xx + result.errors > 0) throw new Error('void: not all were answered')
    return { perSec: result.requests.total / result.duration, p99Ms: result.latency.p99 }
  }
  const alone = await score()
  const ending = new AbortController()
  const counts = { reports: 0, refused: 0 }
  const look = async (seat: number) => {
    const paths = Object.values(readReports(deployed))
    for (let turn = seat; !ending.signal.aborted; turn++) {
      const path = paths[turn % paths.length] ?? ''
      const answer = await fetch(url + path, { headers }).catch(() => null)
      await answer?.arrayBuffer()
      // A team has a bound; the page then says so, and a person tries again.
      if (answer?.status === 503) {
        counts.refused++
        await setTimeout(1_000)
      } else counts.reports++
    }
  }
  const looking = Array.from({ length: CONSOLES }, (_, seat) => look(seat))
  const withConsoles = await score()
  ending.abort()
  await Promise.all(looking)
  return {
    aloneScoresPerSec: alone.perSec,
    aloneP99Ms: alone.p99Ms,
    besideScoresPerSec: withConsoles.perSec,
    besideP99Ms: withConsoles.p99Ms,
    ...counts,
  }
}

const server = await startPostgres()
const redis = await startRedis()
try {
  const fleet = await Fleet.start({ replicas: 1, serverUrl: server.url, redisUrl: redis.url })
  const onCrash = (error: Error) => {
    throw error
  }
  const handle = await openDatabase({ url: fleet.databaseUrl, directory: '', onCrash })
  try {
    const url = fleet.formatUrl(0)
    const deployed = await deploy(url, await fleet.signIn(), handle.db)
    const blocks = await fill(handle.db, deployed)
    console.log(`${SCORES} scores by two models in ${blocks} blocks`)
    const reports = await measure(url, deployed)
    const losses = { name: `${CONSOLES} consoles`, rounds: [await beside(url, deployed)] }
    console.log(losses.name, losses.rounds)
    // The documents show the newest result, which is that of a lender's usual log.
    const isStored = !values['without-references']
    if (isStored)
      storeResult('monitoring', { card: CARD, scores: SCORES, models: 2, blocks }, [
        { name: 'reports', measured: reports },
        { name: 'beside', measured: [losses] },
      ])
  } finally {
    await handle.close()
    await fleet.remove()
  }
} finally {
  await redis.remove()
  await server.drop()
}
