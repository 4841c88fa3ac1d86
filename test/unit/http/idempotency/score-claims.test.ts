import { expect, test } from 'vitest'
import { LEASE_MS } from '../../../../src/http/idempotency/score-claims/agreement-store.ts'
import { ScoreClaims } from '../../../../src/http/idempotency/score-claims/score-claims.ts'

/** Claims a key, waits, and ends the claim with a logged score. */
async function settleAfter(waitMs: number): Promise<boolean> {
  const right = { mode: 'fast', mark: 'a mark' } as const
  let nowMs = 0
  const claims = new ScoreClaims({
    mode: {
      right,
      waitForRight: async () => right,
      confirm: async () => true,
      lose: () => undefined,
      hasFastKeys: true,
      isInRedis: true,
    },
    keys: {
      claim: async () => ({ held: null, mark: right.mark }),
      claimEarly: (_claim, onReply) => onReply({ held: null, mark: right.mark }),
      change: async () => true,
      noteLogged: (_claim, onSent) => onSent(),
    },
    logged: { find: async () => null },
    clock: { monotonicMs: () => nowMs },
    onFailure: () => undefined,
  })
  const claim = { keyHash: new Uint8Array(16), bodyTag: 'a tag', requestId: 'req_first' }
  const found = await claims.claimFast({ claim, right, isLogged: async () => false })
  if (found?.kind !== 'claimed') return expect.fail()
  nowMs += waitMs
  return new Promise((resolve) => claims.settle({ ...claim, ...found }, resolve))
}

// Others take a process for dead that was stopped so long, and execute its scores.
test('an answer that comes after the lease of its process does not count as kept', async () => {
  expect(await settleAfter(1_000)).toBe(true)
  expect(await settleAfter(LEASE_MS)).toBe(false)
})
