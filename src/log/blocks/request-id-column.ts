import { ByteReader, type ByteWriter } from './bytes.ts'
import { onFirstUse, readBytes, writeBytes } from './columns.ts'

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const BASE = ALPHABET.length
const PREFIX = 'req_'
const TIME_CHARS = 8
const HALF_CHARS = 7
const ID_CHARS = PREFIX.length + TIME_CHARS + 2 * HALF_CHARS
/** A half is below 62^7, less than 2^42: 4 bytes, 1 byte and 2 bits. */
const HALF_BYTES = 5
const HIGH = 2 ** 40
const PACKED = 0
const TEXT = 1

const VALUE_OF_CODE = new Int8Array(128).fill(-1)
for (let value = 0; value < BASE; value++) VALUE_OF_CODE[ALPHABET.charCodeAt(value)] = value

/** Milliseconds since 1970 in an id of the service; null if the text is none. */
export function timeOfRequestId(id: string): number | null {
  if (id.length !== ID_CHARS || !id.startsWith(PREFIX)) return null
  const time = parseNumber(id, PREFIX.length, TIME_CHARS)
  return time < 0 ? null : time
}

const HALF_BITS = 42n
const HALF_MASK = (1n << HALF_BITS) - 1n
/** Times until the year 2109. */
const PACKED_TIME_BITS = 42

/**
 * An id of the service in 126 bits: its time, and the two halves of its random characters.
 *
 * @returns null for another id, which has to be kept as a text
 */
export function packRequestId(id: string): bigint | null {
  const time = timeOfRequestId(id)
  if (time === null || time >= 2 ** PACKED_TIME_BITS) return null
  const first = parseNumber(id, PREFIX.length + TIME_CHARS, HALF_CHARS)
  const second = parseNumber(id, ID_CHARS - HALF_CHARS, HALF_CHARS)
  if (first < 0 || second < 0) return null
  return (((BigInt(time) << HALF_BITS) | BigInt(first)) << HALF_BITS) | BigInt(second)
}

/** @param packed as `packRequestId` gives it */
export function unpackRequestId(packed: bigint): string {
  const time = formatText(Number(packed >> (2n * HALF_BITS)), TIME_CHARS)
  const first = formatText(Number((packed >> HALF_BITS) & HALF_MASK), HALF_CHARS)
  return PREFIX + time + first + formatText(Number(packed & HALF_MASK), HALF_CHARS)
}

/**
 * The ids of a block's requests. The time of an id is written as its distance to the time of the
 * score, and the random characters as bits, which no compression makes smaller.
 */
export class RequestIdColumn {
  private readonly forms: number[] = []
  private readonly times: number[] = []
  private readonly halves: number[] = []
  private readonly others: string[] = []
  /** Least and greatest time in the ids; of an id without a time it is that of the score. */
  fromMs = Number.POSITIVE_INFINITY
  toMs = Number.NEGATIVE_INFINITY

  add(id: string, scoredAtMs: number): void {
    const isLong = id.length === ID_CHARS && id.startsWith(PREFIX)
    const time = isLong ? parseNumber(id, PREFIX.length, TIME_CHARS) : -1
    const first = isLong ? parseNumber(id, PREFIX.length + TIME_CHARS, HALF_CHARS) : -1
    const second = isLong ? parseNumber(id, ID_CHARS - HALF_CHARS, HALF_CHARS) : -1
    const timeMs = time < 0 ? scoredAtMs : time
    if (timeMs < this.fromMs) this.fromMs = timeMs
    if (timeMs > this.toMs) this.toMs = timeMs
    if (time < 0 || first < 0 || second < 0 || !Number.isSafeInteger(scoredAtMs)) {
      this.forms.push(TEXT)
      this.others.push(id)
      return
    }
    this.forms.push(PACKED)
    this.times.push(scoredAtMs - time)
    this.halves.push(first, second)
  }

  /** @param random receives the bytes that can't be compressed */
  write(out: ByteWriter, random: ByteWriter): void {
    writeBytes(out, Uint8Array.from(this.forms))
    for (const time of this.times) out.zigzag(time)
    for (const id of this.others) out.block(Buffer.from(id, 'latin1'))
    const { halves } = this
    const low = random.room(halves.length * HALF_BYTES)
    for (let index = 0; index < halves.length; index++) {
      low.writeUIntLE((halves[index] ?? 0) % HIGH, index * HALF_BYTES, HALF_BYTES)
    }
    // Four bits of each id, two ids in a byte.
    const high = random.room((halves.length + 3) >>> 2).fill(0)
    for (let index = 0; index < halves.length; index++) {
      const bits = Math.floor((halves[index] ?? 0) / HIGH)
      high[index >>> 2] = (high[index >>> 2] ?? 0) | (bits << (2 * (index & 3)))
    }
  }
}

/** Positions of the ids of a block, by form. */
interface IdPlaces {
  /** Position of each id among those of its form. */
  readonly places: Uint32Array
  /** Distance of the time in each packed id to the time of its score. */
  readonly times: Float64Array
  readonly others: readonly string[]
}

/** The ids of a block. They are read when one is asked for: most readers want none. */
export class RequestIds {
  private readonly scoredAtMs: Float64Array
  private readonly forms: Uint8Array
  private readonly found: () => IdPlaces
  private readonly low: Buffer
  private readonly high: Buffer

  constructor(from: ByteReader, random: ByteReader, scoredAtMs: Float64Array) {
    this.scoredAtMs = scoredAtMs
    this.forms = readBytes(from, scoredAtMs.length)
    const { bytes, position } = from
    let packed = 0
    for (let index = 0; index < this.forms.length; index++) {
      if (this.forms[index] === PACKED) packed++
    }
    from.skipVarints(packed)
    for (let rest = this.forms.length - packed; rest > 0; rest--) from.skipBlock()
    this.found = onFirstUse(() => idPlaces(this.forms, packed, new ByteReader(bytes, position)))
    this.low = random.take(2 * packed * HALF_BYTES)
    this.high = random.take((2 * packed + 3) >>> 2)
  }

  /** The id of a request; empty for an index beyond the block. */
  at(index: number): string {
    const form = this.forms[index]
    if (form === undefined) return ''
    const { places, others } = this.found()
    const place = places[index] ?? 0
    if (form === TEXT) return others[place] ?? ''
    const time = formatText(this.readTime(index), TIME_CHARS)
    return PREFIX + time + this.half(2 * place) + this.half(2 * place + 1)
  }

  /** @returns -1 for an id that the block does not hold */
  findIndex(id: string): number {
    const timeMs = timeOfRequestId(id)
    for (const [index, form] of this.forms.entries()) {
      const mayBe = form === TEXT || this.readTime(index) === timeMs
      if (mayBe && this.at(index) === id) return index
    }
    return -1
  }

  private readTime(index: number): number {
    const { places, times } = this.found()
    return (this.scoredAtMs[index] ?? 0) - (times[places[index] ?? 0] ?? 0)
  }

  private half(index: number): string {
    const bits = ((this.high[index >>> 2] ?? 0) >>> (2 * (index & 3))) & 3
    const low = this.low.readUIntLE(index * HALF_BYTES, HALF_BYTES)
    return formatText(low + bits * HIGH, HALF_CHARS)
  }
}

function idPlaces(forms: Uint8Array, packed: number, from: ByteReader): IdPlaces {
  const places = new Uint32Array(forms.length)
  let [ofPacked, ofOthers] = [0, 0]
  for (const [index, form] of forms.entries()) {
    places[index] = form === PACKED ? ofPacked++ : ofOthers++
  }
  const times = new Float64Array(packed)
  from.zigzags(times)
  const others = Array.from({ length: ofOthers }, () => from.block().toString('latin1'))
  return { places, times, others }
}

/** The number that characters stand for; -1 if one is not of the alphabet. */
function parseNumber(text: string, start: number, length: number): number {
  let number = 0
  for (let at = start; at < start + length; at++) {
    const value = VALUE_OF_CODE[text.charCodeAt(at)] ?? -1
    if (value < 0) return -1
    number = number * BASE + value
  }
  return number
}

function formatText(number: number, length: number): string {
  let text = ''
  let rest = number
  for (let index = 0; index < length; index++) {
    text = ALPHABET[rest % BASE] + text
    rest = Math.floor(rest / BASE)
  }
  return text
}
