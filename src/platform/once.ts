/** Makes `close` idempotent: every caller awaits the same shutdown. */
export function once(close: () => Promise<void>): () => Promise<void> {
  let closing: Promise<void> | null = null
  return () => {
    closing ??= close()
    return closing
  }
}
