import { crc32 } from 'node:zlib'

/** Bits of the filter for each reference: one block in a hundred and twenty is read in vain. */
const BITS_EACH = 10
const HASHES = 7
const GOLDEN = 0x9e3779b9

/** A deployment as the blocks' column `deployments` has it: 32 bits with a sign. */
export function deploymentHash(deploymentId: string): number {
  return crc32(deploymentId) | 0
}

/** The numbers of a reference, from 0 to 2^32 - 1; its bits are these modulo the filter's bits. */
export function referenceHashes(teamId: string, reference: string): number[] {
  const seed = crc32(`${teamId} ${reference}`)
  return Array.from({ length: HASHES }, (_, index) => mixed(seed + Math.imul(index + 1, GOLDEN)))
}

/**
 * A Bloom filter, whose bit n is bit n % 8 of byte n / 8, as `get_bit` of PostgreSQL counts.
 *
 * @param hashes of each reference
 */
export function referenceFilter(hashes: readonly (readonly number[])[]): Buffer {
  const filter = Buffer.alloc(Math.ceil((hashes.length * BITS_EACH) / 8))
  const bits = 8 * filter.length
  for (const hash of hashes.flat()) {
    const bit = hash % bits
    filter[bit >>> 3] = (filter[bit >>> 3] ?? 0) | (1 << (bit & 7))
  }
  return filter
}

/** Murmur's last step: each bit of the result depends on each bit of the number. */
function mixed(number: number): number {
  let bits = number | 0
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b)
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35)
  return (bits ^ (bits >>> 16)) >>> 0
}
