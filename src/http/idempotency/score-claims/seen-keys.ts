/** Bits of a layer for each of its keys. With four set, 0.24 percent of other keys look like them. */
const BITS_PER_KEY = 16
const BITS_SET = 4
const FIRST_BITS = 2 ** 20
/** 128 MiB. Beyond 130 million keys in all layers, more and more others look like them. */
const LAST_BITS = 2 ** 30
const WORD_BITS = 32
/** A key repeats its answer for a day; the clocks of a process and of the database may differ. */
const KEPT_MS = 25 * 60 * 60 * 1000

/** Bytes of a key's hash by which it is known. */
export const SEEN_BYTES = 8

/**
 * The keys that a process may have seen within the last day: a filter of Bloom's, in layers that
 * double, since it can't grow. It knows each key that was added, and takes one or two percent of the
 * others for known: who asks must look again. A key takes two bytes or four.
 */
export class SeenKeys {
  private today: Layer[] = []
  private before: readonly Layer[] = []
  private sinceMs: number

  /** @param nowMs of the monotonic clock, like all times here */
  constructor(nowMs: number) {
    this.sinceMs = nowMs
  }

  has(keyHash: Uint8Array): boolean {
    const [first, step] = readWords(keyHash)
    const isIn = (layer: Layer) => layer.has(first, step)
    return this.today.some(isIn) || this.before.some(isIn)
  }

  /** @param keyHash random bytes, of which the first `SEEN_BYTES` count */
  add(keyHash: Uint8Array, nowMs: number): void {
    if (nowMs - this.sinceMs >= KEPT_MS) {
      this.before = this.today
      this.today = []
      this.sinceMs = nowMs
    }
    let last = this.today.at(-1)
    if (last === undefined || (last.isFull && last.bits < LAST_BITS)) {
      last = new Layer(last === undefined ? FIRST_BITS : 2 * last.bits)
      this.today.push(last)
    }
    last.add(...readWords(keyHash))
  }
}

function readWords(keyHash: Uint8Array): [first: number, step: number] {
  const view = new DataView(keyHash.buffer, keyHash.byteOffset)
  // An even step would miss half of the bits.
  return [view.getUint32(0), view.getUint32(4) | 1]
}

class Layer {
  readonly bits: number
  private readonly words: Uint32Array
  private keys = 0

  constructor(bits: number) {
    this.bits = bits
    this.words = new Uint32Array(bits / WORD_BITS)
  }

  get isFull(): boolean {
    return this.keys >= this.bits / BITS_PER_KEY
  }

  has(first: number, step: number): boolean {
    for (let n = 0; n < BITS_SET; n++) {
      const at = this.findBit(first, step, n)
      if ((((this.words[at >>> 5] ?? 0) >>> (at & 31)) & 1) === 0) return false
    }
    return true
  }

  add(first: number, step: number): void {
    for (let n = 0; n < BITS_SET; n++) {
      const at = this.findBit(first, step, n)
      this.words[at >>> 5] = (this.words[at >>> 5] ?? 0) | (1 << (at & 31))
    }
    this.keys++
  }

  private findBit(first: number, step: number, n: number): number {
    return (first + Math.imul(n, step)) & (this.bits - 1)
  }
}
