/** Tables of a part of the references each, so that none takes long to grow. */
const PARTS = 256
const SLOTS_FIRST = 64
const LOAD_MAX = 0.75

/** Open addressing: slot n has both halves of a hash at 2n and 2n + 1, both 0 where it is free. */
interface Part {
  halves: Int32Array
  used: number
}

/** Thrown when there are more references than a table may hold. */
export class TooManyReferencesError extends Error {
  constructor() {
    super('there are too many references')
    this.name = 'TooManyReferencesError'
  }
}

/**
 * The references that were met, as hashes of 64 bits (see `TextHash`): of ten million, two are
 * confused once in 370,000 sets, and one applicant is then not counted. Memory is 11 to 22 bytes
 * for each reference.
 */
export class ReferenceSet {
  private readonly referencesMax: number
  private parts = newParts()
  /** Number of references. */
  size = 0
  /** Means nothing: the compiler leaves out reads whose result has no use. */
  touched = 0

  constructor(referencesMax: number) {
    this.referencesMax = referencesMax
  }

  /**
   * Adds a reference.
   *
   * @param high half of its hash, 32 bits with a sign
   * @param low the other half, not 0
   * @returns false if the set has it already
   * @throws TooManyReferencesError
   */
  add(high: number, low: number): boolean {
    const part = this.parts[high & (PARTS - 1)]
    if (part === undefined) throw new RangeError('there is no such part')
    const { halves } = part
    const at = findPlace(halves, high, low)
    if (halves[at + 1] !== 0) return false
    if (this.size >= this.referencesMax) throw new TooManyReferencesError()
    halves[at] = high
    halves[at + 1] = low
    this.size++
    if (++part.used > (halves.length / 2) * LOAD_MAX) grow(part)
    return true
  }

  /**
   * Reads where some hashes belong, which brings these places into the processor's cache together.
   * Without it `add` waits for one after the other: 10 million then take a quarter longer.
   */
  touch(highs: Int32Array, lows: Int32Array, from: number, end: number): void {
    const { parts } = this
    let sum = 0
    for (let index = from; index < end; index++) {
      const halves = parts[(highs[index] ?? 0) & (PARTS - 1)]?.halves
      if (halves === undefined) continue
      sum ^= halves[((lows[index] ?? 0) << 1) & (halves.length - 1)] ?? 0
    }
    this.touched = sum
  }

  /** Forgets all references. */
  clear(): void {
    this.parts = newParts()
    this.size = 0
  }
}

function newParts(): Part[] {
  return Array.from({ length: PARTS }, () => ({ halves: new Int32Array(2 * SLOTS_FIRST), used: 0 }))
}

/** Returns where the hash is, or the free slot where it belongs. */
function findPlace(halves: Int32Array, high: number, low: number): number {
  const mask = halves.length - 1
  let at = (low << 1) & mask
  while (halves[at + 1] !== 0 && (halves[at] !== high || halves[at + 1] !== low)) {
    at = (at + 2) & mask
  }
  return at
}

function grow(part: Part): void {
  const old = part.halves
  const larger = new Int32Array(2 * old.length)
  for (let at = 0; at < old.length; at += 2) {
    const low = old[at + 1] ?? 0
    if (low === 0) continue
    const high = old[at] ?? 0
    const place = findPlace(larger, high, low)
    larger[place] = high
    larger[place + 1] = low
  }
  part.halves = larger
}
