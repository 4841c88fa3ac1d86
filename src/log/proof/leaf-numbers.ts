const DIGIT_0 = 0x30
const DELETE = 0x7f
/** By ASCII code: 1 where a character of a JSON text is written as it is. */
const PLAIN = Uint8Array.from({ length: 256 }, (_, code) =>
  code >= 0x20 && code < DELETE && code !== 0x22 && code !== 0x5c ? 1 : 0,
)

/** Tells whether a byte of a text is the same in JSON. */
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
