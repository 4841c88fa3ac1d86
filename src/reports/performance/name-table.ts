import { mixed, type NameHasher, TextHash } from '../../log/index.ts'

/** Tables of a part of the names each, so that none takes long to grow. */
const PARTS = 64
const SLOTS_FIRST = 64
const LOAD_MAX = 0.7
/** No name is in a slot. */
const FREE = -1

interface Part {
  slots: number
  used: number
  high: Uint32Array
  low: Uint32Array
  places: Int32Array
}

/**
 * Numbers names from 0 on, in the order in which they come. A name is handed over by `ofText` or
 * `ofUtf8` and kept as a hash, see `TextHash`: 12 to 34 bytes.
 */
export class NameTable implements NameHasher {
  private readonly hash = new TextHash()
  private readonly parts: Part[] = Array.from({ length: PARTS }, () => newPart(SLOTS_FIRST))
  private high = 0
  private low = 0
  size = 0

  ofText(text: string): void {
    this.hash.ofText(text)
  }

  ofUtf8(bytes: Uint8Array, start: number, end: number): void {
    this.hash.ofUtf8(bytes, start, end)
  }

  /** The number of the name; -1 for an unknown one. */
  find(): number {
    const part = this.makePart()
    return part.places[findSlot(part, this.high, this.low)] ?? FREE
  }

  /** The number of the name, which is numbered now if it is unknown. */
  findOrAdd(): number {
    const part = this.makePart()
    const slot = findSlot(part, this.high, this.low)
    const known = part.places[slot] ?? FREE
    if (known !== FREE) return known
    part.high[slot] = this.high
    part.low[slot] = this.low
    part.places[slot] = this.size
    if (++part.used > part.slots * LOAD_MAX) grow(part)
    return this.size++
  }

  private makePart(): Part {
    this.high = mixed(this.hash.high)
    this.low = mixed(this.hash.low ^ this.high)
    const part = this.parts[this.high % PARTS]
    if (part === undefined) throw new RangeError('there is no such part')
    return part
  }
}

function newPart(slots: number): Part {
  return {
    slots,
    used: 0,
    high: new Uint32Array(slots),
    low: new Uint32Array(slots),
    places: new Int32Array(slots).fill(FREE),
  }
}

/** The slot with this hash, or the free one where it belongs. */
function findSlot({ slots, places, high: highs, low: lows }: Part, high: number, low: number) {
  let slot = low & (slots - 1)
  while (places[slot] !== FREE && (highs[slot] !== high || lows[slot] !== low)) {
    slot = (slot + 1) & (slots - 1)
  }
  return slot
}

function grow(part: Part): void {
  const larger = newPart(2 * part.slots)
  for (let old = 0; old < part.slots; old++) {
    const place = part.places[old] ?? FREE
    if (place === FREE) continue
    const high = part.high[old] ?? 0
    const low = part.low[old] ?? 0
    const slot = findSlot(larger, high, low)
    larger.high[slot] = high
    larger.low[slot] = low
    larger.places[slot] = place
  }
  Object.assign(part, larger, { used: part.used })
}

const ROOM_FIRST = 1_024

/** Numbers in memory that grows with them, 8 bytes each. */
export class NumberColumn {
  private values: Float64Array
  private readonly empty: number

  /** @param empty what an item is that was not set */
  constructor(empty: number) {
    this.empty = empty
    this.values = new Float64Array(ROOM_FIRST).fill(empty)
  }

  at(index: number): number {
    return this.values[index] ?? this.empty
  }

  set(index: number, value: number): void {
    if (index >= this.values.length) this.grow(index)
    this.values[index] = value
  }

  private grow(index: number): void {
    const larger = new Float64Array(Math.max(2 * this.values.length, index + 1)).fill(this.empty)
    larger.set(this.values)
    this.values = larger
  }
}
