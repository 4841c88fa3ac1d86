import { expect, test } from 'vitest'
import { newSecret, type SendResult } from '../../../../src/jobs/webhooks/attempt.ts'
import { Deliverer } from '../../../../src/jobs/webhooks/deliverer.ts'
import type {
  AttemptEnd,
  DueDelivery,
  DueStore,
} from '../../../../src/jobs/webhooks/delivery-store.ts'
import { SecretSealer } from '../../../../src/jobs/webhooks/secret-sealer.ts'

const sealer = new SecretSealer('the secret of the service, long enough', null)

function delivery(attempt: number): DueDelivery {
  return {
    id: 'dlv_1',
    teamId: 'team_1',
    webhookId: 'whk_1',
    eventId: 'evt_1',
    attempt,
    type: 'webhook.test',
    dataText: '{"a":1}',
    at: new Date(0),
    url: 'https://risk.lender.example/',
    secret: sealer.seal('whk_1', newSecret()),
    previousSecret: null,
    sealedWith: sealer.sealedWith,
  }
}

/** A store with one delivery. */
class OneDelivery implements Pick<DueStore, keyof DueStore> {
  readonly ends: AttemptEnd[] = []
  released = 0
  private due: DueDelivery | null

  constructor(due: DueDelivery) {
    this.due = due
  }

  async take() {
    const { due } = this
    this.due = null
    return due === null ? [] : [due]
  }

  async finish(_: DueDelivery, end: AttemptEnd) {
    this.ends.push(end)
  }

  async release() {
    this.released++
  }
}

async function findEnd(due: DueDelivery, result: SendResult, random = 0.5) {
  const store = new OneDelivery(due)
  const deliverer = new Deliverer({
    store,
    sender: { send: async () => result },
    sealer,
    retryMs: [1_000, 10_000],
    onFailed: (error) => expect.fail(String(error)),
    random: () => random,
  })
  deliverer.wake()
  await expect.poll(() => store.ends.length).toBe(1)
  await deliverer.close()
  return { end: store.ends[0], counts: deliverer.counts }
}

const FAILED = { status: 500, error: 'status 500' }

test('each failure waits as long as its place says, a fifth more or less', async () => {
  const retryMs = async (attempt: number, random: number) =>
    (await findEnd(delivery(attempt), FAILED, random)).end?.retryInMs
  expect(await retryMs(1, 0.5)).toBe(1_000)
  expect(await retryMs(2, 0.5)).toBe(10_000)
  expect(await retryMs(2, 0)).toBe(8_000)
  expect(await retryMs(2, 1)).toBeCloseTo(12_000, 6)
})

test('after its last attempt a delivery is dead', async () => {
  const { end, counts } = await findEnd(delivery(3), FAILED)
  expect(end).toEqual({ state: 'dead', ...FAILED, retryInMs: 0 })
  expect(counts).toEqual({ delivered: 0, failed: 1, dead: 1 })
})

test('a secret that can’t be opened is a failure that says what to do', async () => {
  const sealed = { ...delivery(1), sealedWith: 'another' }
  const { end } = await findEnd(sealed, { status: 204, error: null })
  expect(end).toMatchObject({
    state: 'waiting',
    error: expect.stringContaining('rotate the secret'),
  })
})

// A deployment of the service must cost no attempt.
test('what is under way at the end is given back', async () => {
  const store = new OneDelivery(delivery(1))
  const began = Promise.withResolvers<void>()
  const deliverer = new Deliverer({
    store,
    sender: {
      send: (_, signal) => {
        began.resolve()
        return new Promise((resolve) =>
          signal.addEventListener('abort', () => resolve({ status: null, error: 'ended' })),
        )
      },
    },
    sealer,
    retryMs: [1_000],
    onFailed: (error) => expect.fail(String(error)),
  })
  deliverer.wake()
  await began.promise
  expect(deliverer.inFlight).toBe(1)
  await deliverer.close()
  expect([store.released, store.ends, deliverer.inFlight]).toEqual([1, [], 0])
})
