/**
 * Outcomes in bulk: a file of them as NDJSON and as CSV, each onto a new database with the scores
 * in its log. Seconds, the most memory of the service, the same file again, the report over all of
 * them, and what scoring loses beside the import.
 *
 *   npm run bench -- outcomes [--outcomes 1000000] [--scores 1000000] [--rounds 1] [--rate 300]
 *     [--order time|random] [--formats ndjson,csv]
 *
 * Needs the programs of PostgreSQL and Redis, of which it starts its own.
 */
import { setTimeout } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import autocannon from 'autocannon'
import { openDatabase } from '../../src/platform/db/open.ts'
import { startPostgres, startRedis } from '../lib/backends.ts'
import { CARD, makeSpec } from '../lib/card.ts'
import { Fleet } from '../lib/fleet.ts'
import { type Deployed, deployOnly, fillLog } from '../lib/log-fill.ts'
import { randomApplicants } from '../lib/logged-scores.ts'
import { peakMiB } from '../lib/peak-memory.ts'
import { processesCpuMs } from '../lib/processor-time.ts'
import { type Round, storeResult } from '../lib/results.ts'

const { values } = parseArgs({
  options: {
    outcomes: { type: 'string', default: '1000000' },
    scores: { type: 'string' },
    rounds: { type: 'string', default: '1' },
    rate: { type: 'string', default: '300' },
    order: { type: 'string', default: 'time' },
    formats: { type: 'string', default: 'ndjson,csv' },
  },
})
const OUTCOMES = Number(values.outcomes)
const SCORES = Number(values.scores ?? values.outcomes)
const RATE = Number(values.rate)
const ROUNDS = Number(values.rounds)
const DAYS = 31
const ALONE_SECONDS = 10
/** Longer than any import takes: it is stopped. */
const LOAD_SECONDS = 7_200
const POLL_MS = 250
const SPEC = makeSpec(CARD)
const APPLICANTS = randomApplicants(CARD, 20_000)
const AS_OF = '2026-06-30'

const FORMATS = {
  ndjson: {
    type: 'application/x-ndjson',
    head: '',
    line: (id: string, outcome: string) =>
      `{"request_id":"${id}","kind":"performance","definition":"gb12","outcome":"${outcome}","as_of":"${AS_OF}"}\n`,
  },
  csv: {
    type: 'text/csv',
    head: 'request_id,kind,definition,outcome,as_of\n',
    line: (id: string, outcome: string) => `${id},performance,gb12,${outcome},${AS_OF}\n`,
  },
} as const
type Format = keyof typeof FORMATS

/** The file, by the time of the scores or shuffled. */
function makeFile(format: Format, ids: readonly string[]): Buffer {
  const { head, line } = FORMATS[format]
  const order = Uint32Array.from(ids, (_, index) => index)
  if (values.order === 'random') {
    let state = 20_261_122
    for (let index = order.length - 1; index > 0; index--) {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
      const other = Math.floor((state / 2 ** 32) * (index + 1))
      const held = order[index] ?? 0
      order[index] = order[other] ?? 0
      order[other] = held
    }
  }
  const parts = [Buffer.from(head)]
  for (let start = 0; start < order.length; start += 10_000) {
    const lines = [...order.subarray(start, start + 10_000)].map((index) =>
      line(ids[index] ?? '', index % 20 === 0 ? 'bad' : 'good'),
    )
    parts.push(Buffer.from(lines.join('')))
  }
  return Buffer.concat(parts)
}

interface Service {
  readonly url: string
  readonly token: string
  readonly deployed: Deployed
}

async function call(
  { url, token }: Service,
  method: string,
  path: string,
  sent?: { readonly type: string; readonly body: Uint8Array<ArrayBuffer> },
): Promise<Record<string, unknown>> {
  const headers = {
    authorization: `Bearer ${token}`,
    ...(sent !== undefined && { 'content-type': sent.type }),
  }
  const response = await fetch(url + path, { method, headers, body: sent?.body ?? null })
  const answer = (await response.json()) as Record<string, unknown>
  if (!response.ok) throw new Error(`${path}: ${response.status} ${JSON.stringify(answer)}`)
  return answer
}

/** Imports a file; returns the seconds and how many outcomes had the status. */
async function imported(service: Service, format: Format, file: Buffer, status: string) {
  const startedMs = performance.now()
  const sent = { type: FORMATS[format].type, body: new Uint8Array(file) }
  const { id } = await call(service, 'POST', '/v1/outcomes/imports', sent)
  const uploadedMs = performance.now()
  for (;;) {
    const found = await call(service, 'GET', `/v1/outcomes/imports/${id}`)
    if (found['status'] === 'done') {
      const counts = found['counts'] as Record<string, number>
      if (counts[status] !== OUTCOMES) throw new Error(`void: ${JSON.stringify(found)}`)
      break
    }
    if (found['status'] === 'failed') throw new Error(`void: ${JSON.stringify(found)}`)
    await setTimeout(POLL_MS)
  }
  return {
    seconds: (performance.now() - startedMs) / 1_000,
    uploadSeconds: (uploadedMs - startedMs) / 1_000,
  }
}

/** Scores at the rate of the options until it is stopped or the seconds are over. */
function load({ url, deployed: { slug, key } }: Service, duration: number) {
  const options = {
    url: `${url}/v1/score/${slug}`,
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    body: JSON.stringify(APPLICANTS[0]),
    connections: 16,
    overallRate: RATE,
    duration,
  } as const
  let stop = () => {}
  const result = new Promise<autocannon.Result>((resolve, reject) => {
    const instance = autocannon(options, (error, found) => {
      if (error) reject(error)
      else resolve(found)
    })
    stop = () => instance.stop()
  })
  return { result, stop: () => stop() }
}

function latencies({ latency, non2xx, errors }: autocannon.Result) {
  if (non2xx + errors > 0) throw new Error('void: not all scores were answered')
  return { p50: latency.p50, p99: latency.p99, max: latency.max }
}

interface Servers {
  readonly serverUrl: string
  readonly redisUrl: string
  readonly postgresId: number
}

async function round(format: Format, servers: Servers) {
  const fleet = await Fleet.start({ replicas: 1, ...servers })
  const onCrash = (error: Error) => {
    throw error
  }
  const handle = await openDatabase({ url: fleet.databaseUrl, directory: '', onCrash })
  try {
    const url = fleet.formatUrl(0)
    const token = await fleet.signIn()
    const deployed = await deployOnly(url, token, handle.db, SPEC)
    const service = { url, token, deployed }
    const all: string[] = []
    const filled = await fillLog(handle.db, deployed, {
      spec: SPEC,
      applicants: APPLICANTS,
      scores: SCORES,
      days: DAYS,
      onScore: (requestId) => all.push(requestId),
    })
    const ids = Array.from(
      { length: OUTCOMES },
      (_, index) => all[Math.floor((index * all.length) / OUTCOMES)] ?? '',
    )
    const definition = {
      label: 'Bad within 12 months',
      window_months: 12,
      bad_rule_text: '90 days past due',
      maturity_months: 12,
    }
    const body = Buffer.from(JSON.stringify(definition))
    await call(service, 'PUT', '/v1/outcome-definitions/gb12', { type: 'application/json', body })
    const file = makeFile(format, ids)
    const processId = fleet.replicas[0]?.child.pid ?? 0
    const cpuSeconds = () => ({
      service: processesCpuMs(processId) / 1_000,
      postgres: processesCpuMs(servers.postgresId) / 1_000,
    })
    // Scores from here on are of the load, and have no outcomes.
    const filledAt = encodeURIComponent(new Date().toISOString())
    const alone = latencies(await load(service, ALONE_SECONDS).result)
    const restMiB = peakMiB(processId)
    const scoring = load(service, LOAD_SECONDS)
    const before = cpuSeconds()
    const first = await imported(service, format, file, 'accepted')
    const after = cpuSeconds()
    scoring.stop()
    const beside = latencies(await scoring.result)
    const importedMiB = peakMiB(processId)
    const again = await imported(service, format, file, 'unchanged')
    const reportedMs = performance.now()
    const report = await call(
      service,
      'GET',
      `/v1/deployments/${deployed.slug}/performance?definition=gb12&to=${filledAt}`,
    )
    if (report['n'] !== OUTCOMES) throw new Error(`void: the report has ${report['n']}`)
    const figures: Round = {
      fillSeconds: filled.seconds,
      fileMiB: file.length / 2 ** 20,
      uploadSeconds: first.uploadSeconds,
      seconds: first.seconds,
      outcomesPerSecond: OUTCOMES / first.seconds,
      serviceCpuSeconds: after.service - before.service,
      postgresCpuSeconds: after.postgres - before.postgres,
      againSeconds: again.seconds,
      peakBeforeMiB: restMiB,
      peakImportMiB: importedMiB,
      reportSeconds: (performance.now() - reportedMs) / 1_000,
      peakReportMiB: peakMiB(processId),
      aloneP50Ms: alone.p50,
      aloneP99Ms: alone.p99,
      besideP50Ms: beside.p50,
      besideP99Ms: beside.p99,
      besideMaxMs: beside.max,
    }
    console.log(format, figures)
    return figures
  } finally {
    await handle.close()
    await fleet.remove()
  }
}

const server = await startPostgres()
const redis = await startRedis()
try {
  const servers = { serverUrl: server.url, redisUrl: redis.url, postgresId: server.processId }
  const rounds: Record<Format, Round[]> = { ndjson: [], csv: [] }
  for (let number = 0; number < ROUNDS; number++) {
    for (const format of values.formats.split(',') as Format[]) {
      rounds[format].push(await round(format, servers))
    }
  }
  const measured = Object.entries(rounds)
    .filter(([, of]) => of.length > 0)
    .map(([name, of]) => ({ name, rounds: of }))
  const payload = {
    card: CARD,
    outcomes: OUTCOMES,
    scores: SCORES,
    days: DAYS,
    order: values.order,
    scoringRate: RATE,
  }
  storeResult('outcomes', payload, [{ name: 'a file of outcomes', measured }])
} finally {
  await redis.remove()
  await server.drop()
}
