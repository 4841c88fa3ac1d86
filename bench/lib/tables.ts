import { median, percentile } from '../../test/support/load/percentile.ts'
import type { Measured, Round, Series, StoredResult } from './results.ts'

/** Rows of cells; the first holds the headings. */
export type Rows = readonly (readonly string[])[]

/** A table of Markdown. */
export function markdown([head = [], ...rows]: Rows): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [line(head), `|${head.map(() => '---').join('|')}|`, ...rows.map(line)].join('\n')
}

/** @throws Error naming the scenario whose rounds lack it */
export function seriesIn({ file, result }: StoredResult, name: string): Series {
  const found = result.series.find((series) => series.name === name)
  if (found === undefined) throw new Error(`${file} has no series ${name}: run the scenario again`)
  return found
}

/** @throws Error naming the series that lacks it */
export function measuredIn({ name: series, measured }: Series, name: string): Measured {
  const found = measured.find((one) => one.name === name)
  if (found === undefined) throw new Error(`the series ${series} has no ${name}`)
  return found
}

export type Value = (round: Round) => number

/** Takes one value of a round, which must be there. */
export const field =
  (name: string): Value =>
  (round) => {
    const value = round[name]
    if (value === undefined) throw new Error(`a round has no ${name}`)
    return value
  }

export function middle({ rounds }: Measured, value: Value): number {
  return median(rounds.map(value))
}

export function share({ rounds }: Measured, value: Value, part: number): number {
  return percentile(rounds.map(value), part)
}

/**
 * Median, least and greatest ratio to the first of the series, each within a round.
 *
 * @returns such as `0.92 (0.83 to 1.01)`
 */
export function ratioToFirst({ measured }: Series, one: Measured, value: Value): string {
  const ratios = one.rounds.map((round, at) => {
    const baseline = measured[0]?.rounds[at]
    return baseline === undefined ? Number.NaN : value(round) / value(baseline)
  })
  // Older results have whole milliseconds: a p99 can be 0.
  if (!ratios.every(Number.isFinite)) return 'no ratio: the first is 0'
  return withSpread(ratios, (ratio) => ratio.toFixed(2))
}

export function withSpread(values: readonly number[], text: (value: number) => string): string {
  const [least, most] = [Math.min(...values), Math.max(...values)]
  const spread = text(least) === text(most) ? '' : ` (${text(least)} to ${text(most)})`
  return text(median(values)) + spread
}

/** Three digits that count, with separators: 0.584, 71.2, 17,100. */
export function digits(value: number, count = 3): string {
  const rounded = Number(value.toPrecision(count))
  return rounded.toLocaleString('en', { maximumFractionDigits: 4 })
}
