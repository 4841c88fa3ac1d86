import { setTimeout as delay } from 'node:timers/promises'
import type { Clock } from '../../platform/clock.ts'

/** Time of refusals after a failed write: as long as `Retry-After` tells clients to wait. */
const PAUSE_MS = 1_000
const PROBE_EVERY_MS = 1_000
/**
 * A probe asks for room for this many bytes, a group of a busy process, or for the failed write if
 * that was larger.
 */
const PROBE_BYTES_MIN = 256 * 1024
const PROBE_BYTES_MAX = 64 * 1024 * 1024

interface DiskFaultsOptions {
  readonly clock: Clock
  readonly warn: (facts: Readonly<Record<string, unknown>>, text: string) => void
  /** Rejects while the disk has no room for these bytes. */
  readonly probe: (bytes: number) => Promise<void>
}

/**
 * State of the disk: *sound*, or *failing* from a failed write until one succeeds.
 *
 * While it is failing, requests are refused for a second after each failed write. The disk is
 * probed once a second, because a replica that is not ready gets no request whose write could
 * succeed.
 */
export class DiskFaults {
  private readonly options: DiskFaultsOptions
  private failedAtMs = Number.NEGATIVE_INFINITY
  private failedBytes = 0
  private probing: Promise<void> | null = null
  private readonly closing = new AbortController()

  constructor(options: DiskFaultsOptions) {
    this.options = options
  }

  get isFailing(): boolean {
    return this.failedAtMs !== Number.NEGATIVE_INFINITY
  }

  /** True if requests are refused without a write. */
  get isPausing(): boolean {
    return this.isFailing && this.options.clock.monotonicMs() - this.failedAtMs < PAUSE_MS
  }

  /** @param bytes size of the failed write */
  noteFailed(error: unknown, bytes: number): void {
    const isFirst = !this.isFailing
    this.failedAtMs = this.options.clock.monotonicMs()
    this.failedBytes = Math.max(this.failedBytes, bytes)
    if (!isFirst) return
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    this.options.warn({ code }, "the spool can't be written to")
    this.probing ??= this.probe().finally(() => {
      this.probing = null
    })
  }

  noteWritten(): void {
    if (!this.isFailing) return
    this.failedAtMs = Number.NEGATIVE_INFINITY
    this.failedBytes = 0
    this.options.warn({}, 'the spool can be written to again')
  }

  /** Waits for the running probe and starts no other. */
  async close(): Promise<void> {
    this.closing.abort()
    await this.probing
  }

  /** Probes until the disk is sound; never rejects. */
  private async probe(): Promise<void> {
    const { signal } = this.closing
    while (this.isFailing) {
      await delay(PROBE_EVERY_MS, undefined, { signal, ref: false }).catch(() => undefined)
      if (signal.aborted || !this.isFailing) return
      const bytes = Math.min(PROBE_BYTES_MAX, Math.max(PROBE_BYTES_MIN, this.failedBytes))
      const isTaken = await this.options.probe(bytes).then(
        () => true,
        () => false,
      )
      if (isTaken) this.noteWritten()
    }
  }
}
