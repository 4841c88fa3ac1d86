import type * as FileCalls from 'node:fs/promises'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { TeamFolderStore } from '../../../../src/jobs/batches/team-folder-store.ts'
import { DirectoryCalls } from '../../../../src/platform/object-store/directory-calls.ts'
import { bytesSource } from '../../../../src/platform/object-store/object-store.ts'

const disk = vi.hoisted(() => ({ answers: Promise.resolve(), underWay: 0, most: 0 }))

// The disk of a test always answers: only these two calls wait as they do on a network that hangs.
vi.mock('node:fs/promises', async (original) => {
  const real = await original<typeof FileCalls>()
  const hanging =
    <In extends unknown[], Out>(call: (...args: In) => Promise<Out>) =>
    async (...args: In) => {
      disk.most = Math.max(disk.most, ++disk.underWay)
      await disk.answers
      disk.underWay--
      return call(...args)
    }
  return { ...real, realpath: hanging(real.realpath), statfs: hanging(real.statfs) }
})

let root: string

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'scoreline-hung-'))
  await mkdir(join(root, 'team_a'))
  await writeFile(join(root, 'team_a/own.csv'), 'own')
})
afterEach(() => rm(root, { recursive: true }))

// Four threads serve all files of a process, also the spool that each score waits for.
test('a directory that hangs holds one thread for reads and one for writes', async () => {
  const store = new TeamFolderStore(root, new DirectoryCalls({ read: 500, write: 500 }))
  const { promise, resolve } = Promise.withResolvers<void>()
  Object.assign(disk, { answers: promise, most: 0 })
  const calls = () => [
    store.head('team_a/own.csv'),
    store.read('team_a/own.csv', { from: 0, bytes: 3 }),
    store.freeBytes(),
    store.replace('team_a/new.csv', bytesSource(Buffer.from('new'))),
    store.put('team_a/deep/new.csv', bytesSource(Buffer.from('new'))),
    store.delete('team_a/own.csv'),
  ]
  for (const settled of [await Promise.allSettled(calls()), await Promise.allSettled(calls())]) {
    for (const one of settled) {
      expect(one).toMatchObject({ status: 'rejected', reason: { failure: 'away' } })
    }
  }
  expect(disk.most).toBe(2)
  resolve()
  const size = () => store.head('team_a/own.csv').then((info) => info?.bytes)
  await expect.poll(() => size().catch(() => 'away')).toBe(3)
  expect(await store.freeBytes()).toBeGreaterThan(0)
  // What was given up has changed nothing.
  expect(await store.head('team_a/new.csv')).toBeNull()
})
