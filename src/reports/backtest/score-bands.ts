import { populationStability } from '../monitoring/statistics/population-stability.ts'

const BAND_POINTS = 20
const BANDS_MAX = 200
/** Applicants that stand for none, after which shares are taken anew. */
const ZERO_FILL = 0.5

/** Scores by bands of equal width, in points: [min, max). */
export class ScoreBands {
  private readonly first: number
  private readonly width: number
  private readonly sure: number[]
  private readonly possible: number[]
  /** Exact scores, and the scores that were served to the same applicants. */
  private readonly exact: number[]
  private readonly served: number[]

  /** @param low least score that the card can give; @param high the most */
  constructor(low: number, high: number) {
    this.width = BAND_POINTS * Math.max(1, Math.ceil((high - low) / BAND_POINTS / BANDS_MAX))
    this.first = Math.floor(low / this.width)
    const bands = Math.floor(high / this.width) - this.first + 1
    this.sure = new Array<number>(bands).fill(0)
    this.possible = [...this.sure]
    this.exact = [...this.sure]
    // One more at each end: the served model can give any score.
    this.served = new Array<number>(bands + 2).fill(0)
  }

  add(low: number, high: number, served: number): void {
    const from = this.findBand(low)
    const to = this.findBand(high)
    for (let band = from; band <= to; band++) add(this.possible, band)
    if (from === to) add(this.sure, from)
    if (low !== high) return
    add(this.exact, from)
    const band = Math.floor(served / this.width) - this.first + 1
    add(this.served, Math.min(this.served.length - 1, Math.max(0, band)))
  }

  /** Bands that an applicant can be in. */
  get bands() {
    return this.sure.flatMap((surely, band) => {
      const possibly = this.possible[band] ?? 0
      if (possibly === 0) return []
      const min = (this.first + band) * this.width
      return { min, max: min + this.width, n: surely, n_possible: possibly }
    })
  }

  /** Compares exact scores with those that were served to the same applicants. */
  get stability() {
    const n = this.exact.reduce((sum, count) => sum + count, 0)
    const actual = [0, ...this.exact, 0]
    const fill = { kind: 'count', count: ZERO_FILL } as const
    const { psi, zeroBins } = populationStability(this.served, actual, fill)
    return {
      psi,
      n,
      against: 'served',
      zero_fill: ZERO_FILL,
      zero_bins: zeroBins,
      band_points: this.width,
    }
  }

  private findBand(score: number): number {
    return Math.floor(score / this.width) - this.first
  }
}

function add(counts: number[], index: number): void {
  counts[index] = (counts[index] ?? 0) + 1
}
