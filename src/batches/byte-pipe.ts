import { readSync } from 'node:fs'
import type { Writable } from 'node:stream'

/**
 * The bytes of a file on their way to the process that scores it: each answer is its length, then
 * its bytes. As messages they would be copied four times, and take the service a second of
 * processor time for each 250 MiB.
 */

/** Number of the pipe in the process. */
export const BYTES_PIPE = 4
const LENGTH_BYTES = 4
/** Stands for a file that can't be read. */
const NONE = 0xffffffff

/** Sends the answer to a read; null: the file can't be read. */
export function sendBytes(pipe: Writable, bytes: Uint8Array | null): void {
  const length = Buffer.allocUnsafe(LENGTH_BYTES)
  length.writeUInt32LE(bytes?.length ?? NONE)
  pipe.cork()
  pipe.write(length)
  if (bytes !== null && bytes.length > 0) pipe.write(bytes)
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

function fill(memory: Uint8Array): void {
  for (let filled = 0; filled < memory.length; ) {
    const bytes = readSync(BYTES_PIPE, memory, filled, memory.length - filled, null)
    if (bytes === 0) throw new Error('the service has gone')
    filled += bytes
  }
}
