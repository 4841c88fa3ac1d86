import { syncBuiltinESMExports } from 'node:module'
import threads from 'node:worker_threads'
import { expect, onTestFinished, test, vi } from 'vitest'
import { DrainThread } from '../../../../src/score-log/drain/drain-thread.ts'

const RANGE = {
  directory: 'a',
  spoolId: 'spool',
  from: { segment: 0, offset: 0 },
  segment: 1,
  path: '/a/1',
  offset: 0,
  readableBytes: 100,
}

/** Makes every thread fail to start until the test ends. */
function refuseThreads(refusal: Error): void {
  const { Worker } = threads
  onTestFinished(() => {
    threads.Worker = Worker
    syncBuiltinESMExports()
  })
  threads.Worker = new Proxy(Worker, {
    construct: () => {
      throw refusal
    },
  })
  syncBuiltinESMExports()
}

// Where the system has no thread left the service must start all the same, and drain without one.
test('a thread that fails to start is reported, and drains nothing', async () => {
  const refusal = new Error('no thread left')
  refuseThreads(refusal)
  const onCrash = vi.fn()
  const thread = new DrainThread({
    databaseUrl: 'postgres://localhost/none',
    writer: 'writer',
    isAwaited: false,
    onCrash,
    onSilent: () => undefined,
  })
  expect(await thread.drainRange(RANGE)).toBe(null)
  expect(await thread.drainRange(RANGE)).toBe(null)
  expect(onCrash.mock.calls).toEqual([[refusal]])
  await thread.close()
})
