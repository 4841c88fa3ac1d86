import { ByteReader, type ByteWriter } from './bytes.ts'

/** The way a column is written. */
const CONSTANT = 0
const VALUES = 1
const PLANES = 2
const DOUBLES = 3
const DOUBLE_BYTES = 8

/** Writes a column of bytes; one that never changes takes two bytes. */
export function writeBytes(out: ByteWriter, column: Uint8Array): void {
  const first = column[0] ?? 0
  if (column.every((byte) => byte === first)) {
    out.u8(CONSTANT)
    out.u8(first)
    return
  }
  out.u8(VALUES)
  out.copy(column, 0, column.length)
}

/** @returns a view of the block where the column changes */
export function readBytes(from: ByteReader, count: number): Uint8Array {
  const kind = from.u8()
  if (kind === CONSTANT) return new Uint8Array(count).fill(from.u8())
  if (kind === VALUES) return from.take(count)
  throw new RangeError('the block has a column of an unknown kind')
}

/** Writes whole numbers, each as the difference to the one before. */
export function writeDeltas(out: ByteWriter, column: readonly number[]): void {
  if (!column.every(isSmallInteger)) {
    out.u8(DOUBLES)
    for (const value of column) out.f64(value)
    return
  }
  out.u8(VALUES)
  let before = 0
  for (const value of column) {
    out.zigzag(value - before)
    before = value
  }
}

/** Numbers of any kind come back to the bit. */
export function readDeltas(from: ByteReader, count: number): Float64Array {
  const column = new Float64Array(count)
  const kind = from.u8()
  if (kind === DOUBLES) {
    for (let index = 0; index < count; index++) column[index] = from.f64()
    return column
  }
  if (kind !== VALUES) throw new RangeError('the block has a column of an unknown kind')
  from.zigzags(column)
  let value = 0
  for (let index = 0; index < count; index++) {
    value += column[index] ?? 0
    column[index] = value
  }
  return column
}

/** A difference of two of these is exact. -0 is none of them. */
function isSmallInteger(value: number): boolean {
  return Number.isInteger(value) && Math.abs(value) < 2 ** 51 && !Object.is(value, -0)
}

/** Writes whole numbers from 0 to 2^32 - 1 as columns of bytes, lowest first. */
export function writePlanes(out: ByteWriter, column: readonly number[]): void {
  const first = column[0] ?? 0
  if (column.every((value) => value === first)) {
    out.u8(CONSTANT)
    out.varint(first)
    return
  }
  let most = 0
  for (const value of column) if (value > most) most = value
  out.u8(PLANES)
  const planes = most < 2 ** 8 ? 1 : most < 2 ** 16 ? 2 : most < 2 ** 24 ? 3 : 4
  out.u8(planes)
  for (let plane = 0; plane < planes; plane++) {
    const bytes = out.room(column.length)
    const shift = 8 * plane
    for (let index = 0; index < column.length; index++) {
      bytes[index] = ((column[index] ?? 0) >>> shift) & 0xff
    }
  }
}

export function readPlanes(from: ByteReader, count: number): Uint32Array {
  const kind = from.u8()
  if (kind === CONSTANT) return new Uint32Array(count).fill(from.varint())
  if (kind !== PLANES) throw new RangeError('the block has a column of an unknown kind')
  const column = new Uint32Array(count)
  const planes = from.u8()
  for (let plane = 0; plane < planes; plane++) {
    const bytes = from.take(count)
    const factor = 2 ** (8 * plane)
    for (let index = 0; index < count; index++) {
      column[index] = (column[index] ?? 0) + (bytes[index] ?? 0) * factor
    }
  }
  return column
}

/** Passes over a column of `readPlanes`, and reads it on first use. */
export function laterPlanes(from: ByteReader, count: number): () => Uint32Array {
  const start = from.position
  const kind = from.u8()
  if (kind === CONSTANT) from.varint()
  else if (kind === PLANES) from.skip(from.u8() * count)
  else throw new RangeError('the block has a column of an unknown kind')
  return onFirstUse(() => readPlanes(new ByteReader(from.bytes, start), count))
}

/** Passes over a column of `readDeltas`, and reads it on first use. */
export function laterDeltas(from: ByteReader, count: number): () => Float64Array {
  const start = from.position
  const kind = from.u8()
  if (kind === DOUBLES) from.skip(DOUBLE_BYTES * count)
  else if (kind === VALUES) from.skipVarints(count)
  else throw new RangeError('the block has a column of an unknown kind')
  return onFirstUse(() => readDeltas(new ByteReader(from.bytes, start), count))
}

/** Makes a value when it is first asked for, and keeps it. */
export function onFirstUse<Value extends object>(make: () => Value): () => Value {
  let made: Value | null = null
  return () => {
    made ??= make()
    return made
  }
}

/** Takes a name of an applicant; equal texts are the same name in either form. */
export interface NameHasher {
  ofText(text: string): void
  ofUtf8(bytes: Uint8Array, start: number, end: number): void
}

/** Score, probability and grade of each row of a group; NaN and null where the model failed. */
export interface ResultColumns {
  readonly scores: Float64Array
  /** NaN also if the model has no scale. */
  readonly pds: Float64Array
  /** Index in the names of the model's grades; `NO_GRADE` for none. */
  readonly grades: Uint32Array
}
