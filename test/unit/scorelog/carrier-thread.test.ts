import { Worker } from 'node:worker_threads'
import { beforeEach, expect, test, vi } from 'vitest'
import { CarrierThread } from '../../../src/scorelog/carrier-thread.ts'

vi.mock('node:worker_threads', { spy: true })

const STRETCH = { directory: 'a', segment: 1, path: '/a/1', offset: 0, readableBytes: 100 }

beforeEach(() => {
  vi.mocked(Worker).mockReset()
})

// Where the system has no thread left the service must start all the same, and drain without one.
test('a thread that can not be started is told of, and carries nothing', async () => {
  const refusal = new Error('no thread left')
  vi.mocked(Worker).mockImplementation(function refuse() {
    throw refusal
  })
  const onCrash = vi.fn()
  const carrier = new CarrierThread({
    ...{ databaseUrl: 'postgres://localhost/none', writer: 'writer' },
    ...{ onCrash, onSilent: () => undefined },
  })
  expect(await carrier.carry(STRETCH)).toBe(null)
  expect(await carrier.carry(STRETCH)).toBe(null)
  expect(onCrash.mock.calls).toEqual([[refusal]])
  await carrier.close()
})
