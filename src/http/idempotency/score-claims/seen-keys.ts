/** Bits of a layer for each of its keys. With four set, 0.24 percent of other keys look like them. */
const BITS_PER_KEY = 16
const FIRST_BITS = 2 ** 20
/** 32 MiB. Of more keys than fill all layers, 33 million, more and more others look like them. */
const LAST_BITS = 2 ** 28
const WORD_BITS = 32
/** A key repeats its answer for a day. */
const DAY_MS = 25 * 60 * 60 * 1000

/**
 * The keys that a process may have seen within the last day: a filter of Bloom's, in layers that
 * double, since it can't grow. It knows each key that was added, and takes some others for known:
 * who asks must look again. A key takes two bytes or four.
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
    const words = readWords(keyHash)
    const isIn = (layer: Layer) => layer.has(words)
    return this.today.some(isIn) || this.before.some(isIn)
  }

  add(keyHash: Uint8Array, nowMs: number): void {
    if (nowMs - this.sinceMs >= DAY_MS) {
      this.before = this.today
      this.today = []
      this.sinceMs = nowMs
    }
    let last = this.today.at(-1)
    if (last === undefined || (last.isFull && last.bits < LAST_BITS)) {
      last = new Layer(last === undefined ? FIRST_BITS : 2 * last.bits)
      this.today.push(last)
    }
    last.add(readWords(keyHash))
  }
}

type Words = readonly [number, number, number, number]

/** The hash is random, so its words say which bits are its. */
function readWords(keyHash: Uint8Array): Words {
  const view = new DataView(keyHash.buffer, keyHash.byteOffset)
  return [view.getUint32(0), view.getUint32(4), view.getUint32(8), view.getUint32(12)]
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

  has(words: Words): boolean {
    return words.every((word) => {
      const at = word % this.bits
      return (((this.words[Math.floor(at / WORD_BITS)] ?? 0) >>> (at % WORD_BITS)) & 1) === 1
    })
  }

  add(words: Words): void {
    for (const word of words) {
      const at = word % this.bits
      const index = Math.floor(at / WORD_BITS)
      this.words[index] = (this.words[index] ?? 0) | (1 << (at % WORD_BITS))
    }
    this.keys++
  }
}
