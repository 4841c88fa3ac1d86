import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { BatchFiles } from '../../../../src/jobs/batches/files.ts'
import { StorePlace } from '../../../../src/jobs/batches/open.ts'
import { TeamFolderStore } from '../../../../src/jobs/batches/team-folder-store.ts'
import { bytesSource } from '../../../../src/platform/object-store/object-store.ts'

let directory: string
let root: string
let place: StorePlace
let files: BatchFiles
const KEY = 'team_a/batches/job_1/input.csv'
const UNAVAILABLE = { code: 'unavailable' }
const AWAY = { code: 'unavailable', cause: { failure: 'away' } }

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'scoreline-place-'))
  root = join(directory, 'mounted')
  mkdirSync(root)
  const store = Promise.resolve(new TeamFolderStore(root))
  place = new StorePlace(store)
  files = new BatchFiles(store, place.name)
  await place.name()
  await files.write(KEY, Buffer.from('input'))
})
afterEach(() => rmSync(directory, { recursive: true }))

/** What a path has when the volume that was mounted there has gone. */
function unmount() {
  renameSync(root, join(directory, 'volume'))
  mkdirSync(root)
}

function mountAgain() {
  rmSync(root, { recursive: true })
  renameSync(join(directory, 'volume'), root)
}

const received = { source: bytesSource(Buffer.from('new')), discard: async () => undefined }

// Results would be on two disks, and a file that is there would be missing for good.
test('a volume that goes away is noticed, and all goes on when it is back', async () => {
  const name = await place.name()
  const version = (await files.head(KEY))?.version ?? ''
  unmount()
  const write = files.write('team_a/new.csv', Buffer.from('x'))
  await expect(write).rejects.toMatchObject(UNAVAILABLE)
  await expect(files.add('team_a/sent.csv', received)).rejects.toMatchObject(UNAVAILABLE)
  await expect(files.remove(KEY)).rejects.toMatchObject(UNAVAILABLE)
  await expect(files.head(KEY)).rejects.toMatchObject(UNAVAILABLE)
  const part = { batchId: 'job_1', kind: 'results', number: 1, key: KEY, sum: 0 } as const
  await expect(files.part(part)).rejects.toMatchObject(UNAVAILABLE)
  await expect(files.reader(KEY, version)(0, 5)).rejects.toMatchObject(UNAVAILABLE)
  await expect(place.name()).rejects.toMatchObject(UNAVAILABLE)
  expect(readdirSync(root)).toEqual([])
  mountAgain()
  expect(await place.name()).toBe(name)
  expect(String(await files.reader(KEY, version)(0, 5))).toBe('input')
  await files.write('team_a/new.csv', Buffer.from('x'))
  expect(await files.head('team_a/none.csv')).toBeNull()
})

test('another store at the path of the first one is not taken for it', async () => {
  unmount()
  await new StorePlace(Promise.resolve(new TeamFolderStore(root))).name()
  await expect(files.write(KEY, Buffer.from('x'))).rejects.toMatchObject(AWAY)
  expect(readdirSync(root)).toEqual(['_place'])
})
