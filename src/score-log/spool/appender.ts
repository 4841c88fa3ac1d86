import { closeSync, fdatasync, fsync, ftruncateSync, openSync, writeSync } from 'node:fs'
import { promisify } from 'node:util'
import type { Segment, Segments } from './segments.ts'

const syncData = promisify(fdatasync)
const syncAll = promisify(fsync)

/** Writes to the newest segment of this process; what could not be written whole leaves nothing behind. */
export class Appender {
  private readonly segments: Segments
  private readonly segmentBytes: number
  private open: { readonly file: Segment; readonly descriptor: number } | null = null
  /** The name of the open segment may not be on the disk yet. */
  private isNew = false

  /** @param segmentBytes from this size on the next segment is begun */
  constructor(segments: Segments, segmentBytes: number) {
    this.segments = segments
    this.segmentBytes = segmentBytes
  }

  /** Number of the open segment, or null. */
  get inUse(): number | null {
    return this.open?.file.number ?? null
  }

  /**
   * Appends frames; they may be read after `release`.
   *
   * @throws Error of the system; then nothing is appended
   */
  append(frames: Buffer): void {
    if (this.open !== null && this.open.file.bytes >= this.segmentBytes) this.leave()
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
      this.takeBack(file.bytes)
      throw error
    }
    file.bytes += frames.length
  }

  /** Brings what was appended to the disk. */
  async sync(): Promise<void> {
    if (this.open === null) return
    const { file, descriptor } = this.open
    const isNew = this.isNew
    try {
      await syncData(descriptor)
      if (isNew) await this.syncName()
      this.isNew = false
    } catch (error) {
      // The system may have dropped the pages that it could not write: the file is not to be trusted.
      this.takeBack(file.readableBytes)
      this.leave()
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

  /** What was appended so far may be read. */
  release(): void {
    if (this.open !== null) this.open.file.readableBytes = this.open.file.bytes
  }

  /** Where what was appended so far ends. */
  get position(): { readonly segment: number; readonly offset: number } {
    const { file } = this.open ?? {}
    return { segment: file?.number ?? 0, offset: file?.bytes ?? 0 }
  }

  /** Ends the open segment, so that it goes once it is drained; the next append begins another. */
  leave(): void {
    if (this.open === null) return
    closeSync(this.open.descriptor)
    this.open = null
  }

  /**
   * For when all is drained: a segment need not be full for its place on the disk to be freed.
   *
   * @returns whether the segment was left
   */
  leaveIfLarge(): boolean {
    const { file } = this.open ?? {}
    if (file === undefined || file.bytes !== file.readableBytes) return false
    if (file.bytes < this.segmentBytes / 4) return false
    this.leave()
    return true
  }

  private takeBack(bytes: number): void {
    if (this.open === null) return
    const { file, descriptor } = this.open
    file.bytes = bytes
    try {
      ftruncateSync(descriptor, bytes)
    } catch {
      // Behind its size as known here nothing is read; another segment takes what comes.
      this.leave()
    }
  }
}
