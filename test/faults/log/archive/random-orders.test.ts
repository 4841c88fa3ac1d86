import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { dayText } from '../../../../src/log/archive/written-part.ts'
import { ErasedPlaces } from '../../../../src/log/erasure/eraser.ts'
import { openLogReader } from '../../../../src/log/reading/open-reader.ts'
import { queryRows } from '../../../../src/platform/db/client.ts'
import {
  ArchivedLog,
  DAY,
  DAY_MS,
  listRequests,
  logged,
  makeDay,
  NOW,
  store,
} from '../../../support/archive/archived-log.ts'
import { FrozenProcess } from '../../../support/archive/frozen-process.ts'
import { firstBackend } from '../../../support/start/databases.ts'

/** By default one order of few steps; `SCORELINE_TEST_KILLS` makes it many. */
const RUNS_ALL = (process.env['SCORELINE_TEST_KILLS'] ?? '') !== ''
const SEEDS = RUNS_ALL ? Array.from({ length: 12 }, (_, seed) => seed + 1) : [1]
const ORDERS = RUNS_ALL ? 60 : 24
const DAYS = 3
/** Some processes change less, and end. */
const FREEZE_CHANGES_MAX = 14

/** Numbers from 0 to below 1 that follow from the seed (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** A log, processes that stand still on it, and what it should hold. */
class Stress {
  private readonly log: ArchivedLog
  private readonly random: () => number
  /** What the log should hold: references by request, the empty text for one that was erased. */
  private readonly requests = new Map<string, string>()
  /** References that a process stands still with, which erases them. */
  private readonly maybeErased = new Set<string>()
  /** References of new requests. */
  private readonly current = ['A-1', 'A-2', 'A-3']
  private readonly frozen: { readonly process: FrozenProcess; readonly work: Promise<unknown> }[] =
    []
  private scored = 0
  private references = 3

  constructor(log: ArchivedLog, random: () => number) {
    this.log = log
    this.random = random
  }

  async order(): Promise<string> {
    const orders = [this.drain, this.round, this.round, this.erase, this.thaw, this.pass]
    const order = orders[this.below(orders.length)] ?? this.drain
    await order.call(this)
    return order.name
  }

  /** All processes go on, and others tidy up after them. */
  async end(): Promise<void> {
    while (this.frozen.length > 0) await this.thaw()
    for (const hours of [2, 2, 25, 24 * 8, 24 * 8]) {
      await this.log.endLeases()
      await this.log.age(hours)
      expect(await this.log.round()).toBe(true)
    }
  }

  /** Each request is there once, with its reference unless that was erased. */
  async check(what: string): Promise<void> {
    const found = await this.log.reading(listRequests)
    const ids = found.map(({ requestId }) => requestId).sort()
    expect(ids, what).toEqual([...this.requests.keys()].sort())
    for (const { requestId, reference } of found) {
      const expected = this.requests.get(requestId) ?? ''
      const isRight =
        (reference ?? '') === expected || (reference === null && this.maybeErased.has(expected))
      expect(isRight, `${what}: ${requestId} has ${reference}, not ${expected}`).toBe(true)
    }
  }

  private below(count: number): number {
    return Math.floor(this.random() * count)
  }

  /** One of new requests, for which another one comes, or one of a process that stands still. */
  private toErase(): string {
    const [waiting] = this.maybeErased
    if (waiting !== undefined && this.random() < 0.5) return waiting
    const [reference = ''] = this.current.splice(this.below(this.current.length), 1)
    this.current.push(`A-${++this.references}`)
    return reference
  }

  private async drain(): Promise<void> {
    const day = this.below(DAYS)
    const records = Array.from({ length: 1 + this.below(4) }, () => {
      const reference = this.current[this.below(this.current.length)] ?? ''
      const record = logged(day * DAY_MS + this.scored++, { reference })
      this.requests.set(record.requestId, reference)
      return record
    })
    await store(this.log.handle, records)
  }

  private async round(): Promise<void> {
    const process = this.process()
    const { archiver } = await this.log.faulty({
      objects: process.stepping,
      guarded: process.stepping,
    })
    await this.run(process, archiver.run())
  }

  private async erase(): Promise<void> {
    const reference = this.toErase()
    const process = this.process()
    const { rewriter, files } = await this.log.faulty({
      objects: process.stepping,
      guarded: process.stepping,
    })
    const { eraser } = openLogReader({
      db: this.log.handle.db,
      guarded: (one) => one,
      archive: { files, rewriter },
    })
    let isDone = false
    const erasing = eraser
      .erase({ teamId: 'team_1', reference, untilMs: NOW }, new ErasedPlaces())
      .then(() => {
        isDone = true
      })
    this.maybeErased.add(reference)
    await this.run(process, erasing)
    if (!isDone) return
    this.maybeErased.delete(reference)
    for (const [id, of] of this.requests) if (of === reference) this.requests.set(id, '')
  }

  /** A process that stood still goes on, whoever has worked meanwhile. */
  private async thaw(): Promise<void> {
    const next = this.frozen.shift()
    next?.process.thaw()
    await next?.work.catch(() => undefined)
  }

  private async pass(): Promise<void> {
    await this.log.age(1 + this.below(2))
  }

  private process(): FrozenProcess {
    return new FrozenProcess(1 + this.below(FREEZE_CHANGES_MAX))
  }

  private async run(process: FrozenProcess, work: Promise<unknown>): Promise<void> {
    if (await process.run(work)) return
    this.frozen.push({ process, work })
    await this.log.endLeases()
  }
}

/** The files of each day, and what `_manifest.json` says of them. */
async function listFiles(log: ArchivedLog) {
  const rows = await queryRows<{ key: string }>(
    log.handle.db,
    sql`select key from score_archive_files where state = 'live' order by key`,
  )
  const days = Array.from({ length: DAYS }, (_, day) => dayText(DAY + day * DAY_MS))
  return days.map((day) => {
    const prefix = `dt=${day}/`
    const expected = rows.flatMap(({ key }) =>
      key.startsWith(prefix) ? [key.slice(prefix.length)] : [],
    )
    const found = log.files(day)
    const manifest = found.includes('_manifest.json')
      ? JSON.parse(readFileSync(join(log.directory, prefix, '_manifest.json'), 'utf8'))
      : { files: [] }
    const listed = manifest.files.map(({ name }: { name: string }) => name)
    return { day, expected, listed, found: found.filter((name) => name !== '_manifest.json') }
  })
}

// Whatever stands still, dies or goes on late: one naive map says what the log must hold.
test.each(SEEDS)(
  'any order of work loses nothing and leaves nothing (seed %i)',
  async (seed) => {
    const log = await ArchivedLog.forTest(firstBackend)
    for (let day = 0; day < DAYS; day++) await makeDay(log.handle, DAY + day * DAY_MS)
    const stress = new Stress(log, randomFrom(seed))
    for (let orders = 0; orders < ORDERS; orders++) {
      const name = await stress.order()
      await stress.check(`${name}, order ${orders} of seed ${seed}`)
    }
    await stress.end()
    await stress.check(`the end of seed ${seed}`)
    for (const { day, expected, listed, found } of await listFiles(log)) {
      expect({ day, listed, found }).toEqual({ day, listed: expected, found: expected })
    }
  },
  600_000,
)
