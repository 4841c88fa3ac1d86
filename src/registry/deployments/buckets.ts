import { hash } from 'node:crypto'

/** Number of buckets that a deployment's subjects are divided into; one is 0.01 percent. */
export const BUCKETS = 10_000

const BUCKETS_PER_PERCENT = BUCKETS / 100
/** 48 bits fit a double exactly; modulo 10,000 they deviate from uniform by less than 10^-10. */
const DIGEST_BYTES = 6

/**
 * Returns the bucket of a subject, 0 to 9,999: the first 48 bits of the SHA-256 of
 * `deploymentId:subject`, as a big-endian number, modulo 10,000. Anyone can recompute it, so an
 * assignment can be proved later.
 *
 * @param subject a request id, or the header's bytes with one character each, as Node reads headers
 */
export function findBucket(deploymentId: string, subject: string): number {
  const digest = hash('sha256', Buffer.from(`${deploymentId}:${subject}`, 'latin1'), 'buffer')
  return digest.readUIntBE(0, DIGEST_BYTES) % BUCKETS
}

interface Share {
  readonly trafficPct: number
  /** Pairs of the first bucket and the one after the last. */
  readonly bucketRanges: readonly number[]
}

/**
 * Gives each challenger the number of buckets that its percentage requires. Buckets of other
 * challengers stay untouched.
 *
 * Each challenger keeps its buckets. A challenger with too many returns its last ones to the
 * champion. Then challengers with too few take the lowest free buckets, the oldest challenger
 * first. Therefore a larger share moves subjects only from the champion to that challenger, and a
 * smaller share moves them back. A new partition by percentages could not guarantee this for three
 * or more challengers.
 *
 * @param shares shares of the active challengers, oldest first
 * @returns bucket ranges of each challenger, ascending; too few only if the percentages exceed 100
 */
export function allotBuckets(shares: readonly Share[]): number[][] {
  const owners = new Int32Array(BUCKETS).fill(FREE)
  const lacking = shares.map(({ trafficPct, bucketRanges }, owner) => {
    let wanted = Math.round(trafficPct * BUCKETS_PER_PERCENT)
    for (const bucket of bucketsIn(bucketRanges)) {
      if (wanted === 0) break
      owners[bucket] = owner
      wanted--
    }
    return wanted
  })
  let next = 0
  for (const [owner, count] of lacking.entries()) {
    for (let taken = 0; taken < count && next < BUCKETS; next++) {
      if (owners[next] !== FREE) continue
      owners[next] = owner
      taken++
    }
  }
  return shares.map((_, owner) => listRanges(owners, owner))
}

const FREE = -1

export function* bucketsIn(ranges: readonly number[]): Generator<number> {
  for (let at = 0; at + 1 < ranges.length; at += 2) {
    const end = ranges[at + 1] ?? 0
    for (let bucket = ranges[at] ?? 0; bucket < end; bucket++) yield bucket
  }
}

function listRanges(owners: Int32Array, owner: number): number[] {
  const ranges: number[] = []
  for (let bucket = 0; bucket < BUCKETS; bucket++) {
    const isOwn = owners[bucket] === owner
    const wasOwn = bucket > 0 && owners[bucket - 1] === owner
    if (isOwn !== wasOwn) ranges.push(bucket)
  }
  if (owners[BUCKETS - 1] === owner) ranges.push(BUCKETS)
  return ranges
}
