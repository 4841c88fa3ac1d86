import { processorMs } from './processor-time.ts'

/** What work gives, its time, and the longest time that the event loop waited for it. */
export async function timedTurns<T>(
  work: () => Promise<T>,
): Promise<{ readonly result: T; readonly longestMs: number; readonly totalMs: number }> {
  const startedAt = processorMs()
  let [seenAt, longestMs] = [startedAt, 0]
  const look = () => {
    longestMs = Math.max(longestMs, processorMs() - seenAt)
    seenAt = processorMs()
  }
  const watch = setInterval(look, 1)
  try {
    const result = await work()
    look()
    return { result, longestMs, totalMs: processorMs() - startedAt }
  } finally {
    clearInterval(watch)
  }
}
