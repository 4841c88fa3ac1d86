import { setTimeout as delay } from 'node:timers/promises'

/** Makes `close` idempotent: every caller awaits the same shutdown. */
export function once(close: () => Promise<void>): () => Promise<void> {
  let closing: Promise<void> | null = null
  return () => {
    closing ??= close()
    return closing
  }
}

/**
 * Closes a part that may be in the middle of a call, and waits for it no longer than `timeoutMs`.
 * Work that must not be lost has to survive that, as it survives a kill of the process.
 */
export function closedWithin(
  timeoutMs: number,
  part: { close(): Promise<void> },
): { close(): Promise<void> } {
  return {
    close: async () => {
      const timeout = new AbortController()
      const waited = delay(timeoutMs, undefined, { signal: timeout.signal }).catch(() => undefined)
      await Promise.race([part.close(), waited])
      timeout.abort()
    },
  }
}
