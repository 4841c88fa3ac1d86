import { createHash, randomBytes } from 'node:crypto'
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { DiskRoom } from '../../../../src/jobs/batches/disk-room.ts'
import { TeamFolderStore } from '../../../../src/jobs/batches/team-folder-store.ts'
import { Uploads } from '../../../../src/jobs/batches/uploads.ts'

const KEY = 'team_a/batches/job_1/input.csv'
const MIB = 1024 * 1024

let root: string
let uploads: Uploads

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'scoreline-uploads-'))
  uploads = new Uploads(join(root, 'uploads'), async () => new DiskRoom([], 0))
})
afterEach(() => rmSync(root, { recursive: true }))

/** Sends a body in pieces. */
const receive = (bytes: Buffer, portionBytes: number) => {
  async function* body() {
    for (let at = 0; at < bytes.length; at += portionBytes) {
      yield Buffer.from(bytes.subarray(at, at + portionBytes))
    }
  }
  return uploads.receive('job_1', { body: body(), bytesMax: 16 * MIB })
}

test.each([
  ['less than a write', 1_000, 300],
  ['several writes, in pieces that do not fit them', 2 * MIB + 17, 65_431],
  ['whole writes', 2 * MIB, 64 * 1024],
  ['a piece that is longer than a write', 3 * MIB, 3 * MIB],
])('a body of %s is on the disk as it was sent', async (_, length, portionBytes) => {
  const bytes = randomBytes(length)
  const { source } = await receive(bytes, portionBytes)
  expect(source).toMatchObject({
    bytes: length,
    sha256: createHash('sha256').update(bytes).digest(),
  })
  expect(readFileSync(source.path ?? '').equals(bytes)).toBe(true)
  const opened: Uint8Array[] = []
  for await (const portion of source.open()) opened.push(Buffer.from(portion))
  expect(Buffer.concat(opened).equals(bytes)).toBe(true)
})

// A copy of a file of gigabytes would take as long as its upload, and as much of the disk.
test('a file that was sent enters a store on its disk without a copy, and stays as it was', async () => {
  const bytes = randomBytes(MIB)
  const { source, discard } = await receive(bytes, 10_000)
  const store = new TeamFolderStore(root)
  await store.put(KEY, source)
  const before = await store.head(KEY)
  expect(statSync(join(root, KEY)).ino).toBe(statSync(source.path ?? '').ino)
  await discard()
  expect(readdirSync(join(root, 'uploads'))).toEqual([])
  expect(readFileSync(join(root, KEY)).equals(bytes)).toBe(true)
  // The version must not change under the batch that reads it.
  expect(await store.head(KEY)).toEqual(before)
  expect(statSync(join(root, KEY)).mode & 0o137).toBe(0)
})

test('a file that was sent is copied where it cannot have a second name', async () => {
  const bytes = randomBytes(MIB + 1)
  const { source } = await receive(bytes, 10_000)
  const store = new TeamFolderStore(root)
  await store.put(KEY, { ...source, path: join(root, 'not-there') })
  expect(readFileSync(join(root, KEY)).equals(bytes)).toBe(true)
})

// Programs of a team read its folder by the group that such a folder gives to its files.
test('a file that was sent is copied into a folder that gives files its group', async () => {
  const { source } = await receive(randomBytes(1_000), 100)
  const folder = join(root, dirname(KEY))
  mkdirSync(folder, { recursive: true })
  chmodSync(folder, 0o2770)
  await new TeamFolderStore(root).put(KEY, source)
  expect(statSync(join(root, KEY)).ino).not.toBe(statSync(source.path ?? '').ino)
})

test('a file that has become another one does not enter the store', async () => {
  const { source } = await receive(randomBytes(1_000), 100)
  const store = new TeamFolderStore(root)
  await expect(store.put(KEY, { ...source, bytes: 999 })).rejects.toMatchObject({ failure: 'away' })
  expect(await store.head(KEY)).toBeNull()
})
