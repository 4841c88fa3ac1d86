import type { ReadBytes } from './record.ts'

/** Bytes that one read of the file asks for. */
const WINDOW_BYTES = 4 * 1024 * 1024

/** A part of a file that moves forward: each byte is read once. */
export class FileWindow {
  readonly fileBytes: number
  private readonly read: ReadBytes
  private bytes: Buffer = Buffer.alloc(0)
  private from = 0

  constructor(read: ReadBytes, fileBytes: number) {
    this.read = read
    this.fileBytes = fileBytes
  }

  /**
   * The bytes from an offset on.
   *
   * @param wanted so many at least, fewer at the end of the file; at most 4 MiB
   */
  async at(offset: number, wanted: number): Promise<Buffer> {
    const isInside = offset >= this.from && offset <= this.from + this.bytes.length
    const held = isInside ? this.bytes.subarray(offset - this.from) : Buffer.alloc(0)
    const rest = this.fileBytes - offset - held.length
    if (held.length >= wanted || rest <= 0) return held
    const more = await this.read(offset + held.length, Math.min(rest, WINDOW_BYTES - held.length))
    this.bytes = held.length === 0 ? more : Buffer.concat([held, more])
    this.from = offset
    return this.bytes
  }
}
