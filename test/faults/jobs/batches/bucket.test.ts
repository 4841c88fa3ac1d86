import { sql } from 'drizzle-orm'
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest'
import { csvLine } from '../../../support/batches/batches.ts'
import { findTeam } from '../../../support/batches/example.ts'
import { BatchReplica, hasEnded } from '../../../support/batches/replica.ts'
import { S3Server } from '../../../support/servers/s3-server.ts'
import { lastBackend } from '../../../support/start/databases.ts'
import { withDatabase } from '../../../support/start/seeded-database.ts'

const ROWS = 30_000
const FILE = `id,income\n${Array.from({ length: ROWS }, (_, row) =>
  csvLine([`A-${row}`, (row % 5) - 2]),
).join('')}`

let server: S3Server

beforeEach(async () => {
  server = await S3Server.start()
})
afterEach(() => server.close())

// A part that is written twice, and a process that dies, must leave every applicant once.
test('a file of a bucket is scored, also by the next process, and has its results beside it', async () => {
  const database = await lastBackend.create()
  onTestFinished(() => database.drop())
  const env = {
    BATCH_STORE: 's3://bucket/portfolios',
    AWS_ENDPOINT_URL: server.endpoint,
    AWS_ACCESS_KEY_ID: 'test',
    AWS_SECRET_ACCESS_KEY: 'test',
  }
  const first = await BatchReplica.start(database, env)
  const slug = await first.deploy()
  const folder = `portfolios/${findTeam(first.token)}`
  server.objects.set(`${folder}/2026-11/all.csv`, Buffer.from(FILE))
  server.fail({ method: 'PUT', status: 503, code: 'SlowDown', times: 2 })
  server.fail({ method: 'GET', status: 500, times: 1 })
  const id = await first.startFile(slug, '2026-11/all.csv')
  await first.until(id, ({ counts }) => counts.scored >= 10_000)
  await first.process.stop('SIGKILL')
  await withDatabase(database, async (db) => {
    await db.execute(sql`update jobs set leased_until = now() where status = 'running'`)
  })
  const second = await BatchReplica.start(database, env)
  const batch = await second.until(id, hasEnded)
  expect(batch).toMatchObject({ status: 'done', counts: { scored: ROWS, errors: 0 } })
  expect(batch.results.path).toBe(`2026-11/all.csv.${id}`)
  const results = await second.results(id)
  expect(results.map(({ line }) => line)).toEqual(Array.from({ length: ROWS }, (_, row) => row + 2))
  const parts = [...server.objects.keys()].filter((key) => key.includes(id))
  expect(parts).toHaveLength(batch.results.parts)

  const sent = await second.send(slug, FILE)
  expect(await second.until(sent, hasEnded)).toMatchObject({ status: 'done' })
  const again = await second.results(sent)
  const scores = (of: typeof results) => of.map(({ line, score, pd }) => [line, score, pd])
  expect(scores(again)).toEqual(scores(results))
}, 600_000)
