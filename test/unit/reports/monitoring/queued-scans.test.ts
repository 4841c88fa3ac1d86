import { expect, test } from 'vitest'
import type { TimeOrder } from '../../../../src/log/reading/columns.ts'
import type { ScanQuery } from '../../../../src/log/reading/log-query.ts'
import { ScanQueue } from '../../../../src/log/reading/scan-queue.ts'
import { QueuedScans } from '../../../../src/reports/monitoring/queued-scans.ts'
import { findLog, scanned } from '../../../support/score-log/scanned.ts'

const QUERY = { teamId: 'team_1', deploymentId: 'dep_1', fromMs: 0, toMs: 9 }
const PARTS = scanned(
  ['a', 'b'],
  [1, 2, 3].map((atMs) => ({
    results: [{ score: atMs }, atMs === 3 ? null : { score: atMs }],
    atMs,
    reference: 'A',
  })),
)

/** A log that counts how often it is read. */
function countingLog() {
  const inner = findLog(PARTS)
  const log = {
    ...inner,
    reads: 0,
    columnsByTime: (query: ScanQuery, order: TimeOrder) => {
      log.reads++
      return inner.columnsByTime(query, order)
    },
  }
  return log
}

/** A report over the applicants of a model, by the times of those that count. */
function report(model: number, error?: Error) {
  const times: number[] = []
  const reader = {
    takers: `model ${model}`,
    makeReader: (columns: typeof PARTS) => ({
      takes: (row: number) => columns.models[model]?.scored[row] === 1,
      add: (rows: Int32Array) => {
        if (error !== undefined) throw error
        for (const row of rows) times.push(columns.scoredAtMs(row))
      },
    }),
  }
  return { times, reader }
}

// A page of the console asks for five reports over the same period at once.
test('reports that wait for the same period share a scan, and each gets its own figures', async () => {
  const log = countingLog()
  const scans = new QueuedScans({ log, queue: new ScanQueue() })
  const reports = [report(0), report(1), report(0, new Error('it is broken')), report(1)]
  const read = ({ reader }: (typeof reports)[number]) =>
    scans.read({ teamId: 'team_1' }, { query: QUERY, dedupe: 'last' }, reader)
  const outcomes = await Promise.allSettled(reports.map(read))
  expect(outcomes.map(({ status }) => status)).toEqual([
    'fulfilled',
    'fulfilled',
    'rejected',
    'fulfilled',
  ])
  expect(outcomes[2]).toMatchObject({ reason: { message: 'it is broken' } })
  expect(reports.map(({ times }) => times)).toEqual([[3], [2], [], [2]])
  expect(log.reads).toBe(1)
  // What comes later finds the log as it is then.
  await read(reports[0] ?? report(0))
  expect(log.reads).toBe(2)
})

test('other periods, teams and dedupes have scans of their own', async () => {
  const log = countingLog()
  const scans = new QueuedScans({ log, queue: new ScanQueue() })
  await Promise.all([
    scans.read({ teamId: 'team_1' }, { query: QUERY, dedupe: 'last' }, report(0).reader),
    scans.read({ teamId: 'team_1' }, { query: QUERY, dedupe: 'first' }, report(0).reader),
    scans.read({ teamId: 'team_2' }, { query: QUERY, dedupe: 'last' }, report(0).reader),
    scans.read(
      { teamId: 'team_1' },
      { query: { ...QUERY, toMs: 8 }, dedupe: 'last' },
      report(0).reader,
    ),
  ])
  expect(log.reads).toBe(4)
})

// Each group keeps references of its own, and a report a table of scores: memory has a bound.
test('a scan takes up to three groups of readers, 16 readers and 256 MiB', async () => {
  const read = (models: readonly number[], memoryMiB = 1) => {
    const log = countingLog()
    const scans = new QueuedScans({ log, queue: new ScanQueue({ ofTeamMax: 100 }) })
    const scan = { query: QUERY, dedupe: 'last' } as const
    const all = models.map((model) =>
      scans.read({ teamId: 'team_1' }, scan, { ...report(model).reader, memoryMiB }),
    )
    return Promise.all(all).then(() => log.reads)
  }
  expect(await read([0, 1, 2, 0, 1, 2])).toBe(1)
  expect(await read([0, 1, 2, 3])).toBe(2)
  expect(await read(Array.from({ length: 17 }, () => 0))).toBe(2)
  expect(await read([0, 0, 0], 100)).toBe(2)
  expect(await read([0], 1_000)).toBe(1)
})

// A scan is refused that has waited for a minute: who joined late would hardly have waited.
test('a report joins a scan that waits for up to ten seconds', async () => {
  const reads = async (laterMs: number) => {
    const log = countingLog()
    let nowMs = 0
    const queue = new ScanQueue()
    const scans = new QueuedScans({ log, queue, monotonicMs: () => nowMs })
    const scan = { query: QUERY, dedupe: 'last' } as const
    const first = scans.read({ teamId: 'team_1' }, scan, report(0).reader)
    nowMs = laterMs
    await Promise.all([first, scans.read({ teamId: 'team_1' }, scan, report(0).reader)])
    return log.reads
  }
  expect(await reads(10_000)).toBe(1)
  expect(await reads(10_001)).toBe(2)
})

test('a log that fails to be read fails all who wait for it', async () => {
  const log = {
    ...findLog(PARTS),
    columnsByTime: () => {
      throw new Error('the database is away')
    },
  }
  const scans = new QueuedScans({ log, queue: new ScanQueue() })
  const read = () =>
    scans.read({ teamId: 'team_1' }, { query: QUERY, dedupe: 'last' }, report(0).reader)
  const outcomes = await Promise.allSettled([read(), read()])
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
})
