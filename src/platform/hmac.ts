import { hash } from 'node:crypto'

const BLOCK_BYTES = 64
const HASH_BYTES = 32
const INNER_PAD = 0x36
const OUTER_PAD = 0x5c

/**
 * HMAC-SHA-256 of short messages. It is made of two one-shot hashes: Node's own takes an object that
 * has to be collected for each message, and 2.7 µs in place of 1.0.
 *
 * @source RFC 2104
 */
export class Hmac {
  private readonly innerPad: Buffer
  /** The outer pad, and room for the inner hash. */
  private readonly outer: Buffer

  /** @param key at most 64 bytes */
  constructor(key: Uint8Array) {
    if (key.length > BLOCK_BYTES) throw new RangeError('the key is longer than a block')
    this.innerPad = Buffer.alloc(BLOCK_BYTES, INNER_PAD)
    this.outer = Buffer.alloc(BLOCK_BYTES + HASH_BYTES, OUTER_PAD)
    for (const [at, byte] of key.entries()) {
      this.innerPad[at] = byte ^ INNER_PAD
      this.outer[at] = byte ^ OUTER_PAD
    }
  }

  /** Hashes a text and the bytes that follow it. */
  compute(text: string, bytes: Uint8Array = NO_BYTES): Buffer {
    const textBytes = Buffer.byteLength(text)
    const message = Buffer.allocUnsafe(BLOCK_BYTES + textBytes + bytes.length)
    message.set(this.innerPad)
    message.write(text, BLOCK_BYTES)
    message.set(bytes, BLOCK_BYTES + textBytes)
    this.outer.write(hash('sha256', message, 'binary'), BLOCK_BYTES, 'binary')
    return computeSha256(this.outer)
  }
}

/** SHA-256, by the fastest way to bytes: Node gives each buffer memory of its own, 1.3 µs for 0.7. */
export function computeSha256(bytes: Uint8Array | string): Buffer {
  return Buffer.from(hash('sha256', bytes, 'binary'), 'binary')
}

const NO_BYTES = new Uint8Array(0)
