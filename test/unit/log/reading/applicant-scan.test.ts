import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { ApplicantReader } from '../../../../src/log/reading/applicant-readers.ts'
import {
  type ApplicantScan,
  scanApplicants,
  scanTogether,
} from '../../../../src/log/reading/applicant-scan.ts'
import { findLog, logOfBlocks, scanned } from '../../../support/score-log/scanned.ts'

const QUERY = { teamId: 'team_1', deploymentId: 'dep_1', fromMs: 0, toMs: 1 }
const HOUR_MS = 3_600_000
const MANY_BYTES = 100 * 1024 * 1024
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
const log = findLog(FIRST, SECOND)
// Blocks of two replicas overlap: the later block can hold the earlier scoring.
test('a reference counts once, whatever block holds its scorings', async () => {
  expect(await counted({ log, dedupe: 'last' })).toEqual([5, 6, 6, 7])
  expect(await counted({ log, dedupe: 'first' })).toEqual([1, 6, 6, 7])
  expect(await counted({ log, dedupe: 'none' })).toEqual([1, 5, 6, 6, 7])
})

test('a reference counts once in each period', async () => {
  const hours = [FIRST, scanned(['a'], [applicant('A', HOUR_MS), applicant('B', HOUR_MS + 1)])]
  const periods = { name: 'hour', of: (atMs: number) => Math.floor(atMs / HOUR_MS) }
  const each = [5, 6, 7, HOUR_MS, HOUR_MS + 1]
  const log = findLog(...hours)
  expect(await counted({ log, dedupe: 'last', periods })).toEqual(each)
  expect(await counted({ log, dedupe: 'last' })).toEqual([6, HOUR_MS, HOUR_MS + 1])
})

const logged = fc.record({
  reference: fc.constantFrom(undefined, 'A', 'B', 'C', 'ä', 'application 12'),
  minute: fc.nat(5),
  isScored: fc.boolean(),
})
const block = fc.record({
  hour: fc.nat(2),
  scorings: fc.array(logged, { minLength: 1, maxLength: 8 }),
})

// What was settled too early or forgotten would count twice, or for the wrong scoring.
test.each(['last', 'first'] as const)(
  'with dedupe=%s blocks in the order of time give what a comparison of all scorings does',
  async (dedupe) => {
    const sign = dedupe === 'last' ? 1 : -1
    await fc.assert(
      fc.asyncProperty(
        fc.array(block, { maxLength: 8 }),
        fc.constantFrom(0, MANY_BYTES),
        async (blocks, bytes) => {
          const rows = blocks.map(({ hour, scorings }, place) =>
            scorings.map(({ reference, minute, isScored }, row) => ({
              ...applicant(reference, hour * HOUR_MS + minute * 60_000, isScored ? 1 : null),
              name: `${place}.${row}`,
            })),
          )
          const best = new Map<string, { name: string; order: number[] }>()
          for (const [place, ofBlock] of rows.entries()) {
            const firstAtMs = Math.min(...ofBlock.map(({ atMs }) => atMs))
            for (const [row, { reference, atMs, results, name }] of ofBlock.entries()) {
              if (results[0] === null) continue
              const key = reference ?? `none ${name}`
              const order = [atMs, firstAtMs, place, row].map((part) => sign * part)
              const known = best.get(key)
              if (known === undefined || isAfter(order, known.order)) best.set(key, { name, order })
            }
          }
          const parts = rows.map((ofBlock) => scanned(['a'], ofBlock))
          const found: string[] = []
          const scan = { log: logOfBlocks(parts, bytes), query: QUERY, dedupe }
          await scanApplicants(scan, (columns) => ({
            takes: (row) => columns.models[0]?.scored[row] === 1,
            add: (chosen) => {
              for (const row of chosen) found.push(`${parts.indexOf(columns)}.${row}`)
            },
          }))
          expect(found.sort()).toEqual([...best.values()].map(({ name }) => name).sort())
        },
      ),
    )
  },
)

function isAfter(one: readonly number[], other: readonly number[]): boolean {
  const place = one.findIndex((part, index) => part !== other[index])
  return place >= 0 && (one[place] ?? 0) > (other[place] ?? 0)
}

/** A reader of the applicants that a model scored, by their times. */
function makeReader(model: number, times: number[], isBroken = false): ApplicantReader {
  return {
    takers: `${model}`,
    makeReader: (columns) => ({
      takes: (row) => columns.models[model]?.scored[row] === 1,
      add: (rows) => {
        if (isBroken) throw new Error('it is broken')
        for (const row of rows) times.push(columns.scoredAtMs(row))
      },
    }),
  }
}

// The second model failed for the last scoring of A: its own last one is the first.
test.each(['last', 'none'] as const)(
  'with dedupe=%s readers of one scan each get what they would get alone',
  async (dedupe) => {
    const two = (reference: string, atMs: number, isScored = true) => ({
      results: [{ score: 1 }, isScored ? { score: 1 } : null],
      atMs,
      reference,
    })
    const parts = [scanned(['a', 'b'], [two('A', 1), two('B', 2), two('A', 3, false)])]
    const readers = (broken: boolean) => {
      const times: number[][] = [[], [], [], []]
      const made = times.map((of, place) => makeReader(place % 2, of, broken && place === 2))
      return { times, made }
    }
    const { times, made } = readers(true)
    const failures = await scanTogether(
      { log: findLog(...parts), query: QUERY, dedupe },
      () => made,
    )
    expect([...failures.keys()]).toEqual([made[2]])
    const sorted = times.map((of) => of.sort())
    const ofFirst = dedupe === 'last' ? [2, 3] : [1, 2, 3]
    expect(sorted).toEqual([ofFirst, [1, 2], [], [1, 2]])
  },
)

test.each(['none', 'last'] as const)(
  'a scan with dedupe=%s ends early when it is told to',
  async (dedupe) => {
    const ending = new AbortController()
    const scan = scanApplicants({ log, query: QUERY, dedupe, signal: ending.signal }, () => {
      ending.abort(new Error('it is too late'))
      return null
    })
    await expect(scan).rejects.toThrow('it is too late')
  },
)

test('more references than a scan may hold are refused', async () => {
  const refused = counted({ log, dedupe: 'last', referencesMax: 1 })
  await expect(refused).rejects.toMatchObject({ code: 'invalid_request' })
  expect(await counted({ log, dedupe: 'none', referencesMax: 1 })).toHaveLength(5)
})

// A score waits for the event loop at most as long as a turn of the scan.
test('a scan of many applicants lets other work run meanwhile', async () => {
  const many = Array.from({ length: 300_000 }, (_, index) => applicant(`A-${index}`, index))
  const large = findLog(scanned(['a'], many))
  let turns = 0
  const timer = setInterval(() => turns++, 1)
  expect(await counted({ log: large, dedupe: 'last' })).toHaveLength(300_000)
  clearInterval(timer)
  expect(turns).toBeGreaterThan(3)
})
