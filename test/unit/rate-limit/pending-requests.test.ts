import { expect, test } from 'vitest'
import { PendingRequests } from '../../../src/rate-limit/pending-requests.ts'

// A request that a cluster sends about is decided here at its deadline; the node's answer is late.
test('requests that were decided are not decided again by a late answer', () => {
  const decided: string[] = []
  const throwIt = (error: unknown) => {
    throw error
  }
  const group = new PendingRequests({ subject: 'key_1', quota: 10, isNoted: false }, throwIt)
  group.add((remaining) => decided.push(`one ${remaining}`))
  group.add((remaining) => decided.push(`two ${remaining}`))
  group.settleEach((onDecision) => onDecision(7, 0))
  expect(group.requests).toBe(0)
  group.settle(2, 2, 0)
  expect(decided).toEqual(['one 7', 'two 7'])
})
