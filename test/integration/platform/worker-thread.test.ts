import { setTimeout as delay } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { END, WorkerThread } from '../../../src/platform/worker-thread.ts'

/** A thread that answers each number with the id of its thread. */
const ECHO = new URL(
  `data:text/javascript,${encodeURIComponent(`
    import { parentPort, threadId } from 'node:worker_threads'
    import { setTimeout } from 'node:timers/promises'
    parentPort.on('message', async (message) => {
      if (message === '${END}') return parentPort.close()
      await setTimeout(message)
      parentPort.postMessage(threadId)
    })`)}`,
)
const IDLE_MS = 100

/** A thread and the replies that it has posted. */
function openThread(idleMs: number | null) {
  const replies: number[] = []
  let wake = () => undefined as unknown
  const ends = { count: 0 }
  const thread = new WorkerThread<number, number>({
    file: ECHO,
    name: 'echo',
    workerData: {},
    memoryMb: { old: 64, young: 16 },
    restartPauseMs: 60_000,
    idleMs,
    onReply: (reply) => {
      replies.push(reply)
      wake()
    },
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
  const ask = async (ms: number): Promise<number> => {
    const { promise, resolve } = Promise.withResolvers<unknown>()
    wake = () => resolve(null)
    expect(thread.post(ms)).toBe(true)
    await promise
    return replies.at(-1) ?? 0
  }
  return { ask, ends }
}

// A thread takes tens of megabytes. Its end is none that an operator has to know.
test('a thread without work ends, and the next message starts another at once', async () => {
  const { ask, ends } = openThread(IDLE_MS)
  const first = await ask(0)
  expect(await ask(0)).toBe(first)
  await delay(10 * IDLE_MS)
  expect(await ask(0)).not.toBe(first)
  expect(ends.count).toBe(0)
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
