/**
 * The archive of the score log: seconds, bytes of a score and memory to move a day of single scores
 * into Parquet files in a directory, then seconds to scan the day there, and one score read back
 * from there by a reader that has kept nothing.
 *
 *   npm run bench -- archive [--scores 10000000] [--reads 300] [--keep FOLDER]
 *
 * Needs the programs of PostgreSQL, of which it starts its own. With `--keep`, the folder has the
 * archive afterwards, and counts and sums of what was logged: `test/peers/archive.py` reads it.
 */
import { createHash } from 'node:crypto'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { sql } from 'drizzle-orm'
import { openArchive } from '../../src/log/archive/open.ts'
import type { LogReader } from '../../src/log/reading/log-reader.ts'
import { openLogReader } from '../../src/log/reading/open-reader.ts'
import { type Database, queryRows } from '../../src/platform/db/client.ts'
import { openDatabase } from '../../src/platform/db/open.ts'
import { percentile } from '../../test/support/load/percentile.ts'
import { startPostgres } from '../lib/backends.ts'
import { CARD, makeSpec } from '../lib/card.ts'
import { type Deployed, fillLog } from '../lib/log-fill.ts'
import { randomApplicants } from '../lib/logged-scores.ts'
import { storeResult } from '../lib/results.ts'

const { values } = parseArgs({
  options: {
    scores: { type: 'string', default: '10000000' },
    reads: { type: 'string', default: '300' },
    keep: { type: 'string' },
  },
})
const SCORES = Number(values.scores)
const READS = Number(values.reads)
const DAY_MS = 86_400_000
const MIB = 1_048_576
const EVERYTHING = {
  teamId: 'team_1',
  deploymentId: null,
  fromMs: Number.NEGATIVE_INFINITY,
  toMs: Number.POSITIVE_INFINITY,
}
const SAMPLE_MS = 50
const SPEC = makeSpec(CARD)
const APPLICANTS = randomApplicants(CARD, 20_000)

/** The only deployment of the database. */
async function deployed(db: Database): Promise<Deployed> {
  const [teamId, deploymentId, modelId] = ['team_1', 'dep_1', 'mod_0VbcS4T982wOdiA3oiOZvU']
  await db.execute(
    sql`insert into teams (id, name, created_at) values (${teamId}, 'a team', now())`,
  )
  const [row] = await queryRows<{ spec: string }>(
    db,
    sql`insert into models (id, team_id, name, version, spec_version, environment, status, spec,
        deployed_by, created_at, updated_at)
      values (${modelId}, ${teamId}, 'a card', '1', '1', 'production', 'active',
        ${JSON.stringify(SPEC)}::text::json, 'user_1', now(), now()) returning spec::text as spec`,
  )
  const specSha256 = createHash('sha256')
    .update(row?.spec ?? '')
    .digest('hex')
  return { teamId, deploymentId, modelId, specSha256, slug: '', key: '' }
}

/** The most memory of this process, with its threads, while it works. */
async function readPeak(work: () => Promise<void>): Promise<{ seconds: number; peakMiB: number }> {
  let peak = process.memoryUsage().rss
  const timer = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage().rss)
  }, SAMPLE_MS)
  const beganMs = performance.now()
  await work()
  clearInterval(timer)
  return { seconds: (performance.now() - beganMs) / 1_000, peakMiB: peak / MIB }
}

/** Counts and sums of the log, as they are in the database; one pass. */
async function loggedSums(reader: LogReader): Promise<object> {
  const days = new Set<string>()
  let rows = 0
  let sumScore = 0n
  let sumPd = 0n
  for await (const portion of reader.columns(EVERYTHING)) {
    for (const { models, wanted, requestOfRow, scoredAtMs } of portion) {
      const [{ scores, pds } = { scores: [], pds: [] }] = models
      for (const row of wanted) {
        rows++
        sumScore += billionths(scores[row])
        sumPd += billionths(pds[row])
        days.add(new Date(scoredAtMs(requestOfRow[row] ?? 0)).toISOString().slice(0, 10))
      }
    }
  }
  const sums = { sum_score: String(sumScore), sum_pd: String(sumPd) }
  return { rows, requests: rows, scores: rows, ...sums, dt: [...days].sort() }
}

/** So that the order of the additions does not matter. */
function billionths(value = 0): bigint {
  return BigInt(Math.floor(value * 1e9))
}

const root = mkdtempSync(join(tmpdir(), 'bench-archive-'))
mkdirSync(join(root, 'store'))
const server = await startPostgres()
const handle = await openDatabase({
  url: server.url,
  directory: '',
  onCrash: (error) => {
    throw error
  },
})
const ids: string[] = []
const everyId = Math.max(1, Math.floor(SCORES / READS))
let scored = 0
const filled = await fillLog(handle.db, await deployed(handle.db), {
  spec: SPEC,
  applicants: APPLICANTS,
  scores: SCORES,
  days: 1,
  onScore: (requestId) => {
    if (scored++ % everyId === 0) ids.push(requestId)
  },
})
console.log(`${SCORES} scores in ${filled.blocks} blocks, stored in ${filled.seconds.toFixed(0)} s`)
const archive = await openArchive(
  {
    scoreLogArchive: pathToFileURL(join(root, 'store')).href,
    scoreLogArchiveAfterMs: DAY_MS,
    scoreLogArchiveCheckDays: 0,
    scoreLogRetentionDays: 761,
    spoolKeepMs: 900_000,
    awsEndpointUrl: null,
    awsRegion: 'us-east-1',
    usesPathStyle: true,
  },
  {
    database: handle,
    directory: join(root, 'work'),
    // The day is over, and spools are waited for no longer.
    clock: { epochMs: () => Date.now() + 10 * DAY_MS, monotonicMs: () => performance.now() },
    sharedClock: { nowMs: async () => Date.now() + 10 * DAY_MS },
    log: { info: console.log, warn: console.warn, error: console.error },
  },
)
const openAnew = () =>
  openLogReader({ db: handle.db, guarded: (one) => one, ...archive.forReaders })
const logged = values.keep === undefined ? null : await loggedSums(openAnew().reader)
const rssBeforeMiB = process.memoryUsage().rss / MIB
const moved = await readPeak(async () => {
  if ((await archive.archiver?.run()) !== true) throw new Error('the archive failed')
})
const bytes = archive.archiver?.facts.bytes ?? 0
let seen = 0
const scanned = await readPeak(async () => {
  for await (const portion of openAnew().reader.columns(EVERYTHING)) {
    for (const { wanted } of portion) seen += wanted.length
  }
})
if (seen !== SCORES) throw new Error(`the archive has ${seen} of ${SCORES} scores`)
const tookMs: number[] = []
for (const id of ids.slice(0, READS)) {
  const beganMs = performance.now()
  if ((await openAnew().reader.find(id)) === null) throw new Error(`${id} is not in the archive`)
  tookMs.push(performance.now() - beganMs)
}
const figures = {
  scores: SCORES,
  archiveSeconds: moved.seconds,
  archiveUs: (1e6 * moved.seconds) / SCORES,
  bytesAScore: bytes / SCORES,
  rssBeforeMiB,
  rssPeakMiB: moved.peakMiB,
  scanSeconds: scanned.seconds,
  findP50Ms: percentile(tookMs, 0.5),
  findP99Ms: percentile(tookMs, 0.99),
}
console.log(figures)
const measured = [{ name: 'a day in a directory', rounds: [figures] }]
storeResult('archive', { card: CARD, scores: SCORES }, [{ name: 'archive', measured }])
await archive.close()
await handle.close()
await server.drop()
if (values.keep !== undefined) {
  cpSync(join(root, 'store'), join(values.keep, 'store'), { recursive: true })
  writeFileSync(join(values.keep, 'expected.json'), JSON.stringify(logged))
}
rmSync(root, { recursive: true })
