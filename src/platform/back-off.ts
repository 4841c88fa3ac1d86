interface Pauses {
  readonly minMs: number
  readonly maxMs: number
}

/**
 * Says how long to wait before the next attempt: twice as long each time.
 *
 * @param before failures in a row before the last one
 */
export function backOffMs({ minMs, maxMs }: Pauses, before: number): number {
  return Math.min(maxMs, minMs * 2 ** before)
}
