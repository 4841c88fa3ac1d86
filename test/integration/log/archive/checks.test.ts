import { copyFileSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'drizzle-orm'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { CheckStore } from '../../../../src/log/archive/check-store.ts'
import { ArchiveChecker } from '../../../../src/log/archive/checker.ts'
import { ArchiveLease, LeaseStore } from '../../../../src/log/archive/lease.ts'
import { queryRows } from '../../../../src/platform/db/client.ts'
import { MetricRegistry } from '../../../../src/platform/metrics/registry.ts'
import {
  type ObjectStore,
  ObjectStoreError,
} from '../../../../src/platform/object-store/object-store.ts'
import { openObjectStore } from '../../../../src/platform/object-store/open-object-store.ts'
import {
  ArchivedLog,
  DAY,
  DAY_MS,
  insertModel,
  logged,
  makeDay,
  store,
} from '../../../support/archive/archived-log.ts'
import { backends } from '../../../support/start/databases.ts'
import { openTestDatabase } from '../../../support/start/seeded-database.ts'

const S3 = { endpoint: null, region: 'us-east-1', usesPathStyle: true }
const CHECK_EVERY_MS = 30 * DAY_MS

describe.each(backends)('on $name', (backend) => {
  let log: ArchivedLog
  let remove: () => Promise<void>

  /** Three archived days, of a file each. */
  beforeEach(async () => {
    const database = await backend.create()
    const handle = await openTestDatabase(database)
    log = new ArchivedLog(handle)
    remove = async () => {
      await handle.close()
      await database.drop()
      log.remove()
    }
    await insertModel(handle)
    for (const day of [0, 1, 2]) await makeDay(handle, DAY + day * DAY_MS)
    await store(
      handle,
      [0, 1, 2].flatMap((day) => Array.from({ length: 20 }, (_, n) => logged(day * DAY_MS + n))),
    )
    expect(await log.round()).toBe(true)
  })
  afterEach(() => remove())

  const formatPath = (day: string) =>
    join(log.directory, `dt=2026-10-0${day}`, 'part-00000-g1.parquet')
  const makeKey = (day: string) => `dt=2026-10-0${day}/part-00000-g1.parquet`

  async function age(days: number): Promise<void> {
    const by = `${days} days`
    await log.handle.db.execute(sql`update score_archive_files set
      archived_at = archived_at - ${by}::interval, checked_at = checked_at - ${by}::interval`)
  }

  const faults = async () =>
    Object.fromEntries(
      (
        await queryRows<{ key: string; fault: string }>(
          log.handle.db,
          sql`select key, fault from score_archive_files where fault is not null`,
        )
      ).map(({ key, fault }) => [key, fault]),
    )

  /** A round of a process of its own. */
  async function round(): Promise<string> {
    const metrics = new MetricRegistry()
    const archive = await log.open({ metrics })
    await archive.checker?.periodic.runOnce()
    await archive.close()
    return metrics.text()
  }

  interface Rest {
    readonly objects?: (objects: ObjectStore) => Partial<ObjectStore>
    readonly bytesPerSec?: number
  }

  /** A checker that notes what it reads, and what it says. */
  async function watched({ objects, bytesPerSec }: Rest = {}) {
    const opened = await openObjectStore(`file://${log.directory}`, S3)
    const read: string[] = []
    const failed: unknown[] = []
    const lost: string[] = []
    const watching: ObjectStore = Object.assign(Object.create(opened), {
      read: (...args: Parameters<ObjectStore['read']>) => {
        read.push(args[0])
        return opened.read(...args)
      },
      ...objects?.(opened),
    })
    const { db } = log.handle
    const checker = new ArchiveChecker({
      objects: watching,
      store: new CheckStore(db),
      lease: new ArchiveLease(new LeaseStore(db), log.clock),
      everyMs: CHECK_EVERY_MS,
      ...(bytesPerSec !== undefined && { bytesPerSec }),
      onLost: (key, reason) => lost.push(`${reason} ${key}`),
      onFailed: (error) => failed.push(error),
    })
    return { checker, read, failed, lost }
  }

  test('each file is read once in the time that is set, the one first that was not for longest', async () => {
    const { checker, read, failed } = await watched()
    await checker.periodic.runOnce()
    expect(failed).toEqual([])
    expect(read).toEqual([])
    await age(31)
    await log.handle.db.execute(
      sql`update score_archive_files set checked_at = now() where key = ${makeKey('5')}`,
    )
    await log.handle.db.execute(sql`update score_archive_files
      set checked_at = archived_at - interval '1 day' where key = ${makeKey('7')}`)
    await checker.periodic.runOnce()
    expect(read).toEqual([makeKey('7'), makeKey('6')])
    await checker.periodic.runOnce()
    expect(read).toHaveLength(2)
    expect(failed).toEqual([])
  })

  test('files that are missing, cut off or changed by one bit are named, in log and metrics', async () => {
    const bytes = readFileSync(formatPath('5'))
    bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1
    writeFileSync(formatPath('5'), bytes)
    truncateSync(formatPath('6'), 100)
    rmSync(formatPath('7'))
    await age(31)
    const text = await round()
    expect(await faults()).toEqual({
      [makeKey('5')]: 'damaged',
      [makeKey('6')]: 'damaged',
      [makeKey('7')]: 'missing',
    })
    expect(text).toContain('scoreline_archive_faulty_files{reason="damaged"} 2\n')
    expect(text).toContain('scoreline_archive_faulty_files{reason="missing"} 1\n')
    expect(text).toContain('scoreline_archive_lost_files_total{reason="damaged"} 2\n')
    const named = log.lines.filter(({ message }) => message.startsWith('a file of the archive was'))
    expect(named.map(({ facts }) => facts['file']).sort()).toEqual(['5', '6', '7'].map(makeKey))
  })

  test('a file that was brought back is found whole a day later', async () => {
    const kept = join(log.directory, '..', 'kept')
    copyFileSync(formatPath('5'), kept)
    rmSync(formatPath('5'))
    await age(31)
    await round()
    expect(await faults()).toEqual({ [makeKey('5')]: 'missing' })
    copyFileSync(kept, formatPath('5'))
    await round()
    expect(await faults()).toEqual({ [makeKey('5')]: 'missing' })
    await age(1)
    expect(await round()).toContain('scoreline_archive_faulty_files{reason="missing"} 0\n')
    expect(await faults()).toEqual({})
  })

  test('where the volume is not mounted no file counts as missing', async () => {
    rmSync(log.directory, { recursive: true })
    await age(31)
    await round()
    expect(await faults()).toEqual({})
    expect(log.lines.at(-1)?.message).toMatch('could not be checked')
  })

  test('a store that goes away amid a round costs nothing but time', async () => {
    await age(31)
    let calls = 0
    const away = await watched({
      objects: (opened) => ({
        read: async (...args) => {
          if (++calls === 2) throw new ObjectStoreError('away', 'it went away')
          return opened.read(...args)
        },
      }),
    })
    await away.checker.periodic.runOnce()
    expect(away.failed).toHaveLength(1)
    const { checker, read, lost } = await watched()
    await checker.periodic.runOnce()
    expect(read).toEqual([makeKey('6'), makeKey('7')])
    expect(lost).toEqual([])
  })

  test('one process at a time checks, and closing ends a round amid a file', async () => {
    await age(31)
    const slow = await watched({ bytesPerSec: 1 })
    const running = slow.checker.periodic.runOnce()
    await expect.poll(() => slow.read.length).toBe(1)
    const other = await watched()
    await other.checker.periodic.runOnce()
    expect(other.read).toEqual([])
    const startedMs = performance.now()
    await slow.checker.periodic.close()
    await running
    // At one byte a second the file takes hours.
    expect(performance.now() - startedMs).toBeLessThan(30_000)
    expect(slow.failed).toEqual([])
    await other.checker.periodic.runOnce()
    expect(other.read).toHaveLength(3)
  })
})
