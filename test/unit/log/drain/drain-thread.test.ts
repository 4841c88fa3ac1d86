import { syncBuiltinESMExports } from 'node:module'
import threads from 'node:worker_threads'
import { expect, onTestFinished, test, vi } from 'vitest'
import { DrainThread } from '../../../../src/log/drain/drain-thread.ts'

const RANGE = {
  directory: 'a',
  spoolId: 'spool',
  from: { segment: 0, offset: 0 },
  segment: 1,
  path: '/a/1',
  offset: 0,
  readableBytes: 100,
}

/** Makes every thread fail to start until the test ends. @returns how many were to start */
function refuseThreads(refusal: Error): { count: number } {
  const { Worker } = threads
  const refused = { count: 0 }
  onTestFinished(() => {
    threads.Worker = Worker
    syncBuiltinESMExports()
  })
  threads.Worker = new Proxy(Worker, {
    construct: () => {
      refused.count++
      throw refusal
    },
  })
  syncBuiltinESMExports()
  return refused
}

// Where the system has no thread left the service must start all the same, and drain without one.
test('a thread that fails to start is reported, and drains nothing', async () => {
  const refusal = new Error('no thread left')
  refuseThreads(refusal)
  const onCrash = vi.fn()
  const thread = new DrainThread({
    databaseUrl: 'postgres://localhost/none',
    isAwaited: false,
    onCrash,
    onSilent: () => undefined,
  })
  expect(await thread.drainRange(RANGE)).toBe(null)
  expect(await thread.drainRange(RANGE)).toBe(null)
  expect(onCrash.mock.calls).toEqual([[refusal]])
  await thread.close()
})

// A process without scores has no use for the thread's memory. In the durability `database` an
// answer waits for the thread: the first must not wait for its start.
test('the thread starts with the first record, or at once where answers wait for it', async () => {
  const refused = refuseThreads(new Error('no thread left'))
  const options = {
    databaseUrl: 'postgres://localhost/none',
    onCrash: () => undefined,
    onSilent: () => undefined,
  }
  const thread = new DrainThread({ ...options, isAwaited: false })
  expect(refused.count).toBe(0)
  await thread.drainRange(RANGE)
  expect(refused.count).toBe(1)
  new DrainThread({ ...options, isAwaited: true })
  expect(refused.count).toBe(2)
})
