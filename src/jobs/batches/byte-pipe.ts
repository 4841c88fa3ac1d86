import { readSync, writeSync } from 'node:fs'
import type { Duplex, Writable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { free } from '../../platform/bytes/free.ts'

/**
 * Bytes between the service and the process that scores a file, by a pipe of their own. Bytes of
 * the file come as an answer to a read: its length, then its bytes. Results go the other way, and
 * a message tells their lengths.
 *
 * As messages they would be copied four times, take the service a second of processor time for each
 * 250 MiB, and hold up its event loop for as long as a chunk takes.
 */

/** Number of the pipe in the process. */
export const BYTES_PIPE = 4
const LENGTH_BYTES = 4
/** Stands for a file that can't be read. */
const NONE = 0xffffffff

/**
 * Sends the answer to a read, and frees its memory; null: the file can't be read.
 */
export function sendBytes(pipe: Writable, bytes: Uint8Array | null): void {
  const length = Buffer.allocUnsafe(LENGTH_BYTES)
  length.writeUInt32LE(bytes?.length ?? NONE)
  pipe.cork()
  pipe.write(length)
  if (bytes !== null && bytes.length > 0) pipe.write(bytes, () => free(bytes))
  pipe.uncork()
}

/**
 * Receives the answer to a read. It blocks the thread, which has nothing else to do.
 *
 * @returns how many bytes are in the memory; null: the file can't be read
 * @throws Error if the service has gone, or the answer is longer than the memory
 */
export function receiveBytes(memory: Uint8Array): number | null {
  const length = Buffer.allocUnsafe(LENGTH_BYTES)
  fill(length)
  const bytes = length.readUInt32LE()
  if (bytes === NONE) return null
  if (bytes > memory.length) throw new Error('the service sends more bytes than were asked for')
  fill(memory.subarray(0, bytes))
  return bytes
}

/**
 * Hands results to the service. It blocks the thread until the service has taken nearly all.
 *
 * @throws Error if the service has gone
 */
export function handOver(bytes: Uint8Array): void {
  for (let written = 0; written < bytes.length; ) {
    written += writeSync(BYTES_PIPE, bytes, written, bytes.length - written)
  }
}

/** The process has ended amid what it hands over. */
export class PipeEndedError extends Error {}

/**
 * Takes over what the process hands over. A turn of the event loop copies one portion, of 64 KiB at
 * most: requests that wait come between two of them, however large the results are.
 */
export class HandedBytes {
  private readonly portions: AsyncIterator<Buffer>
  private portion: Buffer = Buffer.alloc(0)
  private used = 0

  constructor(pipe: Duplex) {
    this.portions = pipe[Symbol.asyncIterator]()
  }

  /**
   * The next bytes; one call at a time.
   *
   * @throws PipeEndedError
   */
  async take(bytes: number): Promise<Buffer> {
    const memory = Buffer.allocUnsafeSlow(bytes)
    for (let filled = 0; filled < bytes; ) {
      if (this.used >= this.portion.length) await this.next()
      const copied = this.portion.copy(memory, filled, this.used)
      filled += copied
      this.used += copied
      if (this.used === this.portion.length) free(this.portion)
    }
    return memory
  }

  private async next(): Promise<void> {
    await nextTurn()
    const { value, done } = await this.portions.next()
    if (done === true) throw new PipeEndedError('the process has ended')
    this.portion = value
    this.used = 0
  }
}

function fill(memory: Uint8Array): void {
  for (let filled = 0; filled < memory.length; ) {
    const bytes = readSync(BYTES_PIPE, memory, filled, memory.length - filled, null)
    if (bytes === 0) throw new Error('the service has gone')
    filled += bytes
  }
}
