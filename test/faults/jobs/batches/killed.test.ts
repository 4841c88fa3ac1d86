import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { sql } from 'drizzle-orm'
import { describe, expect, onTestFinished, test } from 'vitest'
import { queryRows } from '../../../../src/platform/db/client.ts'
import { csvLine } from '../../../support/batches/batches.ts'
import { BatchReplica, hasEnded } from '../../../support/batches/replica.ts'
import { loggedFacts } from '../../../support/score-log/log-rows.ts'
import {
  type Backend,
  backends,
  firstBackend,
  hasPostgres,
  newDataDir,
  postgres,
  type TestDatabase,
} from '../../../support/start/databases.ts'
import { withDatabase } from '../../../support/start/seeded-database.ts'

const ROWS = 60_000
/** Rows with the same values come again after so many. */
const PERIOD = 35
const makeFile = (rows: number) =>
  `id,income\n${Array.from({ length: rows }, (_, row) =>
    csvLine([`A-${row}`, row % 7 === 0 ? null : (row % 5) - 2]),
  ).join('')}`
const FILE = makeFile(ROWS)

/** As if the time of the dead run's lease had passed. */
function endLeases(database: TestDatabase): Promise<void> {
  return withDatabase(database, async (db) => {
    await db.execute(sql`update jobs set leased_until = now() where status = 'running'`)
  })
}

interface Result {
  readonly line: number
  readonly id: string
  readonly request_id: string
  readonly record_index: number
}

/** Every line of the file is in the results once, and in the log once. */
async function expectOnce(
  database: TestDatabase,
  results: readonly Result[],
  applicantsInLog = ROWS,
): Promise<void> {
  const lines = Array.from({ length: ROWS }, (_, row) => `${row + 2} A-${row}`)
  expect(results.map(({ line, id }) => `${line} ${id}`)).toEqual(lines)
  await withDatabase(database, async (db) => {
    const logged = await loggedFacts(db)
    const applicants = logged.reduce((sum, one) => sum + one.applicants, 0)
    expect(applicants).toBe(applicantsInLog)
    const ids = new Set(logged.map(({ requestId }) => requestId))
    expect(ids.size).toBe(logged.length)
    for (const { request_id: id } of results) expect(ids).toContain(id)
    const places = new Set(results.map((one) => `${one.request_id} ${one.record_index}`))
    expect(places.size).toBe(ROWS)
    const [sums] = await queryRows<{ applicants: number }>(
      db,
      sql`select sum(applicants)::float8 as applicants from score_blocks
        where superseded_at is null`,
    )
    expect(sums?.applicants).toBe(applicantsInLog)
  })
}

/** What depends on the values of a row alone. */
const readScore = ({ id: _, line: __, request_id: ___, record_index: ____, ...rest }: Result) =>
  JSON.stringify(rest)

describe.each(backends)('on $name', (backend: Backend) => {
  // A batch of an hour must not begin anew, nor leave an applicant twice in what others see.
  test('a batch whose process is killed goes on, with every applicant once', async () => {
    const database = await backend.create()
    onTestFinished(() => database.drop())
    let replica = await BatchReplica.start(database)
    const slug = await replica.deploy()
    const id = await replica.send(slug, FILE)
    for (const scored of [10_000, 35_000]) {
      await replica.until(id, ({ counts }) => counts.scored >= scored)
      await replica.process.stop('SIGKILL')
      await endLeases(database)
      replica = await BatchReplica.start(database)
    }
    const batch = await replica.until(id, hasEnded)
    expect(batch).toMatchObject({ status: 'done', counts: { scored: ROWS, errors: 0 } })
    const results = await replica.results(id)
    const again = await replica.send(slug, makeFile(PERIOD))
    await replica.until(again, hasEnded)
    const expected = (await replica.results(again)).map(readScore)
    expect(results.map(readScore)).toEqual(results.map((_, row) => expected[row % PERIOD]))
    expect(await replica.process.stop()).toBe(0)
    await expectOnce(database, results, ROWS + PERIOD)
  }, 600_000)
})

/** Ids of the processes that score files for a service. */
function scoringProcesses(parent: number): number[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return []
    try {
      const parentOf = readFileSync(`/proc/${name}/stat`, 'utf8').split(') ').at(-1)?.split(' ')[1]
      const isScorer = readFileSync(`/proc/${name}/cmdline`, 'utf8').includes('batches/process.ts')
      return isScorer && Number(parentOf) === parent ? [Number(name)] : []
    } catch {
      // It has ended.
      return []
    }
  })
}

function endProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended by itself.
  }
}

test('a batch whose scoring process the system kills goes on, and ends with all', async () => {
  const database = await firstBackend.create()
  onTestFinished(() => database.drop())
  const replica = await BatchReplica.start(database)
  const slug = await replica.deploy()
  const id = await replica.send(slug, FILE)
  for (const scored of [5_000, 30_000]) {
    await replica.until(id, ({ counts }) => counts.scored >= scored)
    for (const pid of scoringProcesses(replica.process.child.pid ?? 0)) endProcess(pid)
  }
  const batch = await replica.until(id, hasEnded)
  expect(batch).toMatchObject({ status: 'done', counts: { scored: ROWS, errors: 0 } })
  const results = await replica.results(id)
  expect(await replica.process.stop()).toBe(0)
  await expectOnce(database, results)
}, 600_000)

describe.skipIf(!hasPostgres)('on PostgreSQL alone', () => {
  test('a replica goes on with the batch of one that died, and none runs one twice', async () => {
    const database = await postgres.create()
    const store = mkdtempSync(join(tmpdir(), 'scoreline-batches-'))
    onTestFinished(async () => {
      await database.drop()
      rmSync(store, { recursive: true, force: true })
    })
    const env = { BATCH_STORE: pathToFileURL(store).href }
    const first = await BatchReplica.start(database, env)
    const dataDir = newDataDir()
    mkdirSync(dataDir, { recursive: true })
    const second = await BatchReplica.start({ ...database, dataDir }, env)
    const slug = await first.deploy()
    const ids = [
      await first.send(slug, FILE),
      await first.send(slug, FILE),
      await second.send(slug, FILE),
    ]
    await first.until(ids[0] ?? '', ({ counts }) => counts.scored >= 10_000)
    await first.process.stop('SIGKILL')
    await endLeases(database)
    for (const id of ids) {
      const batch = await second.until(id, hasEnded)
      expect(batch).toMatchObject({ status: 'done', counts: { scored: ROWS, errors: 0 } })
    }
    const results = await second.results(ids[0] ?? '')
    expect(await second.process.stop()).toBe(0)
    await expectOnce(database, results, ids.length * ROWS)
  }, 600_000)
})
