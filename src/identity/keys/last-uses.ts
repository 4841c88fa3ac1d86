export interface KeyUse {
  readonly keyId: string
  readonly usedAt: Date
}

/** Maximum delay of a write, and minimum time between two writes of the same key. */
export const FLUSH_INTERVAL_MS = 60_000
/** Maximum number of keys held between writes; uses of further keys are not recorded. */
const KEYS_HELD_MAX = 100_000
const BATCH_KEYS_MAX = 5_000
/** Keeps an unreachable database from delaying the shutdown. */
const CLOSE_DEADLINE_MS = 1_000

/**
 * Collects the last use of each key and writes it in batches, so that a request only costs one
 * entry in a map.
 *
 * *Idle*: it holds no uses and no timer runs. The first use schedules a write after
 * `FLUSH_INTERVAL_MS`. *Scheduled*: it holds uses until that write, then it is idle again. Uses
 * that could not be written stay for the next write, unless the key was used again. A killed
 * process loses up to a minute of uses; the API documents that `last_used_at` may be late.
 */
export class LastUses {
  private readonly write: (uses: readonly KeyUse[]) => Promise<void>
  private epochMsByKeyId = new Map<string, number>()
  private timer: NodeJS.Timeout | undefined

  constructor(write: (uses: readonly KeyUse[]) => Promise<void>) {
    this.write = write
  }

  /** Records a use. */
  note(keyId: string, epochMs: number): void {
    if (this.epochMsByKeyId.size >= KEYS_HELD_MAX && !this.epochMsByKeyId.has(keyId)) return
    this.epochMsByKeyId.set(keyId, epochMs)
    if (this.timer === undefined) this.schedule()
  }

  /** Writes the held uses; gives up after `CLOSE_DEADLINE_MS`. */
  async close(): Promise<void> {
    const overdue = Promise.withResolvers<void>()
    const deadline = setTimeout(overdue.resolve, CLOSE_DEADLINE_MS)
    await Promise.race([this.flush(), overdue.promise])
    clearTimeout(deadline)
    clearTimeout(this.timer)
  }

  private schedule(): void {
    this.timer = setTimeout(() => void this.flush(), FLUSH_INTERVAL_MS).unref()
  }

  private async flush(): Promise<void> {
    clearTimeout(this.timer)
    this.timer = undefined
    const held = [...this.epochMsByKeyId]
    this.epochMsByKeyId = new Map()
    for (let start = 0; start < held.length; start += BATCH_KEYS_MAX) {
      const batch = held.slice(start, start + BATCH_KEYS_MAX)
      try {
        await this.write(batch.map(([keyId, ms]) => ({ keyId, usedAt: new Date(ms) })))
      } catch {
        // The database is unreachable. No request waits for this, so the next write tries again.
        this.restore(held.slice(start))
        return
      }
    }
  }

  private restore(unwritten: ReadonlyArray<[string, number]>): void {
    for (const [keyId, epochMs] of unwritten) {
      if (!this.epochMsByKeyId.has(keyId)) this.note(keyId, epochMs)
    }
  }
}
