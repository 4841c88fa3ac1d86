import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { TeamFolderStore } from '../../../../src/jobs/batches/team-folder-store.ts'
import { bytesSource } from '../../../../src/platform/object-store/object-store.ts'

let root: string
let store: TeamFolderStore

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'scoreline-folders-'))
  store = new TeamFolderStore(root)
  for (const team of ['team_a', 'team_b']) mkdirSync(join(root, team, 'files'), { recursive: true })
  writeFileSync(join(root, 'team_a/files/own.csv'), 'own')
  writeFileSync(join(root, 'team_b/files/theirs.csv'), 'theirs')
  writeFileSync(join(root, '_place'), 'a store')
})
afterEach(() => rmSync(root, { recursive: true }))

const text = (value: string) => bytesSource(Buffer.from(value))
const readAll = async (key: string) => String(await store.read(key, { from: 0, bytes: 100 }))

/** Ways for a name in the folder of one team to lead to the folder of another one. */
const LINKS = [
  ['a file', 'linked.csv', '../team_b/files/theirs.csv', 'team_a/linked.csv'],
  ['a folder', 'linked', '../team_b/files', 'team_a/linked/theirs.csv'],
  ['the store', 'linked', '..', 'team_a/linked/team_b/files/theirs.csv'],
  ['an outside file', 'linked.csv', '/etc/hostname', 'team_a/linked.csv'],
] as const

test.each(LINKS)('a link to %s of others is not read', async (_, name, target, key) => {
  symlinkSync(target, join(root, 'team_a', name))
  await expect(store.head(key)).rejects.toMatchObject({ failure: 'refused' })
  await expect(readAll(key)).rejects.toMatchObject({ failure: 'refused' })
})

test('a team whose folder is a link to that of another one has no files', async () => {
  symlinkSync('team_b', join(root, 'team_c'))
  await expect(store.head('team_c/files/theirs.csv')).rejects.toMatchObject({ failure: 'refused' })
})

test('nothing is written or removed through a link to the folder of another team', async () => {
  symlinkSync('../team_b/files', join(root, 'team_a/linked'))
  const refused = { failure: 'refused' }
  await expect(store.replace('team_a/linked/new.csv', text('x'))).rejects.toMatchObject(refused)
  await expect(store.put('team_a/linked/new.csv', text('x'))).rejects.toMatchObject(refused)
  await expect(store.replace('team_a/linked/deep/new.csv', text('x'))).rejects.toThrow()
  await expect(store.delete('team_a/linked/theirs.csv')).rejects.toMatchObject(refused)
  expect(readdirSync(join(root, 'team_b/files'))).toEqual(['theirs.csv'])
})

test('a result takes the place of a link, and not of the file that it leads to', async () => {
  symlinkSync('../../team_b/files/theirs.csv', join(root, 'team_a/files/result.csv'))
  await store.replace('team_a/files/result.csv', text('ours'))
  expect(readFileSync(join(root, 'team_b/files/theirs.csv'), 'utf8')).toBe('theirs')
  expect(await readAll('team_a/files/result.csv')).toBe('ours')
})

test('a link within the folder of a team is followed, also to write beside it', async () => {
  symlinkSync('files', join(root, 'team_a/latest'))
  symlinkSync('files/own.csv', join(root, 'team_a/latest.csv'))
  expect(await readAll('team_a/latest/own.csv')).toBe('own')
  expect(await readAll('team_a/latest.csv')).toBe('own')
  await store.replace('team_a/latest/results/1.csv', text('result'))
  expect(readFileSync(join(root, 'team_a/files/results/1.csv'), 'utf8')).toBe('result')
})

test('objects are stored, replaced, read by their version and removed', async () => {
  expect(await store.put('team_a/new/deep/1.csv', text('first'))).toBe('stored')
  expect(await store.put('team_a/new/deep/1.csv', text('first'))).toBe('present')
  await expect(store.put('team_a/new/deep/1.csv', text('other'))).rejects.toMatchObject({
    failure: 'conflict',
  })
  const before = await store.head('team_a/new/deep/1.csv')
  await store.replace('team_a/new/deep/1.csv', text('second'))
  expect(await readAll('team_a/new/deep/1.csv')).toBe('second')
  const range = { from: 0, bytes: 10 }
  await expect(store.read('team_a/new/deep/1.csv', range, before?.version)).rejects.toMatchObject({
    failure: 'changed',
  })
  await store.delete('team_a/new/deep/1.csv')
  await store.delete('team_a/new/deep/1.csv')
  await store.delete('team_a/none/1.csv')
  expect(await store.head('team_a/new/deep/1.csv')).toBeNull()
  expect(await store.head('team_a/files/own.csv/1.csv').catch(() => null)).toBeNull()
  await expect(readAll('team_a/none.csv')).rejects.toMatchObject({ failure: 'missing' })
  expect(await store.head('_place')).toMatchObject({ bytes: 7 })
  expect(await store.put('_other', text('x'))).toBe('stored')
})

// Between a check of a path and its use, somebody can exchange a folder for a link.
test('a folder that is exchanged for a link again and again never leads elsewhere', async () => {
  const folder = join(root, 'team_a/swapped')
  const [real, link] = [join(root, 'team_a/real'), join(root, 'team_a/link')]
  mkdirSync(folder)
  writeFileSync(join(folder, 'theirs.csv'), 'own')
  symlinkSync('../team_b/files', link)
  let isSwapping = true
  // What the store makes in the meantime stands in the way, perhaps again and again.
  const place = (path: string) => {
    for (;;) {
      rmSync(folder, { recursive: true, force: true })
      try {
        return renameSync(path, folder)
      } catch (error) {
        if (!existsSync(folder)) throw error
      }
    }
  }
  const swapping = (async () => {
    while (isSwapping) {
      renameSync(folder, real)
      place(link)
      await new Promise(setImmediate)
      renameSync(folder, link)
      place(real)
      await new Promise(setImmediate)
    }
  })()
  const seen = new Set<string>()
  for (let round = 0; round < 400; round++) {
    seen.add(await readAll('team_a/swapped/theirs.csv').catch((error) => error.failure))
    if (round % 8 > 0) continue
    await store.replace('team_a/swapped/new.csv', text('x')).catch(() => undefined)
  }
  isSwapping = false
  await swapping
  expect(seen).not.toContain('theirs')
  expect(seen).toContain('own')
  expect(readdirSync(join(root, 'team_b/files'))).toEqual(['theirs.csv'])
})
