import { expect, test } from 'vitest'
import type { Caller } from '../../../../src/http/access/caller.ts'
import { ScoreReadingService } from '../../../../src/log/reading/service.ts'
import { systemClock } from '../../../../src/platform/clock.ts'

const HIDDEN = 2_500
const DEPLOYMENT = 'dep_0000000000000000000000'

/** Newest first, all of production. */
async function* productionScores(before: string | null) {
  for (let number = HIDDEN; number > 0; number--) {
    const requestId = `req_${String(number).padStart(22, '0')}`
    if (before !== null && requestId >= before) continue
    yield { requestId, scoredAtMs: number, teamId: 'team_1', deploymentId: DEPLOYMENT, rows: [] }
  }
}

// Thousands of scores of production can have the reference that a key of staging searches for.
test('a search passes over a bounded number of scores that the key does not see', async () => {
  let asked = 0
  const service = new ScoreReadingService({
    reader: {
      search: ({ before }: { before: { requestId: string } | null }) =>
        productionScores(before?.requestId ?? null),
    } as never,
    models: {} as never,
    store: {
      findEnvironments: async () => {
        asked++
        return new Map([[DEPLOYMENT, 'production' as const]])
      },
      record: async () => {},
    },
    clock: systemClock,
    onUnequal: () => {},
  })
  const caller = { kind: 'key', teamId: 'team_1', environment: 'staging' } as Caller
  let cursor: string | null | undefined
  let pages = 0
  do {
    const query = { reference: 'test', ...(cursor != null && { cursor }) }
    const found = await service.search(caller, query)
    expect(found.scores).toEqual([])
    cursor = found.nextCursor
    pages++
  } while (cursor !== null)
  expect(pages).toBe(3)
  expect(asked).toBe(pages)
})
