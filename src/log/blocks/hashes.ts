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
  const hashes = new Uint32Array(HASHES)
  writeHashes(hashes, 0, crc32(`${teamId} ${reference}`))
  return [...hashes]
}

/** Returns those of a team's references that a filter lets through: see `ReferenceFilter`. */
export function referencesIn(
  filter: Uint8Array | null,
  teamId: string,
  references: Iterable<string>,
): Set<string> {
  const found = new Set<string>()
  if (filter === null) return found
  const bits = 8 * filter.length
  for (const reference of references) {
    const isSet = (hash: number) => ((filter[(hash % bits) >>> 3] ?? 0) >> ((hash % bits) & 7)) & 1
    if (referenceHashes(teamId, reference).every(isSet)) found.add(reference)
  }
  return found
}

function writeHashes(out: Uint32Array, at: number, seed: number): void {
  for (let index = 0; index < HASHES; index++) {
    out[at + index] = mixed(seed + Math.imul(index + 1, GOLDEN))
  }
}

/** The numbers of the references of a block, in memory that grows with them. */
export class ReferenceFilter {
  private numbers = new Uint32Array(HASHES)
  private used = 0
  private teamId = ''
  /** Checksum of the team with the blank behind it: nearly always that of the reference before. */
  private teamSum = crc32(' ')

  add(teamId: string, reference: string): void {
    if (teamId !== this.teamId) {
      this.teamId = teamId
      this.teamSum = crc32(`${teamId} `)
    }
    if (this.used + HASHES > this.numbers.length) {
      const larger = new Uint32Array(2 * this.numbers.length)
      larger.set(this.numbers)
      this.numbers = larger
    }
    writeHashes(this.numbers, this.used, crc32(reference, this.teamSum))
    this.used += HASHES
  }

  /**
   * A Bloom filter, whose bit n is bit n % 8 of byte n / 8, as `get_bit` of PostgreSQL counts.
   *
   * @returns null without references
   */
  bytes(): Buffer | null {
    if (this.used === 0) return null
    const filter = Buffer.alloc(Math.ceil(((this.used / HASHES) * BITS_EACH) / 8))
    const bits = 8 * filter.length
    for (let at = 0; at < this.used; at++) {
      const bit = (this.numbers[at] ?? 0) % bits
      filter[bit >>> 3] = (filter[bit >>> 3] ?? 0) | (1 << (bit & 7))
    }
    return filter
  }
}

/** Murmur's last step: each bit of the result depends on each bit of the number. */
function mixed(number: number): number {
  let bits = number | 0
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b)
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35)
  return (bits ^ (bits >>> 16)) >>> 0
}
