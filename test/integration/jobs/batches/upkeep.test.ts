import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { errorKey, type NewBatch, resultKey } from '../../../../src/jobs/batches/batch.ts'
import { DiskRoom } from '../../../../src/jobs/batches/disk-room.ts'
import { BatchFiles } from '../../../../src/jobs/batches/files.ts'
import { BatchStore } from '../../../../src/jobs/batches/store.ts'
import { TeamFolderStore } from '../../../../src/jobs/batches/team-folder-store.ts'
import { BatchUpkeep } from '../../../../src/jobs/batches/upkeep.ts'
import { Uploads } from '../../../../src/jobs/batches/uploads.ts'
import { JobStore } from '../../../../src/jobs/store.ts'
import { newId } from '../../../../src/platform/ids.ts'
import { backends } from '../../../support/start/databases.ts'
import { databaseForSuite } from '../../../support/start/seeded-database.ts'
import { insertTeam } from '../../../support/start/users.ts'

const DAY_MS = 86_400_000
const PLACE = 'a store of the tests'

describe.each(backends)('on $name', (backend) => {
  const handle = databaseForSuite(backend)
  let store: BatchStore
  const directory = mkdtempSync(join(tmpdir(), 'scoreline-upkeep-'))
  const objects = Promise.resolve(new TeamFolderStore(directory))
  const files = new BatchFiles(objects, async () => PLACE)
  const received = new Uploads(join(directory, 'uploads'), async () => new DiskRoom([], 0))

  beforeAll(() => {
    store = new BatchStore(handle.db)
  })
  afterAll(async () => {
    rmSync(directory, { recursive: true })
  })

  const upkeep = (
    onFailed = (error: unknown, _batchId: string | null): void => {
      throw error
    },
  ) =>
    new BatchUpkeep({
      store,
      files,
      received,
      place: async () => PLACE,
      keptMs: 7 * DAY_MS,
      inputKeptMs: DAY_MS / 96,
      onFailed,
    })

  /** A batch of two chunks with their files, whose job ended so many days ago; null: it runs. */
  async function newBatch(endedDays: number | null): Promise<NewBatch> {
    const teamId = await insertTeam(handle.db)
    const id = newId('job_', Date.now())
    const folder = `${teamId}/batches/${id}`
    const batch: NewBatch = {
      id,
      sender: { teamId, environment: null, by: 'usr_1' },
      state: {
        deploymentId: 'dep_1',
        teamId,
        environment: 'production',
        isActive: true,
        shadowMode: false,
        strictMode: false,
        cacheVersion: 1,
        championModelId: 'mod_1',
        baselineId: null,
        challengers: [],
      },
      options: {
        format: 'csv',
        results: 'csv',
        idField: 'id',
        strictMode: false,
        withContributions: false,
        routingKey: null,
      },
      input: { key: `${folder}/input.csv`, bytes: 100, version: '1', isUpload: true },
      folder,
      place: PLACE,
      requestSeed: 'a seed',
      createdAt: new Date(),
    }
    const audit = {
      id: newId('aud_', Date.now()),
      teamId,
      actor: 'usr_1',
      action: 'batch.create',
      subject: id,
      before: null,
      after: null,
      reason: null,
      createdAt: new Date(),
    } as const
    expect(await store.add(batch, audit)).toBe(true)
    for (const key of [batch.input.key, resultKey(batch, 0), resultKey(batch, 1)]) {
      await files.write(key, Buffer.from('x'))
    }
    await files.write(errorKey(batch, 1), Buffer.from('x'))
    await handle.db.execute(sql`update batches set chunks = 2, error_chunks = '{1}',
      result_bytes = 30 where id = ${id}`)
    if (endedDays !== null) {
      await handle.db.execute(sql`update jobs set status = 'done',
        finished_at = now() - ${endedDays}::float8 * interval '1 day' where id = ${id}`)
    }
    return batch
  }

  const left = ({ folder }: NewBatch) => readdirSync(join(directory, folder)).sort()
  const RESULTS = ['errors-000002.ndjson', 'results-000001.csv', 'results-000002.csv']

  // A failover that forgets the end of a batch runs it again, which needs the file.
  test('a file that was sent goes a quarter of an hour after its batch, results later', async () => {
    const running = await newBatch(null)
    const justEnded = await newBatch(0.005)
    const ended = await newBatch(6.9)
    const over = await newBatch(7.1)
    expect(await store.storedBytes(ended.sender.teamId)).toBe(130)
    await upkeep().removeAll()
    expect(left(running)).toEqual([...RESULTS.slice(0, 1), 'input.csv', ...RESULTS.slice(1)])
    expect(left(justEnded)).toEqual(left(running))
    expect(left(ended)).toEqual(RESULTS)
    expect(left(over)).toEqual([])
    expect(await store.storedBytes(ended.sender.teamId)).toBe(30)
    expect(await store.find(over.id)).toBeNull()
    expect(await store.find(ended.id)).not.toBeNull()
    await upkeep().removeAll()
    expect(left(ended)).toEqual(RESULTS)
  })

  // A folder that nobody may write must not keep what is of all other teams for years.
  test('a batch that stays stuck is named and does not hold up the others', async () => {
    const [stuck, ...others] = [await newBatch(8), await newBatch(8), await newBatch(8)]
    if (stuck === undefined) throw new Error('there is no batch')
    const remove = vi.spyOn(files, 'remove').mockImplementation(async (key) => {
      if (key.startsWith(stuck.folder)) throw new Error('no right')
      rmSync(join(directory, key), { force: true })
    })
    const failed: (string | null)[] = []
    const one = upkeep((_, batchId) => void failed.push(batchId))
    await one.removeAll()
    remove.mockRestore()
    expect(failed).toEqual([stuck.id])
    expect(one.failures).toBe(1)
    for (const other of others) expect(await store.find(other.id)).toBeNull()
    expect(await store.find(stuck.id)).not.toBeNull()
    await upkeep().removeAll()
    expect(await store.find(stuck.id)).toBeNull()
  })

  // A process can die between the store and the database: nobody would know of the file.
  test('a file whose batch never came to be is removed, and that of a batch stays', async () => {
    const [added, lost] = [await newBatch(null), newId('job_', Date.now())]
    await files.write(`team_x/batches/${lost}/input.csv`, Buffer.from('x'))
    mkdirSync(join(directory, 'uploads'), { recursive: true })
    await received.note(added.id, added.input.key)
    await received.note(lost, `team_x/batches/${lost}/input.csv`)
    await upkeep().removeAll()
    expect(readdirSync(join(directory, `team_x/batches/${lost}`))).toEqual(['input.csv'])
    const hoursAgo = new Date(Date.now() - 2 * 3_600_000)
    for (const name of readdirSync(join(directory, 'uploads'))) {
      utimesSync(join(directory, 'uploads', name), hoursAgo, hoursAgo)
    }
    await upkeep().removeAll()
    expect(readdirSync(join(directory, `team_x/batches/${lost}`))).toEqual([])
    expect(left(added)).toContain('input.csv')
    expect(readdirSync(join(directory, 'uploads'))).toEqual([])
  })

  test('the job of a batch is kept as long as its results', async () => {
    const jobs = new JobStore(handle.db)
    const batch = await newBatch(6)
    await jobs.removeOld(DAY_MS)
    expect(await jobs.find(batch.sender.teamId, batch.id)).not.toBeNull()
    await store.remove(batch.id)
    await jobs.removeOld(DAY_MS)
    expect(await jobs.find(batch.sender.teamId, batch.id)).toBeNull()
  })

  test('only a runner of its place takes a batch', async () => {
    const jobs = new JobStore(handle.db)
    const batch = await newBatch(null)
    expect(await jobs.take(['batch'], 'runner', 60_000, 'another place')).toBeNull()
    const taken = new Set<string>()
    for (let job = await jobs.take(['batch'], 'runner', 60_000, PLACE); job !== null; ) {
      taken.add(job.id)
      job = await jobs.take(['batch'], 'runner', 60_000, PLACE)
    }
    expect(taken).toContain(batch.id)
  })
})
