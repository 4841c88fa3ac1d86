import { expect, test } from 'vitest'
import type { Holding } from '../../../src/outcomes/held-items.ts'
import type { OutcomeMatcher } from '../../../src/outcomes/matcher.ts'
import { OutcomeService } from '../../../src/outcomes/service.ts'
import type { OutcomeStore } from '../../../src/outcomes/store.ts'

const NOW_MS = Date.UTC(2026, 0, 31)
const AGAIN = 'no score of the team is known by this name; it is tried again for 30 days'

/** The messages of unmatched outcomes of which the store says these. */
async function readMessages(holdings: readonly Holding[]) {
  const match = async (_scope: unknown, targets: readonly unknown[]) =>
    targets.map(() => ({ kind: 'unmatched', message: AGAIN, isLater: true }))
  const received: number[] = []
  const store: Partial<OutcomeStore> = {
    readWindows: async () => new Map(),
    write: async ({ receivedAtMs }) => {
      received.push(receivedAtMs)
      return { statuses: [], holdings }
    },
  }
  const clock = { epochMs: () => NOW_MS, monotonicMs: () => 0 }
  const matcher = { match } as unknown as OutcomeMatcher
  const service = new OutcomeService(matcher, store as OutcomeStore, clock, 30)
  const sender = { teamId: 'team_1', environment: null, by: 'usr_1' }
  const items = holdings.map((_, n) => ({
    request_id: `req_${n}`,
    kind: 'decision',
    decision: 'approved',
  }))
  const results = await service.take(sender, items)
  expect(received).toEqual([NOW_MS])
  expect(results.map(({ status }) => status)).toEqual(holdings.map(() => 'unmatched'))
  return results.map(({ message, isDropped }) => [isDropped, message])
}

// Its sender would else wait for what nobody does.
test('an outcome that is not held says so, and what to do', async () => {
  expect(await readMessages(['held', 'full', 'long', 'erased'])).toEqual([
    [false, AGAIN],
    [
      true,
      'no score of the team is known by this name, and too many outcomes of the team wait for theirs: send it again when the score is there',
    ],
    [
      true,
      'no score of the team is known by this name, and the outcome is too long to wait for it: send it again when the score is there, or with less text',
    ],
    [true, 'the reference was erased while this outcome was on its way: it is not tried again'],
  ])
})
