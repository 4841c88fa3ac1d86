/** A key's latest use. */
export interface KeyUse {
  readonly keyId: string
  readonly usedAt: Date
}

/** Both the longest time that a use stays unwritten and the least between two writes of one key. */
export const FLUSH_INTERVAL_MS = 60_000
/** Of an entry: an id of 26 characters and a number. Above it uses of further keys go unnoted. */
const KEYS_NOTED_MAX = 100_000
const BATCH_KEYS_MAX = 5_000
/** The end of the process has other things to wait for. */
const CLOSE_DEADLINE_MS = 1_000

/**
 * Remembers when keys were last used, and writes it in batches, so that a request pays for one entry of
 * a map.
 *
 * *Idle* while it holds nothing: no timer runs. The first use noted makes it *due* in
 * `FLUSH_INTERVAL_MS`; then what it holds is written, and it is idle again. What could not be
 * written stays for the next time, unless the key was used since. Uses that a killed process held
 * are lost, up to a minute of them: the field says that it may lag.
 */
export class LastUses {
  private readonly write: (uses: readonly KeyUse[]) => Promise<void>
  private epochMsByKeyId = new Map<string, number>()
  private timer: NodeJS.Timeout | undefined

  constructor(write: (uses: readonly KeyUse[]) => Promise<void>) {
    this.write = write
  }

  note(keyId: string, epochMs: number): void {
    if (this.epochMsByKeyId.size >= KEYS_NOTED_MAX && !this.epochMsByKeyId.has(keyId)) return
    this.epochMsByKeyId.set(keyId, epochMs)
    if (this.timer === undefined) this.schedule()
  }

  /** Writes what is held, as far as that can be done in a second. */
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
        // The database is away. Nobody waits for this, so nobody is told; the next time tries again.
        this.keep(held.slice(start))
        return
      }
    }
  }

  private keep(unwritten: ReadonlyArray<[string, number]>): void {
    for (const [keyId, epochMs] of unwritten) {
      if (!this.epochMsByKeyId.has(keyId)) this.note(keyId, epochMs)
    }
  }
}
