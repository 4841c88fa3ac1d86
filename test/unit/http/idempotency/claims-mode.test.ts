import { expect, test, vi } from 'vitest'
import {
  type Agreement,
  type Lease,
  ONLY_LEASE,
} from '../../../../src/http/idempotency/score-claims/agreement.ts'
import { ClaimsMode } from '../../../../src/http/idempotency/score-claims/claims-mode.ts'
import { systemClock } from '../../../../src/platform/clock.ts'

const REDIS_LEASE: Lease = { mode: 'fast', mark: 'keys that Redis has' }

// The process before was killed, and started again with Redis or with another secret, or without what
// Redis had.
test.for([
  ['only process', ONLY_LEASE],
  ['process', REDIS_LEASE],
] as const)(
  'what the %s before has left is drained before keys are claimed elsewhere',
  async ([, lease]) => {
    let agreed: Agreement = {
      mode: lease.mode,
      mark: lease.mark,
      run: '',
      loader: '',
      isLoaderAlive: false,
      isKeptSlow: false,
    }
    let isLeftDrained = false
    const mode = new ClaimsMode({
      store: {
        decide: async (_, decide) => {
          const decision = decide({ agreed, others: [], hasFastKeys: true })
          agreed = { ...agreed, ...decision }
          return decision
        },
        end: async () => undefined,
      },
      clock: systemClock,
      hasRedis: false,
      isDrainedSince: () => true,
      isLeftDrained: () => isLeftDrained,
      look: async () => undefined,
      load: async () => false,
      onFailed: (error) => expect.fail(String(error)),
      onMode: () => undefined,
    })
    mode.start()
    await vi.waitFor(() => expect(agreed.mode).toBe('slow'))
    expect(mode.right).toBeNull()
    isLeftDrained = true
    await vi.waitFor(() => expect(mode.right?.mode).toBe('slow'), 5_000)
    await mode.close()
  },
)
