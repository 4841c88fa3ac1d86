/**
 * The value below which a share of the values lies. It interpolates between neighbours, as
 * `percentile_cont` of PostgreSQL and the statistics of a deployment do.
 *
 * @param share 0..1, 0.95 for the 95th percentile
 * @returns NaN without values
 */
export function percentile(values: readonly number[], share: number): number {
  const rising = values.toSorted((a, b) => a - b)
  const rank = share * (rising.length - 1)
  const below = rising[Math.floor(rank)] ?? Number.NaN
  const above = rising[Math.ceil(rank)] ?? Number.NaN
  return below + (above - below) * (rank - Math.floor(rank))
}

export function median(values: readonly number[]): number {
  return percentile(values, 0.5)
}
