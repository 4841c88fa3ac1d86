/** Number of values in each bucket, by the bucket's integer. */
export type Counts = Map<number, number>

/** Adds `times` to one bucket. */
export function count(counts: Counts, bucket: number, times: number): void {
  counts.set(bucket, (counts.get(bucket) ?? 0) + times)
}

/** Adds all of `more` to `counts`. */
export function mergeCounts(counts: Counts, more: Counts): void {
  for (const [bucket, times] of more) count(counts, bucket, times)
}

/** Pairs of bucket and count in rising order, flattened: the stored form. */
export function flatCounts(counts: Counts): number[] {
  const flat: number[] = []
  for (const bucket of [...counts.keys()].sort((a, b) => a - b)) {
    flat.push(bucket, counts.get(bucket) ?? 0)
  }
  return flat
}

/** Reads the result of `flatCounts`. */
export function readCounts(flat: readonly number[]): Counts {
  const counts: Counts = new Map()
  for (let at = 0; at + 1 < flat.length; at += 2) counts.set(flat[at] ?? 0, flat[at + 1] ?? 0)
  return counts
}
