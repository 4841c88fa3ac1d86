/** Slots of every cluster: each key is in one of them, each of them on one node. */
export const SLOTS = 16_384

const POLYNOMIAL = 0x1021
const TABLE = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8
  for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? (crc << 1) ^ POLYNOMIAL : crc << 1
  return crc
})

/**
 * The slot of a text as Redis computes it: of a key without a hash tag, or of the tag itself.
 *
 * @param text ASCII
 * @source Redis cluster specification, "Key distribution model": CRC-16/XMODEM modulo 16,384
 */
export function findSlot(text: string): number {
  let crc = 0
  for (let at = 0; at < text.length; at++) {
    crc = ((crc << 8) ^ (TABLE[((crc >> 8) ^ text.charCodeAt(at)) & 0xff] ?? 0)) & 0xffff
  }
  return crc % SLOTS
}
