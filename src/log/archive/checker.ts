import { createHash } from 'node:crypto'
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises'
import { type ObjectStore, ObjectStoreError } from '../../platform/object-store/object-store.ts'
import { Periodic } from '../../platform/periodic.ts'
import { IDENTITY_KEY, type LostReason } from './archive-bytes.ts'
import type { CheckFacts, CheckStore, FileToCheck } from './check-store.ts'
import type { ArchiveLease, HeldLease } from './lease.ts'

interface CheckerOptions {
  readonly objects: ObjectStore
  readonly store: CheckStore
  readonly lease: ArchiveLease
  /** Time after a check at which a file is read again, in milliseconds; 0: no file is. */
  readonly everyMs: number
  /** By default `BYTES_PER_SEC`. */
  readonly bytesPerSec?: number
  /** Called for each file that is missing or has other bytes. */
  readonly onLost: (key: string, reason: LostReason) => void
  /** Called with what ends a round before its end. */
  readonly onFailed: (error: unknown) => void
}

const CHECKS = 'checks'
/** Wait for the next round, also after one that failed. */
const ROUND_EVERY_MS = 600_000
const BYTES_PER_SEC = 4 * 1024 * 1024
/** Bytes of one read, and of one turn of the event loop. */
const READ_BYTES = 1024 * 1024
const HASHED_BYTES = 256 * 1024

/**
 * Reads the files of the archive again, one after the other and slowly, and compares them with the
 * manifest: a file that nobody asks for would else be found damaged years later, when no copy is
 * left.
 *
 * One process at a time does it, the file first that was not checked for longest. A store that is
 * away ends the round; the next one goes on where it ended.
 */
export class ArchiveChecker {
  /** The known facts, as of the last round of this process. */
  facts: CheckFacts = { missing: 0, damaged: 0, oldestSec: 0 }
  private readonly options: CheckerOptions
  readonly periodic: Periodic

  constructor(options: CheckerOptions) {
    this.options = options
    const { lease, store, onFailed } = options
    this.periodic = new Periodic({
      round: async () => {
        await lease.hold(CHECKS, (held) => this.checkDue(held))
        this.facts = await store.facts()
      },
      everyMs: ROUND_EVERY_MS,
      onFailed,
    })
  }

  /** A round begins at once, and ends amid a file when `periodic` is closed. */
  start(): void {
    if (this.options.everyMs > 0) this.periodic.start(0)
  }

  private async checkDue(lease: HeldLease): Promise<void> {
    const { store, everyMs, onLost } = this.options
    for (;;) {
      this.periodic.signal.throwIfAborted()
      lease.check()
      const file = await store.due(everyMs / 1_000)
      if (file === null) return
      const fault = await this.findFault(lease, file)
      await store.note(lease, file.key, fault)
      if (fault !== null) onLost(file.key, fault)
    }
  }

  /** @throws ObjectStoreError if the store can't be read */
  private async findFault(lease: HeldLease, file: FileToCheck): Promise<LostReason | null> {
    const { objects } = this.options
    const info = await objects.head(file.key)
    if (info === null) {
      // Where a volume is not mounted, every file is missing: the fault is not that of a file.
      if ((await objects.head(IDENTITY_KEY)) !== null) return 'missing'
      throw new ObjectStoreError('away', 'the store does not hold the archive')
    }
    if (info.bytes !== file.bytes) return 'damaged'
    try {
      const sha256 = await this.computeHash(lease, file, info.version)
      return sha256.equals(file.sha256) ? null : 'damaged'
    } catch (error) {
      if (!(error instanceof ObjectStoreError)) throw error
      // Nobody changes or deletes a file that readers need.
      if (error.failure === 'missing') return 'missing'
      if (error.failure === 'changed') return 'damaged'
      throw error
    }
  }

  private async computeHash(lease: HeldLease, file: FileToCheck, version: string): Promise<Buffer> {
    const { objects, bytesPerSec = BYTES_PER_SEC } = this.options
    const { signal } = this.periodic
    const sha256 = createHash('sha256')
    for (let from = 0; from < file.bytes; from += READ_BYTES) {
      lease.check()
      const startedMs = performance.now()
      const bytes = Math.min(READ_BYTES, file.bytes - from)
      const portion = await objects.read(file.key, { from, bytes }, version)
      if (portion.length !== bytes) throw new ObjectStoreError('changed', 'an object was cut off')
      for (let at = 0; at < bytes; at += HASHED_BYTES) {
        sha256.update(portion.subarray(at, at + HASHED_BYTES))
        await nextTurn()
      }
      const restMs = (1_000 * bytes) / bytesPerSec - (performance.now() - startedMs)
      await delay(Math.max(0, restMs), undefined, { signal, ref: false })
    }
    return sha256.digest()
  }
}
