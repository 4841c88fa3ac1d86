interface ThriftBounds {
  /** Offset behind the last byte that belongs to it. */
  readonly end: number
  /** Most values, those in lists and structures included: each takes memory when it is read. */
  readonly valuesMax: number
}

/** Structures within structures; metadata of Parquet has 7. */
const DEPTH_MAX = 32
const VARINT_BYTES_MAX = 10
const LENGTH_MAX = 0x7fff_ffff

const STOP = 0
const TRUE = 1
const FALSE = 2
const BYTE = 3
const I16 = 4
const I32 = 5
const I64 = 6
const DOUBLE = 7
const BINARY = 8
const LIST = 9
const STRUCT = 12

/**
 * Finds the end of a structure in Thrift's compact protocol, in which Parquet writes its metadata,
 * without keeping a value. The library that reads it allocates lists by the lengths that they
 * declare: a few bytes could ask for gigabytes.
 *
 * @throws Error if it declares more than its bytes can hold, or has too many values
 * @source Thrift compact protocol encoding, as Apache Parquet uses it
 */
export function thriftEnd(bytes: Uint8Array, start: number, bounds: ThriftBounds): number {
  const scan = new ThriftScan(bytes, start, bounds)
  scan.struct(0)
  return scan.at
}

class ThriftScan {
  at: number
  private readonly bytes: Uint8Array
  private readonly end: number
  private left: number

  constructor(bytes: Uint8Array, start: number, { end, valuesMax }: ThriftBounds) {
    this.bytes = bytes
    this.at = start
    this.end = Math.min(end, bytes.length)
    this.left = valuesMax
  }

  struct(depth: number): void {
    if (depth > DEPTH_MAX) throw new Error('its metadata are nested too deep')
    for (;;) {
      const head = this.byte()
      const type = head & 0x0f
      if (type === STOP) return
      if (head >> 4 === 0) this.varint()
      // A boolean of a structure has its value in its type.
      if (type !== TRUE && type !== FALSE) this.value(type, depth)
      this.count()
    }
  }

  private value(type: number, depth: number): void {
    switch (type) {
      case TRUE:
      case FALSE:
      case BYTE:
        this.skip(1)
        return
      case I16:
      case I32:
      case I64:
        this.varint()
        return
      case DOUBLE:
        this.skip(8)
        return
      case BINARY:
        this.skip(this.varint())
        return
      case LIST:
        this.list(depth)
        return
      case STRUCT:
        this.struct(depth + 1)
        return
      default:
        throw new Error('its metadata have a value of an unknown type')
    }
  }

  private list(depth: number): void {
    if (depth > DEPTH_MAX) throw new Error('its metadata are nested too deep')
    const head = this.byte()
    const size = head >> 4 === 15 ? this.varint() : head >> 4
    // Each element takes a byte at least.
    if (size > this.end - this.at) throw new Error('a list of its metadata is longer than they are')
    for (let element = 0; element < size; element++) {
      this.value(head & 0x0f, depth + 1)
      this.count()
    }
  }

  private count(): void {
    this.left--
    if (this.left < 0) throw new Error('its metadata have too many values')
  }

  /** @returns the number as it is, without the sign of a zigzag */
  private varint(): number {
    let value = 0
    for (let length = 0; length < VARINT_BYTES_MAX; length++) {
      const byte = this.byte()
      value += (byte & 0x7f) * 2 ** (7 * length)
      if (byte < 0x80) return value
    }
    throw new Error('a number of its metadata has no end')
  }

  private byte(): number {
    if (this.at >= this.end) throw new Error('its metadata are cut off')
    return this.bytes[this.at++] as number
  }

  private skip(length: number): void {
    if (length > LENGTH_MAX || length > this.end - this.at) {
      throw new Error('a value of its metadata is longer than they are')
    }
    this.at += length
  }
}
