import { expect, test } from 'vitest'
import {
  type ApplicantScan,
  scanApplicants,
} from '../../../../src/score-log/reading/applicant-scan.ts'
import { logOf, scanned } from '../../../support/score-log/scanned.ts'

const QUERY = { teamId: 'team_1', deploymentId: 'dep_1', fromMs: 0, toMs: 1 }
const applicant = (reference: string | undefined, atMs: number, score: number | null = 1) => ({
  results: [score === null ? null : { score }],
  atMs,
  ...(reference !== undefined && { reference }),
})

/** Times of the applicants that count. */
async function counted(scan: Omit<ApplicantScan, 'query'>): Promise<number[]> {
  const times: number[] = []
  await scanApplicants({ ...scan, query: QUERY }, (columns) => ({
    takes: (row) => columns.models[0]?.scored[row] === 1,
    add: (row) => times.push(columns.scoredAtMs(row)),
  }))
  return times
}

const log = logOf(
  scanned(['a'], [applicant('A', 5), applicant(undefined, 6), applicant('B', 7)]),
  scanned(['a'], [applicant('A', 1), applicant('B', 9, null), applicant(undefined, 6)]),
)

// Blocks of two replicas overlap: the later block can hold the earlier scoring.
test('a reference counts once, whatever block holds its scorings', async () => {
  expect(await counted({ log, dedupe: 'last' })).toEqual([5, 6, 7, 6])
  expect(await counted({ log, dedupe: 'first' })).toEqual([6, 7, 1, 6])
  expect(await counted({ log, dedupe: 'none' })).toEqual([5, 6, 7, 1, 6])
})

test('a reference counts once in each period', async () => {
  const periodOf = (atMs: number) => Math.floor(atMs / 4)
  expect(await counted({ log, dedupe: 'last', periodOf })).toEqual([5, 6, 7, 1, 6])
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
