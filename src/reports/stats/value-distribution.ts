/** Distinct values that are counted exactly. */
const DISTINCT_MAX = 10_000
/** Bins of the values once there are too many. */
const COARSE_BINS = 5_000
const BINS_WANTED = 30

/** Counts by bins of equal width: bin n is `[low + n × width, low + (n + 1) × width)`. */
export interface Histogram {
  readonly low: number
  readonly width: number
  readonly counts: number[]
}

interface HistogramScale {
  readonly low: number
  readonly width: number
  readonly bins: number
}

/**
 * Counts values in bounded memory, however many there are.
 *
 * *Exact*: up to 10,000 distinct values are counted each. *Coarse*, from there on: values are
 * counted in bins whose width is a power of ten, at most a 500th of the range, and grows with it.
 * Average, ends and histogram stay exact, but for rounding; a percentile is then within half a bin.
 */
export class ValueDistribution {
  count = 0
  min = Number.POSITIVE_INFINITY
  max = Number.NEGATIVE_INFINITY
  private runningAverage = 0
  /** Counts by value or, once coarse, by index of the bin. */
  private counts = new Map<number, number>()
  /** Width of the bins; 0: exact. */
  private width = 0

  /** @param value finite */
  add(value: number, times = 1): void {
    this.count += times
    const share = times / this.count
    // A sum could overflow.
    this.runningAverage = this.runningAverage * (1 - share) + value * share
    if (value < this.min) this.min = value
    if (value > this.max) this.max = value
    const key = this.width === 0 ? value : Math.floor(value / this.width)
    this.counts.set(key, (this.counts.get(key) ?? 0) + times)
    if (this.counts.size > DISTINCT_MAX) this.coarsen()
  }

  /** Null without values. */
  get average(): number | null {
    if (this.count === 0) return null
    if (this.width > 0) return Math.min(this.max, Math.max(this.min, this.runningAverage))
    let sum = 0
    for (const [value, times] of this.counts) sum += (value * times) / this.count
    return Number.isFinite(sum) ? sum : this.runningAverage
  }

  /**
   * Interpolates between neighbours, as `percentile_cont` of PostgreSQL does; null without values.
   *
   * @param shares rising, each 0..1
   */
  percentiles(shares: readonly number[]): (number | null)[] {
    if (this.count === 0) return shares.map(() => null)
    const rising = [...this.counts].sort(([a], [b]) => a - b)
    return shares.map((share) => {
      const rank = share * (this.count - 1)
      const below = this.valueAt(rising, Math.floor(rank))
      const above = this.valueAt(rising, Math.ceil(rank))
      const part = rank - Math.floor(rank)
      // The sum of two parts can miss their whole by a bit.
      return below === above ? below : below * (1 - part) + above * part
    })
  }

  /** Calls with each value and its count; once coarse, with the middle of each bin. */
  forEach(call: (value: number, times: number) => void): void {
    for (const [key, times] of this.counts) {
      call(this.width === 0 ? key : (key + 0.5) * this.width, times)
    }
  }

  private valueAt(rising: readonly (readonly [number, number])[], rank: number): number {
    let before = 0
    for (const [key, times] of rising) {
      before += times
      if (rank >= before) continue
      if (this.width === 0) return key
      return Math.min(this.max, Math.max(this.min, (key + 0.5) * this.width))
    }
    return this.max
  }

  /** Null without a scale or values. */
  histogram(scale: HistogramScale | null): Histogram | null {
    if (scale === null || this.count === 0) return null
    const { low, width, bins } = scale
    const counts = Array.from({ length: bins }, () => 0)
    const [fineLow, finePerBin] = [Math.round(low / this.width), Math.round(width / this.width)]
    for (const [key, times] of this.counts) {
      const found = this.width === 0 ? (key - low) / width : (key - fineLow) / finePerBin
      const bin = Math.min(bins - 1, Math.max(0, Math.floor(found)))
      counts[bin] = (counts[bin] ?? 0) + times
    }
    return { low, width, counts }
  }

  private coarsen(): void {
    const before = this.width
    const power = Math.ceil(Math.log10((this.max - this.min) / COARSE_BINS))
    this.width = Math.max(10 ** power, before)
    const coarse = new Map<number, number>()
    const factor = before === 0 ? 1 : Math.round(this.width / before)
    for (const [key, times] of this.counts) {
      const index = before === 0 ? Math.floor(key / this.width) : Math.floor(key / factor)
      coarse.set(index, (coarse.get(index) ?? 0) + times)
    }
    this.counts = coarse
  }
}

/** Bins of a round width over values; null without values, or where no finite width fits. */
export function scaleOver(distributions: readonly ValueDistribution[]): HistogramScale | null {
  const least = Math.min(...distributions.map(({ min }) => min))
  const most = Math.max(...distributions.map(({ max }) => max))
  if (least > most) return null
  const width = roundWidth((most - least) / BINS_WANTED)
  const low = Math.floor(least / width) * width
  const bins = Math.floor((most - low) / width) + 1
  return Number.isFinite(low) && bins <= 2 * BINS_WANTED + 2 ? { low, width, bins } : null
}

/** Rounds up to 1, 2 or 5 times a power of ten; at least a thousandth. */
function roundWidth(width: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(width, 0.001)))
  return ([1, 2, 5].find((times) => times * power >= width) ?? 10) * power
}
