/**
 * One team's heaviest legal work beside another team's scores. Largest cards are deployed, scored,
 * read, exported and reported on; there are largest batches, exports of the log that are dropped,
 * an erasure, a backtest, an import and the merge of an hour. Beside each of these another team
 * asks for scores of a small card in an open loop: a latency counts from when its request was due.
 * Each is watched beside a quiet time just before it, which says what else the machine does. The
 * longest turn of the event loop is in processor time, in which that does not count.
 *
 *   npm run bench -- neighbours [--rate 40] [--cards 12] [--seconds 10] [--only STEPS]
 *
 * Needs the programs of PostgreSQL and Redis, of which it starts its own. Bounds: p99 of 50 ms, no
 * answer above 300 ms, 500 MB of growth; it ends with 1 beyond them.
 */
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { PgDialect } from 'drizzle-orm/pg-core'
import postgres from 'postgres'
import { indexSum } from '../../src/log/blocks/index-sums.ts'
import { runAdmin } from '../../test/support/start/admin.ts'
import { post } from '../../test/support/start/process.ts'
import { startPostgres, startRedis } from '../lib/backends.ts'
import { deployed, done, Fleet, sampleRequest } from '../lib/fleet.ts'
import { makePlan } from '../lib/load-plan.ts'
import { OpenLoop, type Sent } from '../lib/open-loop.ts'
import { treeRssBytes } from '../lib/peak-memory.ts'
import { type Measured, storeResult } from '../lib/results.ts'

const { values } = parseArgs({
  options: {
    rate: { type: 'string', default: '40' },
    cards: { type: 'string', default: '12' },
    seconds: { type: 'string', default: '10' },
    only: { type: 'string' },
  },
})
const rate = Number(values.rate)
const cards = Number(values.cards)
/** A step that is done sooner is watched for so long. */
const watchMs = 1_000 * Number(values.seconds)
const P99_MS_MAX = 50
const ANSWER_MS_MAX = 300
const GROWTH_BYTES_MAX = 500e6
/** A round of upkeep begins once a minute. */
const MERGE_SECONDS_MAX = 150
/** Cards of which an hour is merged: more than are in memory. */
const MERGED_CARDS = 20
const FEATURES = 1_000
/** With one Missing bin, 20,000 bins in all: the most that a card may have. */
const RANGES = 19
const OTHER = { email: 'owner@heavy.example', password: 'a password of the heavy team' }

/** The largest legal card, different for each number. */
function largestCard(number: number): object {
  const ranges = Array.from({ length: RANGES }, (_, bin) => ({
    range: `(${bin}, ${bin + 1}]`,
    points: number + bin / 7,
    label: `a label of the bin ${bin}, as long as people write them`,
  }))
  const features = Array.from({ length: FEATURES }, (_, feature) => ({
    name: `feature_${feature}`,
    type: 'numeric',
    bins: [...ranges, { range: 'Missing', points: feature }],
  }))
  const scaling = { base_score: 600, base_odds: 50, pdo: 20 }
  return { name: `large ${number}`, version: '1', target: 'bad', base_points: 0, features, scaling }
}

const applicant = Object.fromEntries(
  Array.from({ length: FEATURES }, (_, feature) => [
    `feature_${feature}`,
    (feature % RANGES) + 0.5,
  ]),
)

/** The team that does all that it may. */
interface Heavy {
  readonly url: string
  readonly token: string
  /** Where its cards are scored, and with which key. */
  readonly endpoints: { readonly url: string; readonly token: string; readonly slug: string }[]
  readonly models: string[]
  readonly database: postgres.Sql
}

async function read(url: string, token: string): Promise<void> {
  const response = await fetch(url, { headers: { authorization: `Bearer ${token}` } })
  const text = await response.text()
  // 503 is an answer under a bound; anything else that is not 2xx is a fault of this scenario.
  if (!response.ok && response.status !== 503) throw new Error(`${url}: ${text.slice(0, 300)}`)
}

/** Reads some bytes, then leaves. */
async function drop(url: string, token: string): Promise<void> {
  const leaving = new AbortController()
  const headers = { authorization: `Bearer ${token}` }
  const response = await fetch(url, { headers, signal: leaving.signal })
  await response.body?.getReader().read()
  leaving.abort()
}

/** Waits for a job that was just asked for. */
async function finish(heavy: Heavy, path: string, body: object): Promise<void> {
  const { id } = await done(`${heavy.url}${path}`, heavy.token, body)
  for (;;) {
    const headers = { authorization: `Bearer ${heavy.token}` }
    const response = await fetch(`${heavy.url}/v1/jobs/${id}`, { headers })
    const { status } = (await response.json()) as { status: string }
    if (!['queued', 'running'].includes(status)) return
    await setTimeout(100)
  }
}

const first = (heavy: Heavy) => heavy.endpoints[0] ?? { url: '', token: '', slug: '' }
const ofEach = (heavy: Heavy, ask: (slug: string, position: number) => Promise<unknown>) =>
  Promise.all(heavy.endpoints.map(({ slug }, position) => ask(slug, position)))

/** The heaviest operations that a team may ask for, in the order in which they are done. */
const STEPS: Readonly<Record<string, (heavy: Heavy) => Promise<unknown>>> = {
  nothing: () => Promise.resolve(),
  deploy: async (heavy) => {
    for (let number = 0; number < cards; number++) {
      const endpoint = await deployed(heavy.url, heavy.token, largestCard(number))
      heavy.endpoints.push({ ...endpoint, slug: endpoint.url.split('/').at(-1) ?? '' })
    }
    const headers = { authorization: `Bearer ${heavy.token}` }
    const response = await fetch(`${heavy.url}/v1/models`, { headers })
    const { models } = (await response.json()) as { models: { id: string }[] }
    heavy.models.push(...models.map(({ id }) => id))
  },
  'score in turn': async (heavy) => {
    for (const { url, token } of heavy.endpoints) await post(url, applicant, token)
  },
  'score at once': (heavy) =>
    Promise.all(heavy.endpoints.map(({ url, token }) => post(url, applicant, token))),
  'batches of 1,000': async (heavy) => {
    // As many features as fit into a body: 1,000 records of 500 values are 8 MB.
    const half = Object.fromEntries(Object.entries(applicant).slice(0, FEATURES / 2))
    const records = Array.from({ length: 1_000 }, (_, id) => ({ id: `A-${id}`, ...half }))
    const { url, token } = first(heavy)
    for (let n = 0; n < 3; n++) await post(`${url}/batch`, { records }, token)
  },
  'read models': (heavy) =>
    Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        read(`${heavy.url}/v1/models/${heavy.models[n % heavy.models.length]}`, heavy.token),
      ),
    ),
  'export cards': (heavy) =>
    Promise.all(
      ['pmml', 'sql&dialect=spark&table=t&key=id', 'spec'].flatMap((format) =>
        heavy.models
          .slice(0, 8)
          .map((id) => read(`${heavy.url}/v1/models/${id}/export?format=${format}`, heavy.token)),
      ),
    ),
  log: (heavy) => read(`${heavy.url}/v1/log/export?format=csv`, heavy.token),
  'log, dropped': async (heavy) => {
    for (let n = 0; n < 5; n++) await drop(`${heavy.url}/v1/log/export?format=ndjson`, heavy.token)
  },
  stability: (heavy) =>
    ofEach(heavy, (slug) => read(`${heavy.url}/v1/deployments/${slug}/stability`, heavy.token)),
  reports: (heavy) =>
    ofEach(heavy, (slug) =>
      read(`${heavy.url}/v1/deployments/${slug}/cutoffs?cutoff=600`, heavy.token),
    ),
  merge: async (heavy) => {
    for (let number = heavy.endpoints.length; number < MERGED_CARDS; number++) {
      const endpoint = await deployed(heavy.url, heavy.token, largestCard(number))
      heavy.endpoints.push({ ...endpoint, slug: endpoint.url.split('/').at(-1) ?? '' })
    }
    for (let n = 0; n < 3; n++) {
      await Promise.all(heavy.endpoints.map(({ url, token }) => post(url, applicant, token)))
      await setTimeout(1_100)
    }
    // Two hours back, so that their hour is over: a round of upkeep merges within a minute.
    await heavy.database`update score_blocks set first_at = first_at - interval '2 hours',
      last_at = last_at - interval '2 hours' where superseded_at is null`
    const { sql } = new PgDialect().sqlToQuery(indexSum())
    await heavy.database.unsafe(`update score_blocks set index_sum = ${sql}`)
    for (let second = 0; second < MERGE_SECONDS_MAX; second++) {
      const [row] = await heavy.database<{ count: number }[]>`
        select count(*)::int4 as count from score_blocks where superseded_at is not null`
      if ((row?.count ?? 0) > 0) return
      await setTimeout(1_000)
    }
    throw new Error('no round of upkeep merged the blocks')
  },
  erasure: async (heavy) => {
    const { url, token } = first(heavy)
    await fetch(url, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        'x-reference-id': 'E-1',
      },
      body: JSON.stringify(applicant),
    })
    await post(`${heavy.url}/v1/log/erasures`, { reference: 'E-1' }, heavy.token)
  },
  backtest: (heavy) =>
    finish(heavy, '/v1/backtests', {
      model_id: heavy.models[1],
      source: { deployment: first(heavy).slug },
    }),
  import: async (heavy) => {
    // A card of this service as a file of another tool, with the scores of one applicant.
    const card = JSON.stringify(largestCard(0))
    const { url, token } = first(heavy)
    const { score } = (await post(url, applicant, token)).body
    const columns = [...Object.keys(applicant), 'score']
    const sample = `${columns.join(',')}\n${[...Object.values(applicant), score].join(',')}\n`
    const order = { card, name: 'imported', sample }
    for (let n = 0; n < 3; n++) await done(`${heavy.url}/v1/models/import`, heavy.token, order)
  },
}

const TURNS_FILE = join(tmpdir(), `scoreline-turns-${process.pid}`)
const TURNS_MODULE = new URL('../lib/longest-turn.mjs', import.meta.url).href

/** The longest turn of the event loop since the last call, in ms of processor time. */
function takeLongestTurn(): number {
  if (!existsSync(TURNS_FILE)) return 0
  const turns = readFileSync(TURNS_FILE, 'utf8').trim().split('\n').map(Number)
  rmSync(TURNS_FILE)
  return Math.round(turns.reduce((longest, ms) => Math.max(longest, ms), 0))
}

/** What the neighbour saw in a stretch of time. */
function figuresFrom({ sent, answers, latencyUs }: Sent, tookMs: number) {
  const ms = (percent: number) => latencyUs.percentile(percent) / 1_000
  return {
    requests: sent,
    failed: sent - (answers['200'] ?? 0),
    tookMs: Math.round(tookMs),
    p50Ms: ms(50),
    p99Ms: ms(99),
    maxMs: ms(100),
  }
}

async function play(fleet: Fleet, databaseUrl: string): Promise<boolean> {
  const url = fleet.formatUrl(0)
  const request = await sampleRequest(url, await fleet.signIn())
  const command = ['team', 'create', '--name', 'Heavy', '--owner-email', OTHER.email]
  const env = { DATABASE_URL: databaseUrl, DATA_DIR: fleet.directory, JWT_SECRET: 'x'.repeat(32) }
  const made = await runAdmin(env, [...command, '--owner-password', '-'], OTHER.password)
  if (made.code !== 0) throw new Error(made.stderr)
  const login = await post(`${url}/api/auth/login`, OTHER)
  const database = postgres(databaseUrl, { max: 1, onnotice: () => undefined })
  const token = String(login.body['access_token'])
  const heavy: Heavy = { url, token, endpoints: [], models: [], database }
  const { origin, pathname } = new URL(request.url)
  const plan = makePlan({
    url: origin,
    slug: pathname.split('/').at(-1) ?? '',
    applicants: [JSON.parse(request.body) as object],
    keySecrets: [request.token],
    batchRecords: null,
    hasIdempotencyKeys: false,
    hasReferences: false,
  })
  const neighbour = await OpenLoop.start({ plan, rate, arrivals: 'constant' })
  const processId = fleet.replicas[0]?.child.pid ?? 0
  await setTimeout(3_000)
  await neighbour.take()
  const atRest = treeRssBytes(processId)
  const table: Record<string, unknown> = {}
  const measured: Measured[] = []
  let isWithin = true
  const wanted = values.only?.split(',')
  for (const [name, step] of Object.entries(STEPS)) {
    const isWanted = ['deploy', 'nothing', ...(wanted ?? [''])].some((its) => name.startsWith(its))
    if (!isWanted) continue
    let peakBytes = 0
    const watch = setInterval(() => {
      peakBytes = Math.max(peakBytes, treeRssBytes(processId))
    }, 100)
    await neighbour.take()
    await setTimeout(watchMs)
    const quiet = figuresFrom(await neighbour.take(), watchMs)
    takeLongestTurn()
    const beforeBytes = treeRssBytes(processId)
    const beginMs = performance.now()
    await step(heavy)
    const stepMs = performance.now() - beginMs
    // What goes on after the answer, or after its reader has gone, counts too.
    await setTimeout(watchMs)
    clearInterval(watch)
    const sent = await neighbour.take()
    const tookMs = performance.now() - beginMs
    const figures = figuresFrom(sent, tookMs)
    const grownMb = Math.round((peakBytes - atRest) / 1e6)
    const stepMb = Math.max(0, Math.round((peakBytes - beforeBytes) / 1e6))
    const { p99Ms: quietP99Ms, maxMs: quietMaxMs } = quiet
    const turnMs = takeLongestTurn()
    const beside = { quietP99Ms, quietMaxMs, turnMs, grownMb, stepMb, stepMs: Math.round(stepMs) }
    measured.push({ name, rounds: [{ ...figures, ...beside }] })
    table[name] = {
      'step ms': beside.stepMs,
      'quiet p99': Math.round(quietP99Ms),
      'quiet max': Math.round(quietMaxMs),
      requests: sent.sent,
      answers: JSON.stringify(sent.answers),
      'p50 ms': figures.p50Ms,
      'p99 ms': figures.p99Ms,
      'max ms': figures.maxMs,
      'longest turn': turnMs,
      'grown MB': grownMb,
      'by this step': stepMb,
    }
    const { p99Ms, maxMs, failed } = figures
    const isGood = p99Ms <= P99_MS_MAX && maxMs <= ANSWER_MS_MAX && failed === 0
    if (!isGood || grownMb * 1e6 > GROWTH_BYTES_MAX) isWithin = false
  }
  await neighbour.stop()
  await database.end()
  console.table(table)
  storeResult('neighbours', { rate, cards, features: FEATURES, bins: FEATURES * (RANGES + 1) }, [
    { name: 'neighbours', measured },
  ])
  return isWithin
}

const server = await startPostgres()
const redis = await startRedis()
try {
  const env = { TURNS_FILE, NODE_OPTIONS: `--import ${TURNS_MODULE}` }
  const fleet = await Fleet.start({ replicas: 1, serverUrl: server.url, redisUrl: redis.url, env })
  try {
    const isWithin = await play(fleet, fleet.databaseUrl)
    console.log(isWithin ? 'within the bounds' : 'beyond the bounds')
    process.exitCode = isWithin ? 0 : 1
  } finally {
    await fleet.remove()
  }
} finally {
  await redis.remove()
  await server.drop()
}
