import { hash } from 'node:crypto'

/** Subjects of a deployment fall into this many buckets; one is 0.01 percent. */
export const BUCKETS = 10_000

const BUCKETS_PER_PERCENT = BUCKETS / 100
/** 48 bits of the digest: read exactly, and even to a part in 10^10 over the buckets. */
const DIGEST_BYTES = 6

/**
 * The bucket of a subject, 0 to 9,999: the first 48 bits of the SHA-256 of `deploymentId:subject`, as a
 * big-endian number, modulo 10,000. Anyone can repeat it, so that a draw can be proved later.
 *
 * @param subject the bytes of the header, each as one character (as Node gives headers), or a request id
 */
export function bucketOf(deploymentId: string, subject: string): number {
  const digest = hash('sha256', Buffer.from(`${deploymentId}:${subject}`, 'latin1'), 'buffer')
  return digest.readUIntBE(0, DIGEST_BYTES) % BUCKETS
}

interface Share {
  readonly trafficPct: number
  /** Pairs of first bucket and the one behind the last. */
  readonly bucketRanges: readonly number[]
}

/**
 * Gives each challenger as many buckets as its percentage says, taking none that another one has.
 *
 * Each keeps what it has. One that has too many gives back its last ones, to the champion; then those
 * that lack some take the lowest free ones, the oldest first. So raising a share moves subjects from
 * the champion to that challenger and no others, and lowering it moves them back. A partition made anew from the
 * percentages could not promise that for three challengers and more.
 *
 * @param shares of the active challengers, oldest first
 * @returns the ranges of each, ascending; fewer buckets than wanted only where the percentages exceed 100
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
  return shares.map((_, owner) => rangesOf(owners, owner))
}

const FREE = -1

export function* bucketsIn(ranges: readonly number[]): Generator<number> {
  for (let at = 0; at + 1 < ranges.length; at += 2) {
    const end = ranges[at + 1] ?? 0
    for (let bucket = ranges[at] ?? 0; bucket < end; bucket++) yield bucket
  }
}

function rangesOf(owners: Int32Array, owner: number): number[] {
  const ranges: number[] = []
  for (let bucket = 0; bucket < BUCKETS; bucket++) {
    const isOwn = owners[bucket] === owner
    const wasOwn = bucket > 0 && owners[bucket - 1] === owner
    if (isOwn !== wasOwn) ranges.push(bucket)
  }
  if (owners[BUCKETS - 1] === owner) ranges.push(BUCKETS)
  return ranges
}
