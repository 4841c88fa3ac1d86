const DIGIT_0 = 0x30
const COMMA = 0x2c
/** Two bytes can hold five digits; a comma follows. The last word may reach two bytes further. */
export const CELL_BYTES_MAX = 8
/** Cells with at most three digits. */
const SHORT_CELLS = 1_000
const DELETE = 0x7f
/** By ASCII code: 1 where a character of a JSON text is written as it is. */
const PLAIN = Uint8Array.from({ length: 256 }, (_, code) =>
  code >= 0x20 && code < DELETE && code !== 0x22 && code !== 0x5c ? 1 : 0,
)

/** Whether a byte of a text is the same in JSON. */
export function isPlain(byte: number): boolean {
  return PLAIN[byte] === 1
}

/**
 * Writes the digits of a whole number from 0 to 2^32 - 1.
 *
 * @returns offset at which they end
 */
export function writeDigits(bytes: Uint8Array, from: number, value: number): number {
  if (value < 10) {
    bytes[from] = DIGIT_0 + value
    return from + 1
  }
  let places = 1
  for (let rest = value; rest >= 10; places++) rest = (rest / 10) >>> 0
  const end = from + places
  let rest = value
  for (let at = end - 1; at >= from; at--) {
    bytes[at] = DIGIT_0 + (rest % 10)
    rest = (rest / 10) >>> 0
  }
  return end
}

/** The cells of a result. */
interface Cells {
  readonly payload: Buffer
  /** Offset of the first one. */
  readonly from: number
  readonly features: number
  readonly bytesPerCell: 1 | 2
}

/** Writes cells with commas between them. */
export function writeCells(bytes: Buffer, start: number, cells: Cells): number {
  const { payload, from, features, bytesPerCell } = cells
  let at = start
  for (let feature = 0; feature < features; feature++) {
    const cell =
      bytesPerCell === 1 ? (payload[from + feature] ?? 0) : payload.readUInt16LE(from + 2 * feature)
    at = cell < SHORT_CELLS ? writeCell(bytes, at, cell) : writeDigits(bytes, at, cell)
    bytes[at++] = COMMA
  }
  return features === 0 ? start : at - 1
}

/** @param cell below 1,000 */
function writeCell(bytes: Uint8Array, from: number, cell: number): number {
  let at = from
  if (cell >= 100) bytes[at++] = DIGIT_0 + ((cell / 100) | 0)
  if (cell >= 10) bytes[at++] = DIGIT_0 + (((cell / 10) | 0) % 10)
  bytes[at++] = DIGIT_0 + (cell % 10)
  return at
}
