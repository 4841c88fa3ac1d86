/**
 * A portfolio as a file: CSV, NDJSON and Parquet, each onto a new database. Seconds from the upload
 * to the end, applicants a second, processor time of the threads, and what scoring loses beside it
 * at half of what the service can answer.
 *
 *   npm run bench -- batches [--applicants 1000000] [--rounds 1] [--formats csv,ndjson,parquet]
 *     [--rate 0: half of what was measured]
 *
 * A process of its own (curl) sends the file and takes the results, so that the load generator
 * stands still for neither. Needs curl and the programs of PostgreSQL and Redis, of which it starts
 * its own.
 */
import { execFile } from 'node:child_process'
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { parseArgs, promisify } from 'node:util'
import autocannon from 'autocannon'
import { parquetWriteBuffer } from 'hyparquet-writer'
import { openDatabase } from '../../src/platform/db/open.ts'
import { startPostgres, startRedis } from '../lib/backends.ts'
import { CARD, makeSpec } from '../lib/card.ts'
import { Fleet } from '../lib/fleet.ts'
import { type Deployed, deployOnly } from '../lib/log-fill.ts'
import { randomApplicants } from '../lib/logged-scores.ts'
import { peakMiB } from '../lib/peak-memory.ts'
import { processesCpuMs, threadsCpuMs } from '../lib/processor-time.ts'
import { type Round, storeResult } from '../lib/results.ts'

const { values } = parseArgs({
  options: {
    applicants: { type: 'string', default: '1000000' },
    rounds: { type: 'string', default: '1' },
    formats: { type: 'string', default: 'csv,ndjson,parquet' },
    rate: { type: 'string', default: '0' },
  },
})
const ROWS = Number(values.applicants)
const ROUNDS = Number(values.rounds)
const FULL_SECONDS = 8
const ALONE_SECONDS = 15
/** Longer than any batch takes: it is stopped. */
const LOAD_SECONDS = 7_200
const POLL_MS = 200
const CONNECTIONS = 16
const SPEC = makeSpec(CARD) as {
  readonly features: readonly { readonly name: string; readonly type: string }[]
}
const APPLICANTS = randomApplicants(CARD, 20_000) as readonly Record<string, unknown>[]
const NAMES = SPEC.features.map(({ name }) => name)
const TYPES = {
  csv: 'text/csv',
  ndjson: 'application/x-ndjson',
  parquet: 'application/vnd.apache.parquet',
} as const
type Format = keyof typeof TYPES

const valueAt = (row: number, name: string) => APPLICANTS[row % APPLICANTS.length]?.[name] ?? null

function makeFile(format: Format): Buffer {
  if (format === 'parquet') {
    const columnData = [
      { name: 'id', type: 'STRING' as const, data: queryRows((row) => `A-${row}`) },
      ...SPEC.features.map(({ name, type }) => ({
        name,
        nullable: true,
        type: type === 'numeric' ? ('DOUBLE' as const) : ('STRING' as const),
        data: queryRows((row) => valueAt(row, name) ?? undefined),
      })),
    ]
    return Buffer.from(parquetWriteBuffer({ columnData, rowGroupSize: 100_000 }))
  }
  const parts = [Buffer.from(format === 'csv' ? `id,${NAMES.join()}\n` : '')]
  for (let start = 0; start < ROWS; start += 10_000) {
    let text = ''
    for (let row = start; row < Math.min(ROWS, start + 10_000); row++) {
      text +=
        format === 'csv'
          ? `A-${row},${NAMES.map((name) => valueAt(row, name) ?? '').join()}\n`
          : `${JSON.stringify({ id: `A-${row}`, ...APPLICANTS[row % APPLICANTS.length] })}\n`
    }
    parts.push(Buffer.from(text))
  }
  return Buffer.concat(parts)
}

function queryRows<T>(make: (row: number) => T): T[] {
  return Array.from({ length: ROWS }, (_, row) => make(row))
}

interface Service {
  readonly url: string
  readonly deployed: Deployed
}

async function call({ url, deployed }: Service, path: string, init: RequestInit = {}) {
  const headers = { ...init.headers, authorization: `Bearer ${deployed.key}` }
  const response = await fetch(url + path, { ...init, headers })
  if (!response.ok) throw new Error(`void: ${path}: ${response.status} ${await response.text()}`)
  return response
}

const run = promisify(execFile)

/** @returns the answer's body, unless it goes to a file */
async function curl({ url, deployed }: Service, path: string, args: string[]): Promise<string> {
  const key = `Authorization: Bearer ${deployed.key}`
  const { stdout } = await run('curl', ['-sS', '--fail', '-H', key, ...args, url + path])
  return stdout
}

/** Scores a file to its end; seconds of each step. */
async function scored(service: Service, format: Format, file: string, onUploaded = () => {}) {
  const startedMs = performance.now()
  const path = `/v1/batches/upload?deployment=${service.deployed.slug}`
  const type = `Content-Type: ${TYPES[format]}`
  const sent = await curl(service, path, ['-X', 'POST', '-T', file, '-H', type])
  const uploadedMs = performance.now()
  onUploaded()
  const { id } = JSON.parse(sent) as { id: string }
  for (;;) {
    const batch = (await (await call(service, `/v1/batches/${id}`)).json()) as {
      status: string
      counts: { scored: number }
    }
    if (batch.status === 'done' && batch.counts.scored === ROWS) break
    if (!['queued', 'running'].includes(batch.status)) {
      throw new Error(`void: ${JSON.stringify(batch)}`)
    }
    await setTimeout(POLL_MS)
  }
  const endedMs = performance.now()
  return {
    id,
    uploadSeconds: (uploadedMs - startedMs) / 1_000,
    seconds: (endedMs - uploadedMs) / 1_000,
  }
}

async function downloaded(service: Service, id: string, directory: string) {
  const startedMs = performance.now()
  const to = join(directory, 'results')
  await curl(service, `/v1/batches/${id}/results`, ['-o', to])
  const { size } = await stat(to)
  return {
    downloadSeconds: (performance.now() - startedMs) / 1_000,
    resultMiB: size / 2 ** 20,
  }
}

/** Scores single applicants until it is stopped or the seconds are over. */
function load({ url, deployed: { slug, key } }: Service, duration: number, rate?: number) {
  const options = {
    url: `${url}/v1/score/${slug}`,
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    body: JSON.stringify(APPLICANTS[0]),
    connections: CONNECTIONS,
    duration,
    ...(rate !== undefined && { overallRate: rate }),
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

function checked(result: autocannon.Result): autocannon.Result {
  if (result.non2xx + result.errors > 0) throw new Error('void: not all scores were answered')
  return result
}

interface Servers {
  readonly serverUrl: string
  readonly redisUrl: string
  readonly postgresId: number
}

async function round(format: Format, servers: Servers): Promise<Round> {
  const fleet = await Fleet.start({ replicas: 1, ...servers })
  const onCrash = (error: Error) => {
    throw error
  }
  const handle = await openDatabase({ url: fleet.databaseUrl, directory: '', onCrash })
  const directory = await mkdtemp(join(tmpdir(), 'bench-batches-'))
  try {
    const url = fleet.formatUrl(0)
    const deployed = await deployOnly(url, await fleet.signIn(), handle.db, SPEC)
    const service = { url, deployed }
    const bytes = makeFile(format)
    const file = join(directory, `applicants.${format}`)
    await writeFile(file, bytes)
    const processId = fleet.replicas[0]?.child.pid ?? 0
    const postgres = () => processesCpuMs(servers.postgresId) / 1_000
    const before = { service: processesCpuMs(processId), postgres: postgres() }
    const watched = watchBatchThread(processId)
    const alone = await scored(service, format, file)
    const threadSeconds = watched.stop()
    const after = { service: processesCpuMs(processId), postgres: postgres() }
    const { id, ...times } = alone
    const results = await downloaded(service, id, directory)
    const full = checked(await load(service, FULL_SECONDS).result)
    const rate = Number(values.rate) || Math.round(full.requests.average / 2)
    const quiet = checked(await load(service, ALONE_SECONDS, rate).result)
    // Beside the upload first, then beside the job that runs.
    let scoring = load(service, LOAD_SECONDS, rate)
    const besideUpload = scoring.result
    const beside = await scored(service, format, file, () => {
      scoring.stop()
      scoring = load(service, LOAD_SECONDS, rate)
    })
    scoring.stop()
    const busy = checked(await scoring.result)
    const uploading = checked(await besideUpload)
    const figures: Round = {
      fileMiB: bytes.length / 2 ** 20,
      ...times,
      ...results,
      applicantsPerSecond: ROWS / alone.seconds,
      serviceCpuSeconds: (after.service - before.service) / 1_000,
      threadCpuSeconds: threadSeconds,
      postgresCpuSeconds: after.postgres - before.postgres,
      peakMiB: peakMiB(processId),
      fullPerSecond: full.requests.average,
      rate,
      quietP50Ms: quiet.latency.p50,
      quietP99Ms: quiet.latency.p99,
      besideP50Ms: busy.latency.p50,
      besideP99Ms: busy.latency.p99,
      besideMaxMs: busy.latency.max,
      uploadP99Ms: uploading.latency.p99,
      uploadMaxMs: uploading.latency.max,
      besideSeconds: beside.seconds,
      p99Ratio: busy.latency.p99 / quiet.latency.p99,
    }
    console.log(format, figures)
    return figures
  } finally {
    await handle.close()
    await fleet.remove()
    await rm(directory, { recursive: true })
  }
}

/** Processor time of the thread that scores: it is gone when the batch has ended. */
function watchBatchThread(processId: number) {
  let seconds = 0
  const timer = setInterval(() => {
    for (const { name, cpuMs } of threadsCpuMs(processId).values()) {
      if (/batch/.test(name)) seconds = Math.max(seconds, cpuMs / 1_000)
    }
  }, POLL_MS)
  return {
    stop: () => {
      clearInterval(timer)
      return seconds
    },
  }
}

const server = await startPostgres()
const redis = await startRedis()
try {
  const servers = { serverUrl: server.url, redisUrl: redis.url, postgresId: server.processId }
  const rounds: Record<Format, Round[]> = { csv: [], ndjson: [], parquet: [] }
  for (let number = 0; number < ROUNDS; number++) {
    for (const format of values.formats.split(',') as Format[]) {
      rounds[format].push(await round(format, servers))
    }
  }
  const measured = Object.entries(rounds)
    .map(([name, of]) => ({ name, rounds: of }))
    .filter((one) => one.rounds.length > 0)
  const payload = { card: CARD, applicants: ROWS, connections: CONNECTIONS }
  storeResult('batches', payload, [{ name: 'a file of applicants', measured }])
} finally {
  await redis.remove()
  await server.drop()
}
