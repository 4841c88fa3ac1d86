import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'drizzle-orm'
import { describe, expect, onTestFinished, test } from 'vitest'
import { DayLockedError, DayStore } from '../../../../src/log/archive/day-store.ts'
import { ErasedPlaces } from '../../../../src/log/erasure/eraser.ts'
import { queryRows } from '../../../../src/platform/db/client.ts'
import {
  ArchivedLog,
  type ArchiveFaults,
  DAY,
  DAY_MS,
  listRequests,
  logged,
  makeDay,
  NOW,
  store,
} from '../../../support/archive/archived-log.ts'
import { changed, Halt, withFiles } from '../../../support/archive/faults.ts'
import { backends } from '../../../support/start/databases.ts'

const LOCKED_MS = 1_500

describe.each(backends)('on $name', (backend) => {
  async function started(days: number): Promise<ArchivedLog> {
    const log = await ArchivedLog.forTest(backend)
    for (let day = 0; day < days; day++) {
      await makeDay(log.handle, DAY + day * DAY_MS)
      await store(log.handle, readRecords(day))
    }
    return log
  }

  const readRecords = (day: number) =>
    Array.from({ length: 5 }, (_, n) => logged(day * DAY_MS + n, { reference: `A-${day}` }))
  const blocksLeft = async ({ handle }: ArchivedLog) =>
    (await queryRows(handle.db, sql`select 1 from score_blocks`)).length

  /** A process with another way to switch days, which counts the files that it stores. */
  const switching = (
    switchTo: (real: DayStore, ...of: Parameters<DayStore['switchTo']>) => Promise<void>,
  ) => {
    const counts = { puts: 0 }
    const faults: ArchiveFaults = {
      guarded: (part) => {
        if (!(part instanceof DayStore)) return part
        const methods: Partial<DayStore> = { switchTo: (...of) => switchTo(part, ...of) }
        return changed<DayStore>(part, methods) as typeof part
      },
      objects: (objects) =>
        withFiles(objects, {
          put: (put, key, source) => {
            counts.puts++
            return put(key, source)
          },
        }),
    }
    return { counts, faults }
  }

  // A round over many days takes hours; an erasure must not wait for it.
  test('an erasure goes on while a round works on another day', async () => {
    const log = await started(1)
    await log.round()
    await makeDay(log.handle, DAY + DAY_MS)
    await store(log.handle, readRecords(1))
    const halt = new Halt()
    const { faults } = switching(async (real, ...of) => {
      await halt.here()
      await real.switchTo(...of)
    })
    const { archiver } = await log.faulty(faults)
    const running = archiver.run()
    await halt.reached
    const erased = new ErasedPlaces()
    const erasure = { teamId: 'team_1', reference: 'A-0', untilMs: NOW }
    await log.reading(({ eraser }) => eraser.erase(erasure, erased))
    expect(erased.requests).toBe(5)
    halt.end()
    expect(await running).toBe(true)
    const requests = await log.reading(listRequests)
    expect(requests).toHaveLength(10)
    expect(requests.filter(({ reference }) => reference === 'A-0')).toEqual([])
  })

  // Another team's erasure, or a round that moves late records of the day.
  test('an erasure waits for other work on the day of its file', async () => {
    const log = await started(1)
    await log.round()
    const { db } = log.handle
    await db.execute(sql`insert into score_archive (name, archive_id, holder, leased_until)
      values ('2026-10-05', '', 'other', now() + interval '1 hour')`)
    const erased = new ErasedPlaces()
    const erasure = { teamId: 'team_1', reference: 'A-0', untilMs: NOW }
    const erasing = log.reading(({ eraser }) => eraser.erase(erasure, erased))
    const waiting = await Promise.race([erasing.then(() => 'done'), delay(700, 'waiting')])
    expect(waiting).toBe('waiting')
    await db.execute(sql`delete from score_archive where name = '2026-10-05'`)
    await erasing
    expect(erased.requests).toBe(5)
  })

  // Its files are there, and took minutes.
  test('a switch that meets a lock is repeated alone', async () => {
    const log = await started(1)
    let calls = 0
    const { faults, counts } = switching(async (real, ...of) => {
      calls++
      if (calls === 1) throw new DayLockedError(null)
      await real.switchTo(...of)
    })
    const { archiver } = await log.faulty(faults)
    expect(await archiver.run()).toBe(true)
    expect([calls, counts.puts]).toEqual([2, 1])
    expect(await blocksLeft(log)).toBe(0)
  })

  test('a day that fails is left alone for a while, and other days go on', async () => {
    const log = await started(2)
    const { faults, counts } = switching(async (real, lease, day, files) => {
      if (day.dayMs === DAY) throw new Error('it fails')
      await real.switchTo(lease, day, files)
    })
    const { archiver } = await log.faulty(faults)
    expect(await archiver.run()).toBe(false)
    expect([counts.puts, archiver.counts]).toEqual([2, { days: 1, failures: 1 }])
    expect(await archiver.run()).toBe(false)
    expect([counts.puts, archiver.counts]).toEqual([2, { days: 1, failures: 1 }])
    log.nowMs += 2 * 60_000
    expect(await archiver.run()).toBe(false)
    expect([counts.puts, archiver.counts]).toEqual([3, { days: 1, failures: 2 }])
    expect(archiver.lastSuccessSec).toBe(0)
  })

  // It would be lost with the table of its day.
  test('a day that gets a further block before its switch is written anew', async () => {
    const log = await started(1)
    let calls = 0
    const { faults } = switching(async (real, ...of) => {
      calls++
      if (calls === 1) await store(log.handle, [logged(9)])
      await real.switchTo(...of)
    })
    const { archiver } = await log.faulty(faults)
    expect(await archiver.run()).toBe(false)
    expect(await log.reading(listRequests)).toHaveLength(6)
    log.nowMs += 2 * 60_000
    expect(await archiver.run()).toBe(true)
    expect(await blocksLeft(log)).toBe(0)
    expect(await log.reading(listRequests)).toHaveLength(6)
  })

  if (backend.name === 'PostgreSQL') {
    // It holds every table for hours: neither writers nor the archive may wait for it.
    test('a day stays while a dump of the database runs, without files and failures', async () => {
      const log = await started(1)
      const other = log.handle.apart(1)
      onTestFinished(() => other.close())
      const held = Promise.withResolvers<void>()
      const ended = Promise.withResolvers<void>()
      const dumping = other.db.transaction(async (tx) => {
        await tx.execute(sql`lock table score_blocks, score_blocks_p20261005 in access share mode`)
        held.resolve()
        await ended.promise
      })
      await held.promise
      const { faults, counts } = switching((real, ...of) => real.switchTo(...of))
      const { archiver } = await log.faulty(faults)
      expect(await archiver.run()).toBe(false)
      expect([counts.puts, archiver.counts.failures]).toEqual([0, 0])
      expect(log.lines.at(-1)).toEqual({ message: 'busy', facts: '2026-10-05' })
      ended.resolve()
      await dumping
      log.nowMs += 2 * 60_000
      expect(await archiver.run()).toBe(true)
      expect(await blocksLeft(log)).toBe(0)
    })

    test('the table of a day that another transaction uses is waited for', async () => {
      const log = await started(1)
      const other = log.handle.apart(1)
      onTestFinished(() => other.close())
      const held = Promise.withResolvers<void>()
      const lock = () =>
        other.db.transaction(async (tx) => {
          await tx.execute(sql`lock table score_blocks_p20261005 in share row exclusive mode`)
          held.resolve()
          await tx.execute(sql`select pg_sleep(${LOCKED_MS / 1_000}::float8)`)
        })
      let locked: Promise<void> | null = null
      const { faults, counts } = switching(async (real, ...of) => {
        locked ??= lock()
        await held.promise
        await real.switchTo(...of)
      })
      const { archiver } = await log.faulty(faults)
      expect(await archiver.run()).toBe(true)
      await locked
      expect(counts.puts).toBe(1)
    })
  }
})
