import type { Pieces } from './pieces.ts'

/** A longer text is written faster by a call into the system. */
const SHORT_MAX = 40
export const UTF8_BYTES_MAX = 3

/** A text that grows at its end, as the bytes in which it is sent: joining as many strings costs twice as much. */
export class ByteText {
  private bytes: Buffer
  private view: DataView
  private used = 0

  /** @param memory to write into; a text that outgrows it moves on into larger memory, twice as large each time */
  constructor(memory: Buffer) {
    this.bytes = memory
    this.view = viewOf(memory)
  }

  /** All of the memory that the text is in. */
  get memory(): Buffer {
    return this.bytes
  }

  get length(): number {
    return this.used
  }

  text(text: string): void {
    this.reserve(UTF8_BYTES_MAX * text.length)
    this.used = writeText(this.bytes, this.used, text)
  }

  piece(pieces: Pieces, index: number): void {
    this.reserve(pieces.roomBytesMax)
    this.used = pieces.write(this.view, this.used, index)
  }

  /** Pieces picked by `slots`. */
  pieces(pieces: Pieces, slots: Int32Array): void {
    for (let n = 0; n < slots.length; n++) this.piece(pieces, slots[n] ?? 0)
  }

  /** Puts another byte, of ASCII, in the place of one. */
  replace(at: number, char: string): void {
    this.bytes[at] = char.charCodeAt(0)
  }

  /** What was written up to now. */
  get written(): Buffer {
    return this.bytes.subarray(0, this.used)
  }

  private reserve(bytes: number): void {
    const wanted = this.used + bytes
    if (wanted <= this.bytes.length) return
    let length = 2 * this.bytes.length
    while (length < wanted) length *= 2
    const larger = Buffer.allocUnsafeSlow(length)
    this.bytes.copy(larger, 0, 0, this.used)
    this.bytes = larger
    this.view = viewOf(larger)
  }
}

function viewOf({ buffer, byteOffset, length }: Buffer): DataView {
  return new DataView(buffer, byteOffset, length)
}

/** @returns where the text ends; there is room for three bytes for each of its units */
export function writeText(bytes: Buffer, from: number, text: string): number {
  const { length } = text
  if (length > SHORT_MAX) return from + bytes.write(text, from)
  for (let index = 0; index < length; index++) {
    const code = text.charCodeAt(index)
    if (code > 0x7f) return from + bytes.write(text, from)
    bytes[from + index] = code
  }
  return from + length
}
