import {
  closeSync,
  existsSync,
  fdatasync,
  fsync,
  ftruncateSync,
  openSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { rm, statfs, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { Clock } from '../../platform/clock.ts'
import type { Segment, Segments } from './segments.ts'
import { HEAD_BYTES } from './spool-papers.ts'

const syncData = promisify(fdatasync)
const syncAll = promisify(fsync)
const PROBE_FILE = 'probe'
const PROBE_BYTES = 64 * 1024

/** Writes to the newest segment of this process. A partial write is truncated. */
export class Appender {
  private readonly segments: Segments
  private readonly segmentBytes: number
  private open: { readonly file: Segment; readonly descriptor: number } | null = null
  /** True if the name of the open segment may not be on the disk yet. */
  private isNew = false

  /** @param segmentBytes size of a segment from which the next append begins another */
  constructor(segments: Segments, segmentBytes: number) {
    this.segments = segments
    this.segmentBytes = segmentBytes
  }

  /** Number of the open segment, or null. */
  get inUse(): number | null {
    return this.open?.file.number ?? null
  }

  /**
   * Appends frames; they can be read after `release`.
   *
   * @throws Error of the system; then nothing is appended, and the next append begins another
   *   segment
   */
  append(frames: Buffer): void {
    if (this.open !== null && this.open.file.bytes >= this.segmentBytes) this.closeSegment()
    if (this.open === null) {
      this.open = this.segments.create()
      this.isNew = true
    }
    const { file, descriptor } = this.open
    let written = 0
    try {
      while (written < frames.length) {
        const rest = frames.length - written
        written += writeSync(descriptor, frames, written, rest, file.bytes + written)
      }
    } catch (error) {
      this.truncateTo(file.bytes)
      // A closed segment is removed once drained: a full disk needs that room for the next one.
      if (file.bytes > HEAD_BYTES) this.closeSegment()
      throw error
    }
    file.bytes += frames.length
  }

  /** Syncs the appended frames to the disk. */
  async sync(): Promise<void> {
    if (this.open === null) return
    const { file, descriptor } = this.open
    const isNew = this.isNew
    try {
      await syncData(descriptor)
      if (isNew) await this.syncName()
      this.isNew = false
    } catch (error) {
      // The system may have dropped the pages that it could not write: the file can't be trusted.
      this.truncateTo(file.readableBytes)
      this.closeSegment()
      throw error
    }
  }

  private async syncName(): Promise<void> {
    const descriptor = openSync(this.segments.path, 'r')
    try {
      await syncAll(descriptor)
    } finally {
      closeSync(descriptor)
    }
  }

  /** Allows the appended frames to be read. */
  release(): void {
    if (this.open !== null) this.segments.release(this.open.file)
  }

  /** End of the appended frames. */
  get position(): { readonly segment: number; readonly offset: number } {
    const { file } = this.open ?? {}
    return { segment: file?.number ?? 0, offset: file?.bytes ?? 0 }
  }

  /** Closes the open segment: it is removed once drained, and the next append begins another. */
  closeSegment(): void {
    if (this.open === null) return
    closeSync(this.open.descriptor)
    this.open = null
  }

  /**
   * Closes a drained segment that is large but not full, to free its disk space.
   *
   * @returns whether the segment was closed
   */
  closeIfLarge(): boolean {
    const { file } = this.open ?? {}
    if (file === undefined || file.bytes !== file.readableBytes) return false
    if (file.bytes < this.segmentBytes / 4) return false
    this.closeSegment()
    return true
  }

  /**
   * Checks that the disk has room for these bytes and accepts a write, in a file that it removes.
   * Writes only a part of them, so as not to fill the disk for others.
   *
   * @throws Error if the disk has no room or rejects the write
   */
  async probe(bytes: number): Promise<void> {
    const { path } = this.segments
    const { bavail, bsize } = await statfs(path)
    if (bavail * bsize < bytes) throw new Error('the disk has too little room')
    const file = join(path, PROBE_FILE)
    try {
      await writeFile(file, Buffer.alloc(PROBE_BYTES), { mode: 0o600, flush: true })
    } finally {
      await rm(file, { force: true })
    }
  }

  private truncateTo(bytes: number): void {
    if (this.open === null) return
    const { file, descriptor } = this.open
    file.bytes = bytes
    try {
      ftruncateSync(descriptor, bytes)
    } catch {
      // Nothing is read after the size known here; the next records go into another segment.
      this.closeSegment()
    }
  }
}

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

export const RESERVE_FILE = 'reserve'
/** Room for a few starts: each takes two blocks of the disk for its own directory. */
const RESERVE_BYTES = 64 * 1024

/**
 * Frees the room that `keepReserve` has kept. A process that was killed while the disk was full
 * leaves records; the next process needs room for its own directory before it can drain them.
 */
export function freeReserve(directory: string): void {
  rmSync(join(directory, RESERVE_FILE), { force: true })
}

/** Keeps room on the disk for the next start. On a full disk it keeps what is left. */
export function keepReserve(directory: string): void {
  const path = join(directory, RESERVE_FILE)
  if (existsSync(path)) return
  try {
    // No zeros: a file system may not store them.
    writeFileSync(path, Buffer.alloc(RESERVE_BYTES, 0xff), { mode: 0o600, flush: true })
  } catch {
    // What was written stays. A disk that takes no writes shows itself with the first record.
  }
}
