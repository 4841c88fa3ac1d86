import { afterEach, expect, onTestFinished, test, vi } from 'vitest'
import { DiskRoom } from '../../../../src/jobs/batches/disk-room.ts'
import { BatchCaller } from '../../../support/batches/batches.ts'
import { craftedParquet, numberPage } from '../../../support/batches/crafted-parquet.ts'
import { lastBackend } from '../../../support/start/databases.ts'
import { TestService } from '../../../support/start/service.ts'
import { numberedSpec, Team } from '../../../support/start/team.ts'

let service: TestService
let team: Team
let caller: BatchCaller

const start = async (env: Readonly<Record<string, string>>) => {
  service = await TestService.start(lastBackend, { env })
  team = await Team.of(service)
  caller = new BatchCaller(service, team.key)
  return (await team.deploy(numberedSpec(1))).slug
}
afterEach(() => service.close())

const queryRows = (rows: number) => `income\n${'1\n'.repeat(rows)}`

test('a file with more applicants than the bound fails, and one with as many is scored', async () => {
  const slug = await start({ BATCH_MAX_RECORDS: '6000' })
  expect(await caller.score(slug, queryRows(6_000))).toMatchObject({ status: 'done' })
  const long = await caller.score(slug, queryRows(6_001))
  expect(long).toMatchObject({
    status: 'failed',
    error: 'invalid_file',
    message: 'the file has more than 6000 applicants: split it',
    counts: { scored: 5_000 },
  })
  const pages = [numberPage(new Array(6_001).fill(1))]
  const parquet = craftedParquet({ element: { name: 'income' }, rows: 6_001, pages })
  expect(await caller.score(slug, parquet, { format: 'parquet' })).toMatchObject({
    status: 'failed',
    message: 'the file has more than 6000 applicants: split it',
    counts: { scored: 0 },
  })
})

test('while a disk has less than its reserve, no file is taken and a batch stops', async () => {
  const slug = await start({ BATCH_MIN_FREE_BYTES: String(2 ** 49) })
  const sent = await caller.send(slug, queryRows(2))
  expect([sent.statusCode, sent.json().error]).toEqual([503, 'unavailable'])
  expect(sent.json().message).toMatch(/^the disk of batches has no room for more files/)

  // It fills while the second chunk is scored: the order, its body and the first chunk had room.
  let left = 3
  const room = vi.spyOn(DiskRoom.prototype, 'has').mockImplementation(async () => left-- > 0)
  onTestFinished(() => room.mockRestore())
  const batch = await caller.score(slug, queryRows(12_000))
  expect(batch).toMatchObject({
    status: 'failed',
    error: 'limit_reached',
    counts: { scored: 5_000 },
  })
  expect(batch.message).toMatch(/^the disk of the store has no room for more results/)
})

test('a batch whose results would pass the bound of the team stops, with the reason', async () => {
  const slug = await start({ BATCH_TEAM_MAX_BYTES: '400000' })
  const batch = await caller.score(slug, queryRows(20_000))
  expect(batch).toMatchObject({ status: 'failed', error: 'limit_reached' })
  expect(batch.message).toMatch(/^the files and results of the team would take more than 400000 b/)
  expect(batch.counts.scored).toBeLessThan(20_000)
  expect(String(await caller.bytes(batch.id)).split('\r\n')).toHaveLength(batch.counts.scored + 2)
})

test('columns that no model knows are listed up to a bound, and the others counted', async () => {
  const slug = await start({})
  const names = Array.from({ length: 5_000 }, (_, column) => `a column of a warehouse ${column}`)
  const batch = await caller.score(slug, `income,${names.join()}\n1${','.repeat(5_000)}\n`)
  expect(batch).toMatchObject({ status: 'done', more_unknown_columns: 4_900 })
  expect(batch.unknown_columns).toEqual(names.slice(0, 100))
})
