/** How often each of many buckets was met, by the bucket's whole number. */
export type Counts = Map<number, number>

/** Adds to one bucket. */
export function count(counts: Counts, bucket: number, times: number): void {
  counts.set(bucket, (counts.get(bucket) ?? 0) + times)
}

/** Adds all of `more` to `counts`. */
export function mergeCounts(counts: Counts, more: Counts): void {
  for (const [bucket, times] of more) count(counts, bucket, times)
}

/** Buckets in rising order, each with its count behind it: the form that is stored. */
export function flatCounts(counts: Counts): number[] {
  const flat: number[] = []
  for (const bucket of [...counts.keys()].sort((a, b) => a - b)) {
    flat.push(bucket, counts.get(bucket) ?? 0)
  }
  return flat
}

/** Reads what `flatCounts` made. */
export function readCounts(flat: readonly number[]): Counts {
  const counts: Counts = new Map()
  for (let at = 0; at + 1 < flat.length; at += 2) counts.set(flat[at] ?? 0, flat[at + 1] ?? 0)
  return counts
}
