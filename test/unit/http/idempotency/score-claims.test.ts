import { expect, test } from 'vitest'
import { LEASE_MS } from '../../../../src/http/idempotency/score-claims/agreement-store.ts'
import type { HeldClaim } from '../../../../src/http/idempotency/score-claims/score-claim.ts'
import { ScoreClaims } from '../../../../src/http/idempotency/score-claims/score-claims.ts'

const RIGHT = { mode: 'fast', mark: 'a mark' } as const
const CLAIM = { keyHash: new Uint8Array(16), bodyTag: 'a tag', requestId: 'req_new' }

/** @param held what Redis has of each key */
function openClaims(held: HeldClaim | null, monotonicMs = () => 0): ScoreClaims {
  const reply = { held, mark: RIGHT.mark }
  return new ScoreClaims({
    mode: {
      right: RIGHT,
      waitForRight: async () => RIGHT,
      confirm: async () => true,
      lose: () => undefined,
      hasFastKeys: true,
      isInRedis: true,
    },
    keys: {
      claim: async () => reply,
      claimEarly: (_claim, onReply) => onReply(reply),
      change: async () => true,
      noteLogged: (_claim, onSent) => onSent(),
    },
    logged: { find: async () => null },
    clock: { monotonicMs },
    onFailure: () => undefined,
  })
}

/** Claims a key, waits, and ends the claim with a logged score. */
async function settleAfter(waitMs: number): Promise<boolean> {
  let nowMs = 0
  const claims = openClaims(null, () => nowMs)
  const found = await claims.claimFast({ claim: CLAIM, right: RIGHT, isLogged: async () => false })
  if (found?.kind !== 'claimed') return expect.fail()
  nowMs += waitMs
  return new Promise((resolve) => claims.settle({ ...CLAIM, ...found }, resolve))
}

// Others take a process for dead that was stopped so long, and execute its scores.
test('an answer that comes after the lease of its process does not count as kept', async () => {
  expect(await settleAfter(1_000)).toBe(true)
  expect(await settleAfter(LEASE_MS)).toBe(false)
})

// While keys are copied into Redis, the database may lack a score that a dead process has logged.
test.each([
  ['claimed', 29_000, 'under-way'],
  ['claimed', 31_000, 'stored'],
  ['logged', 1_000, 'logged'],
  ['logged', 80_000_000, 'logged'],
  ['stored', 80_000_000, 'stored'],
] as const)(
  'beside the database, a key that Redis has as %s for %i ms is %s',
  async (state, ageMs, kind) => {
    const claims = openClaims({ state, bodyTag: 'a tag', requestId: 'req_first', ageMs })
    expect((await claims.noteStored(CLAIM, RIGHT))?.kind).toBe(kind)
  },
)
