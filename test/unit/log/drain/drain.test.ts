import { setTimeout as delay } from 'node:timers/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import { AppError } from '../../../../src/errors.ts'
import { Drain } from '../../../../src/log/drain/drain.ts'
import type { RecordV4 } from '../../../../src/log/record/record-v4.ts'
import { systemClock } from '../../../../src/platform/clock.ts'
import { MemorySpool } from '../../../support/score-log/memory-spool.ts'
import { type RecordOrder, scoreRecord } from '../../../support/score-log/records.ts'

const WAIT = { timeout: 60_000 }

const pgError = (code: string) => Object.assign(new Error(code), { code })

/** A database in memory that fails as it is instructed. */
class MemoryLog {
  readonly ids: string[] = []
  readonly attempts: number[] = []
  /** Why these records can't be stored; asked before each attempt. */
  fault: (records: readonly RecordV4[]) => Error | null = () => null
  /** Whether the attempt after a commit still says that it failed. */
  losesAnswers = false

  /** Duration of each attempt. */
  tookMs = 0

  async append(records: readonly RecordV4[]) {
    await delay(this.tookMs)
    this.attempts.push(records.length)
    const fault = this.fault(records)
    if (fault !== null) throw fault
    const added = records.filter(({ requestId }) => !this.ids.includes(requestId))
    this.ids.push(...added.map(({ requestId }) => requestId))
    if (this.losesAnswers) {
      this.losesAnswers = false
      throw pgError('CONNECTION_CLOSED')
    }
    return { records: added.length, results: added.length }
  }

  async probe(records: readonly RecordV4[]) {
    await delay(this.tookMs)
    this.attempts.push(records.length)
    const fault = this.fault(records)
    if (fault !== null) throw fault
  }

  async cursors() {
    return new Map()
  }
}

function setUp({ gatherMs = 0, batchRecordsMax = 10, atEnd = onTestFinished } = {}) {
  const spool = new MemorySpool()
  const store = new MemoryLog()
  const events: string[] = []
  const drain = new Drain({
    spool,
    store,
    thread: null,
    clock: systemClock,
    log: {
      failing: ({ waitingRecords }) => void events.push(`failing, ${waitingRecords} wait`),
      recovered: ({ failures }) => void events.push(`recovered after ${failures}`),
      held: () => undefined,
      quarantine: ({ requestId, reason }) => void events.push(`${requestId}: ${reason}`),
    },
    gatherMs,
    batchRecordsMax,
    batchBytesMax: 1_000_000,
  })
  atEnd(() => drain.close(0))
  return { spool, store, drain, events }
}

const record = (requestId: string, order: RecordOrder = {}) => scoreRecord({ requestId, ...order })
const records = (count: number) => Array.from({ length: count }, (_, n) => record(`req_${n}`))
const holds = (fault: string) => (part: readonly RecordV4[]) =>
  part.some((one) => one.requestId === fault)

test('what is in the spool and what is appended reaches the database in order, in batches', async () => {
  const { spool, store, drain } = setUp({ batchRecordsMax: 10 })
  spool.append(...records(25))
  await drain.start()
  await vi.waitFor(() => expect(store.ids.length).toBe(25), WAIT)
  spool.append(record('req_late'))
  await vi.waitFor(() => expect(store.ids.at(-1)).toBe('req_late'), WAIT)
  expect(store.ids).toEqual([...records(25).map(({ requestId }) => requestId), 'req_late'])
  expect(store.attempts).toEqual([10, 10, 5, 1])
  await vi.waitFor(() => expect(drain.stats.lagMs).toBe(null), WAIT)
  expect(drain.stats).toMatchObject({ drainedRecords: 26, failedBatches: 0, quarantinedRecords: 0 })
})

// Each transaction costs as much as storing dozens of records.
test('records gather before they are stored', async () => {
  const { spool, store, drain } = setUp({ gatherMs: 400 })
  await drain.start()
  const startedMs = performance.now()
  for (const one of records(8)) {
    spool.append(one)
    await delay(2)
  }
  const gatherings = Math.ceil((performance.now() - startedMs) / 400)
  await vi.waitFor(() => expect(store.ids.length).toBe(8), WAIT)
  expect(store.attempts.length).toBeLessThanOrEqual(1 + gatherings)
})

// A batch of a thousand deployments writes as many rollups, whether it holds one request of each or
// ten.
test('records gather for longer after a batch that took long, four times as long at the most', async () => {
  const { spool, store, drain } = setUp({ gatherMs: 50, batchRecordsMax: 1_000 })
  store.tookMs = 100
  await drain.start()
  const endsAtMs = performance.now() + 1_000
  for (let n = 0; performance.now() < endsAtMs || store.attempts.length < 2; n++) {
    spool.append(record(`req_${n}`))
    await delay(5)
  }
  // 300 ms each: less than half of them is work. Without it there were 6 or 7.
  expect(store.attempts.length).toBeLessThanOrEqual(4)
})

// The answer to a commit can be lost: the batch then comes again.
test('a batch whose commit was not heard of is acknowledged when it meets its own rows', async () => {
  const { spool, store, drain, events } = setUp()
  store.losesAnswers = true
  spool.append(...records(3))
  await drain.start()
  await vi.waitFor(() => expect(spool.stats.records).toBe(0), WAIT)
  expect(store.ids).toEqual(['req_0', 'req_1', 'req_2'])
  expect(drain.stats).toMatchObject({ drainedRecords: 0, replayedRecords: 3, failedBatches: 1 })
  expect(events).toEqual(['failing, 3 wait', 'recovered after 1'])
})

test('while the database is away nothing is given up, and told once', async () => {
  const { spool, store, drain, events } = setUp()
  store.fault = () => pgError('ECONNREFUSED')
  spool.append(...records(3))
  await drain.start()
  await vi.waitFor(() => expect(store.attempts.length).toBeGreaterThanOrEqual(3), WAIT)
  expect(spool.stats.records).toBe(3)
  // As a whole: halves would be as much away.
  expect(new Set(store.attempts)).toEqual(new Set([3]))
  store.fault = () => null
  await vi.waitFor(() => expect(spool.stats.records).toBe(0), WAIT)
  expect(store.ids.length).toBe(3)
  expect(events).toEqual(['failing, 3 wait', expect.stringMatching(/^recovered after \d$/)])
})

// One record that PostgreSQL does not take would else hold up all others, and the scoring behind
// them.
test('a record that the database refuses is set aside, and the others are stored', async () => {
  const { spool, store, drain, events } = setUp({ batchRecordsMax: 100 })
  store.fault = (part) => (holds('req_37')(part) ? pgError('22003') : null)
  spool.append(...records(100), record('req_100'))
  await drain.start()
  await vi.waitFor(() => expect(spool.stats.records).toBe(0), WAIT)
  expect(store.ids.length).toBe(100)
  expect(spool.quarantinedIds).toEqual(['req_37'])
  expect(events).toEqual(['req_37: the database refuses it (22003)'])
  expect(drain.stats.quarantinedRecords).toBe(1)
  // Found by halves.
  expect(store.attempts.length).toBeLessThan(20)
})

test('a record that no answered request leaves is set aside before it is tried', async () => {
  const { spool, store, drain, events } = setUp()
  spool.append(
    record('req_1', { served: 1 }),
    record('req_2'),
    record('req_3', { scores: [[Number.NaN]] }),
  )
  await drain.start()
  await vi.waitFor(() => expect(spool.stats.records).toBe(0), WAIT)
  expect(store.ids).toEqual(['req_2'])
  expect(store.attempts).toEqual([1])
  expect(events).toEqual([
    'req_1: the record lacks the model that answered',
    'req_3: the record lacks a result',
  ])
})

// A statement that takes too long may be its record's fault, or that of a busy database.
test('a record that fails for reasons that may not be its own is tried again while others go on', async () => {
  const { spool, store, drain } = setUp()
  store.fault = (part) => (holds('req_1')(part) ? pgError('57014') : null)
  spool.append(...records(4))
  await drain.start()
  await vi.waitFor(() => expect(spool.stats.records).toBe(0), WAIT)
  expect(spool.quarantinedIds).toEqual(['req_1'])
  expect(store.ids.toSorted()).toEqual(['req_0', 'req_2', 'req_3'])
  expect(drain.stats.failedBatches).toBe(2)
})

test('nothing is set aside for a fault that meets every record, unless it is surely theirs', async () => {
  for (const code of ['57014', '53200', '42P01', '25006', '23502']) {
    const { spool, store, drain } = setUp()
    store.fault = () => pgError(code)
    spool.append(...records(4))
    await drain.start()
    await vi.waitFor(() => expect(drain.stats.failedBatches).toBeGreaterThanOrEqual(3), WAIT)
    await drain.close(100)
    expect([code, spool.stats.records, spool.quarantinedIds]).toEqual([code, 4, []])
  }
})

// One that ends the server's process, or that no server is done with in time, stood in everybody's
// way. These wait for the drain's pauses, so they run side by side.
test.concurrent.for(['CONNECTION_CLOSED', '57P01', 'overdue'])(
  'a record that the database never answers for (%s) is set aside, and the others are stored',
  async (code, { expect, onTestFinished: atEnd }) => {
    const { spool, store, drain, events } = setUp({ batchRecordsMax: 20, atEnd })
    const error = code === 'overdue' ? new AppError('unavailable', 'no answer') : pgError(code)
    store.fault = (part) =>
      ['req_0', 'req_1', 'req_17'].some((id) => holds(id)(part)) ? error : null
    spool.append(...records(30))
    await drain.start()
    await vi.waitFor(() => expect(spool.stats.records).toBe(0), WAIT)
    expect(spool.quarantinedIds.toSorted()).toEqual(['req_0', 'req_1', 'req_17'])
    expect(new Set(store.ids).size).toBe(27)
    expect(drain.stats).toMatchObject({ quarantinedRecords: 3, drainedRecords: 27 })
    expect(events.filter((text) => text.startsWith('req_')).length).toBe(3)
  },
)

// A large record is a batch of its own: that others are taken shows in those behind it.
test.concurrent.for(['CONNECTION_CLOSED', '57014'])(
  'a record that fails alone (%s) is set aside only once others behind it were stored',
  async (code, { expect, onTestFinished: atEnd }) => {
    const { spool, store, drain } = setUp({ batchRecordsMax: 1, atEnd })
    store.fault = () => pgError(code)
    spool.append(record('req_large'))
    await drain.start()
    await vi.waitFor(() => expect(drain.stats.failedBatches).toBeGreaterThanOrEqual(4), WAIT)
    // Behind a table that is locked all fail.
    spool.append(...records(3))
    const { failedBatches } = drain.stats
    await vi.waitFor(
      () => expect(drain.stats.failedBatches).toBeGreaterThanOrEqual(failedBatches + 2),
      WAIT,
    )
    expect([spool.quarantinedIds, store.ids]).toEqual([[], []])
    store.fault = (part) => (holds('req_large')(part) ? pgError(code) : null)
    await vi.waitFor(() => expect(spool.stats.records).toBe(0), WAIT)
    expect(spool.quarantinedIds).toEqual(['req_large'])
    expect(store.ids).toEqual(records(3).map(({ requestId }) => requestId))
  },
)

// Until then a score that a restored database lacks is neither there nor waiting in the spool.
test('the spool follows a database that is behind before the drain counts as started', async () => {
  const { spool, store, drain } = setUp({ gatherMs: 60_000 })
  vi.spyOn(spool, 'positions').mockReturnValue(new Map([['spool', { segment: 1, offset: 5 }]]))
  vi.spyOn(store, 'cursors').mockResolvedValue(new Map([['spool', { segment: 1, offset: 2 }]]))
  const follow = vi.spyOn(spool, 'follow').mockResolvedValue(0)
  await drain.start()
  expect(follow.mock.calls).toEqual([['spool', { segment: 1, offset: 2 }]])
})

test('closing drains what is left, without gathering', async () => {
  const { spool, store, drain } = setUp({ gatherMs: 60_000, batchRecordsMax: 2 })
  await drain.start()
  spool.append(...records(7))
  await drain.close(5_000)
  expect(store.ids.length).toBe(7)
  expect(spool.stats.records).toBe(0)
})

// The process has to end in time; what is not drained is in the spool.
test('closing gives up on a database that is away or silent', async () => {
  const away = setUp()
  away.store.fault = () => pgError('ECONNREFUSED')
  await away.drain.start()
  away.spool.append(...records(2))
  const startedMs = performance.now()
  await away.drain.close(60_000)
  expect(away.spool.stats.records).toBe(2)

  const silent = setUp()
  silent.store.append = () => new Promise(() => undefined)
  await silent.drain.start()
  silent.spool.append(...records(2))
  await silent.drain.close(50)
  expect(silent.spool.stats.records).toBe(2)
  expect(performance.now() - startedMs).toBeLessThan(10_000)
})

// The spool is closed by then: what is written to it may land in another file.
test('a batch that the database takes after the end is not acknowledged', async () => {
  const { spool, store, drain } = setUp()
  const { promise: stored, resolve: answer } = Promise.withResolvers<void>()
  const append = store.append.bind(store)
  const { promise: asked, resolve: ask } = Promise.withResolvers<void>()
  store.append = async (part) => {
    ask()
    await stored
    return append(part)
  }
  spool.append(...records(2))
  await drain.start()
  await asked
  await drain.close(10)
  answer()
  await vi.waitFor(() => expect(store.ids.length).toBe(2), WAIT)
  await delay(20)
  expect(spool.stats.records).toBe(2)
})
