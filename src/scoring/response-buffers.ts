import { free } from '../platform/bytes/free.ts'

const BYTES_MIN = 16 * 1024
/** A larger buffer is freed: a thread that has nothing to do collects no garbage. */
const KEPT_BYTES_MAX = 4 * 1024 * 1024
/** Limit of all idle buffers. Beyond it, the buffers that were idle for longest are dropped. */
const IDLE_BYTES_MAX = 16 * 1024 * 1024
const IDLE_MAX = 64

/**
 * Memory for the answers of batches, used again and again: with new memory for each, the kernel
 * clears a megabyte for each, and the garbage collector, which counts what stands outside of its
 * heap, marks all of that every 25: a batch of 1,000 takes 12 % more processor time, by
 * `npm run bench -- batch`.
 *
 * A buffer is *lent*, to one answer, or *idle*. It is idle again only by `giveBack`, to be called
 * when the last byte of its answer has been handed to the operating system. One that is not given
 * back, because its answer was never sent as a whole, belongs to whoever still has it, and is
 * garbage after that: nothing has to clear up, and no failure can have it lent twice.
 */
export class ResponseBuffers {
  /** The one that was used last at the end. */
  private readonly idle: Buffer[] = []
  private idleBytes = 0

  /**
   * @returns memory with arbitrary content: at least so many bytes, and less than twice as many or
   * the least
   */
  lend(bytesMin: number): Buffer {
    const bytes = Math.max(BYTES_MIN, 2 ** Math.ceil(Math.log2(bytesMin)))
    const found = this.idle.findLastIndex(({ length }) => length === bytes)
    const [buffer] = found < 0 ? [] : this.idle.splice(found, 1)
    if (buffer === undefined) return Buffer.allocUnsafeSlow(bytes)
    this.idleBytes -= bytes
    return buffer
  }

  /**
   * @param buffer that was lent, or the larger one that took its place; nobody reads or writes it
   * any more
   */
  giveBack(buffer: Buffer): void {
    if (buffer.length > KEPT_BYTES_MAX) {
      free(buffer)
      return
    }
    this.idle.push(buffer)
    this.idleBytes += buffer.length
    while (this.idleBytes > IDLE_BYTES_MAX || this.idle.length > IDLE_MAX) {
      this.idleBytes -= this.idle.shift()?.length ?? 0
    }
  }
}
