import { expect, test } from 'vitest'
import {
  type ApplicantScan,
  scanApplicants,
} from '../../../../src/score-log/reading/applicant-scan.ts'
import type { ScannedColumns } from '../../../../src/score-log/reading/columns.ts'
import { logOf, scanned } from '../../../support/score-log/scanned.ts'

const QUERY = { teamId: 'team_1', deploymentId: 'dep_1', fromMs: 0, toMs: 1 }
const applicant = (reference: string | undefined, atMs: number, score: number | null = 1) => ({
  results: [score === null ? null : { score }],
  atMs,
  ...(reference !== undefined && { reference }),
})

/** Times of the applicants that count, rising. */
async function counted(scan: Omit<ApplicantScan, 'query'>): Promise<number[]> {
  const times: number[] = []
  await scanApplicants({ ...scan, query: QUERY }, (columns) => ({
    takes: (row) => columns.models[0]?.scored[row] === 1,
    add: (rows) => {
      for (const row of rows) times.push(columns.scoredAtMs(row))
    },
  }))
  return times.sort((a, b) => a - b)
}

const FIRST = scanned(['a'], [applicant('A', 5), applicant(undefined, 6), applicant('B', 7)])
const SECOND = scanned(['a'], [applicant('A', 1), applicant('B', 9, null), applicant(undefined, 6)])
const log = logOf(FIRST, SECOND)

/** A log that shows other parts each time it is read. */
function changing(...times: readonly (readonly ScannedColumns[])[]) {
  const log = {
    reads: 0,
    columns: () => logOf(...(times[Math.min(log.reads++, times.length - 1)] ?? [])).columns(),
  }
  return log
}

// Blocks of two replicas overlap: the later block can hold the earlier scoring.
test('a reference counts once, whatever block holds its scorings', async () => {
  expect(await counted({ log, dedupe: 'last' })).toEqual([5, 6, 6, 7])
  expect(await counted({ log, dedupe: 'first' })).toEqual([1, 6, 6, 7])
  expect(await counted({ log, dedupe: 'none' })).toEqual([1, 5, 6, 6, 7])
})

test('a reference counts once in each period', async () => {
  const periodOf = (atMs: number) => Math.floor(atMs / 4)
  expect(await counted({ log, dedupe: 'last', periodOf })).toEqual([1, 5, 6, 6, 7])
})

// The scan of ten million scores takes seconds, and most lenders' references come once or never.
test('a log without references is read once', async () => {
  const many = Array.from({ length: 3_000 }, (_, atMs) => applicant(undefined, atMs))
  const plain = changing([scanned(['a'], many)])
  expect(await counted({ log: plain, dedupe: 'last' })).toEqual(many.map(({ atMs }) => atMs))
  expect(plain.reads).toBe(1)
  const mixed = changing([FIRST, SECOND])
  await counted({ log: mixed, dedupe: 'last' })
  expect(mixed.reads).toBe(2)
})

// Retention and erasures go on meanwhile; a count of a part would be wrong without a sign.
test('scorings that leave the log between two scans are no silent gap', async () => {
  const shrinking = changing([FIRST, SECOND], [SECOND])
  const refused = counted({ log: shrinking, dedupe: 'last' })
  await expect(refused).rejects.toMatchObject({ code: 'unavailable' })
  const growing = changing([FIRST], [FIRST, SECOND])
  expect(await counted({ log: growing, dedupe: 'last' })).toEqual([5, 6, 7])
})

test('a scan ends early when it is told to', async () => {
  const ending = new AbortController()
  const parts = changing([FIRST, SECOND])
  const scan = scanApplicants(
    { log: parts, query: QUERY, dedupe: 'none', signal: ending.signal },
    () => {
      ending.abort(new Error('it is too late'))
      return null
    },
  )
  await expect(scan).rejects.toThrow('it is too late')
})

test('more references than a scan may hold are refused', async () => {
  const refused = counted({ log, dedupe: 'last', referencesMax: 1 })
  await expect(refused).rejects.toMatchObject({ code: 'invalid_request' })
  expect(await counted({ log, dedupe: 'none', referencesMax: 1 })).toHaveLength(5)
})

// A score waits for the event loop at most as long as a turn of the scan.
test('a scan of many applicants lets other work run meanwhile', async () => {
  const many = Array.from({ length: 300_000 }, (_, index) => applicant(`A-${index}`, index))
  const large = logOf(scanned(['a'], many))
  let turns = 0
  const timer = setInterval(() => turns++, 1)
  expect(await counted({ log: large, dedupe: 'last' })).toHaveLength(300_000)
  clearInterval(timer)
  expect(turns).toBeGreaterThan(3)
})
