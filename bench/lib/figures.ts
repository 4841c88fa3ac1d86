export function percentile(values: readonly number[], share: number): number {
  const rising = values.toSorted((a, b) => a - b)
  return rising[Math.floor(share * (rising.length - 1))] ?? Number.NaN
}

export function median(values: readonly number[]): number {
  const rising = values.toSorted((a, b) => a - b)
  const [low = Number.NaN, high = low] = rising.slice(
    (rising.length - 1) >> 1,
    (rising.length >> 1) + 1,
  )
  return (low + high) / 2
}
