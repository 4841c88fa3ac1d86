/** Half a minute of a timer that fires every 20 ms: two scrapes at their usual interval. */
const LAGS_MAX = 1_500

/** Figures of a window, in seconds; zeros before the first lag. */
export interface LagFigures {
  readonly latest: number
  readonly min: number
  readonly max: number
  readonly mean: number
  readonly stddev: number
  readonly p50: number
  readonly p90: number
  readonly p99: number
}

/**
 * The latest lags of the event loop. Reading them changes nothing, so that several scrapers see the
 * same figures.
 */
export class LagWindow {
  private readonly lags = new Float64Array(LAGS_MAX)
  private noted = 0
  private readAt = -1
  private read: LagFigures | null = null

  note(seconds: number): void {
    this.lags[this.noted % LAGS_MAX] = seconds
    this.noted++
  }

  /** Computed once for all metrics of a scrape. */
  figures(): LagFigures {
    if (this.read === null || this.readAt !== this.noted) this.read = this.compute()
    this.readAt = this.noted
    return this.read
  }

  private compute(): LagFigures {
    const count = Math.min(this.noted, LAGS_MAX)
    const sorted = this.lags.slice(0, count).sort()
    const mean = sorted.reduce((sum, lag) => sum + lag, 0) / Math.max(count, 1)
    const variance = sorted.reduce((sum, lag) => sum + (lag - mean) ** 2, 0) / Math.max(count, 1)
    const atShare = (share: number) => sorted[Math.max(Math.ceil(share * count) - 1, 0)] ?? 0
    return {
      latest: count === 0 ? 0 : (this.lags[(this.noted - 1) % LAGS_MAX] ?? 0),
      min: sorted[0] ?? 0,
      max: sorted[count - 1] ?? 0,
      mean,
      stddev: Math.sqrt(variance),
      p50: atShare(0.5),
      p90: atShare(0.9),
      p99: atShare(0.99),
    }
  }
}
