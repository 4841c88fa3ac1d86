import { setTimeout as delay } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { WorkerThread } from '../../../src/platform/worker-thread.ts'

const PORT = new URL('../../../src/platform/worker-thread.ts', import.meta.url)

/** A thread that answers each number with the id of its thread. */
const ECHO = new URL(
  `data:text/javascript,${encodeURIComponent(`
    import { threadId } from 'node:worker_threads'
    import { setTimeout } from 'node:timers/promises'
    import { answerCalls } from '${PORT}'
    answerCalls((ms) => setTimeout(ms, threadId))`)}`,
)
const IDLE_MS = 100
const WITHIN = { timeout: 30_000 }

/** A thread, and how often what it held was gone. */
function openThread(idleMs: number | null) {
  const ends = { count: 0 }
  const thread = new WorkerThread<number, number>({
    file: ECHO,
    name: 'echo',
    workerData: {},
    memoryMb: { old: 64, young: 16 },
    restartPauseMs: 60_000,
    idleMs,
    onEnded: () => {
      ends.count++
    },
    onCrash: (error) => {
      throw error
    },
    onSilent: () => undefined,
  })
  onTestFinished(() => thread.close())
  /** Asks the thread, which answers after `ms`. */
  const ask = async (ms: number): Promise<number> => (await thread.call(ms)) ?? expect.fail()
  return { thread, ask, ends }
}

// A thread takes tens of megabytes. Its end is none that an operator has to know.
test('a thread without work ends, and the next message starts another at once', async () => {
  const { thread, ask, ends } = openThread(IDLE_MS)
  const first = await ask(0)
  expect(await ask(0)).toBe(first)
  expect(ends.count).toBe(0)
  await expect.poll(() => thread.isOn, WITHIN).toBe(false)
  // Whoever counts on what the thread held learns that it is gone.
  expect(ends.count).toBe(1)
  expect(await ask(0)).not.toBe(first)
})

test('a thread that was sent something and asked nothing ends, too', async () => {
  const { thread, ends } = openThread(IDLE_MS)
  thread.post(0)
  expect(thread.isOn).toBe(true)
  await expect.poll(() => thread.isOn, WITHIN).toBe(false)
  expect(ends.count).toBe(1)
})

test('a thread at work does not end, however long that takes', async () => {
  const { ask } = openThread(IDLE_MS)
  const first = await ask(0)
  const late = ask(5 * IDLE_MS)
  expect(await late).toBe(first)
})

test('a thread that answers wait for stays', async () => {
  const { ask } = openThread(null)
  const first = await ask(0)
  await delay(5 * IDLE_MS)
  expect(await ask(0)).toBe(first)
})

test('calls are answered beside each other, and those of a thread that ends have no reply', async () => {
  const { thread, ask, ends } = openThread(null)
  const slow = thread.call(60_000)
  expect(await ask(0)).toBeGreaterThan(0)
  thread.terminate()
  expect(await slow).toBeNull()
  expect(ends.count).toBe(1)
  // The next thread may start only after a pause.
  expect(await thread.call(0)).toBeNull()
})
