import { expect, test } from 'vitest'
import { ScanQueue } from '../../../../src/log/reading/scan-queue.ts'
import { newId } from '../../../../src/platform/ids.ts'
import type { ScoringFacts } from '../../../../src/reports/performance/labelled.ts'
import { APPLICANTS_MAX } from '../../../../src/reports/performance/labelled-applicants.ts'
import { PerformanceService } from '../../../../src/reports/performance/service.ts'
import { timedTurns } from '../../../support/expect/turns.ts'

const PORTION = 2_000
const SLUG = newId('dep_', 0)
const BOOKED_MS = Date.UTC(2015, 0, 1)

/** The vintages of so many accounts. */
function readVintages(applicants: number, windowMonths: number) {
  const account = {
    referenceHash: null,
    performance: {
      revision: 1,
      outcome: 'good',
      asOfMs: Date.UTC(2026, 0, 1),
      eventAtMs: null,
      bookedAtMs: BOOKED_MS,
    },
    decision: null,
  } as const
  let left = applicants
  const store = {
    deployment: async () => ({ environment: 'production', champion: 'mod_1' }),
    facts: async (): Promise<ScoringFacts[]> => {
      const size = Math.min(left, PORTION)
      left -= size
      return Array.from({ length: size }, (_, index) => ({
        ...account,
        place: { requestId: `req_${left + index}`, recordIndex: 0, scoredAtMs: 0 },
      }))
    },
  }
  const definitions = { get: async () => ({ id: 'gb', windowMonths, maturityMonths: 0 }) }
  const queue = new ScanQueue()
  const parts = { store, definitions, log: {}, models: {}, queue }
  const service = new PerformanceService(parts as never)
  const caller = { kind: 'user', userId: 'usr_1', teamId: 'team_1' } as never
  return service.vintages(caller, SLUG, { definition: 'gb' })
}

test('vintages leave the event loop to scores', async () => {
  const { result, longestMs, totalMs } = await timedTurns(() => readVintages(200_000, 120))
  expect(result).toMatchObject([{ cohort: '2015-01', n: 200_000 }])
  expect(longestMs).toBeLessThan(totalMs / 3)
})

test('vintages of too many applicants are refused', async () => {
  await expect(readVintages(APPLICANTS_MAX + 1, 1)).rejects.toMatchObject({
    code: 'invalid_request',
    message: 'the period has more than 1000000 outcomes: choose a shorter one',
  })
})
