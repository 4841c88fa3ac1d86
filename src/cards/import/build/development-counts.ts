import { isCount } from '../../../engine/index.ts'
import type { SourceBin } from './card.ts'
import { numberIfAny, type Row } from './table.ts'

export interface DevelopmentCounts {
  readonly baseline_count?: number
  readonly baseline_bads?: number
}

/**
 * The counts of a row.
 *
 * @param names columns of the applicants, and of the bad ones; the first that has a number counts
 */
export function rowCounts(
  row: Row,
  names: { readonly count: readonly string[]; readonly bads: readonly string[] },
): Pick<SourceBin, 'count' | 'bads'> {
  const first = (columns: readonly string[]) =>
    columns.map((column) => numberIfAny(row, column)).find((value) => value !== undefined)
  return { count: first(names.count), bads: first(names.bads) }
}

/**
 * Functions that give each bin of a feature its counts.
 *
 * A row that became several bins gives them none: nobody knows how its applicants divide, and an
 * unknown count must not look like 0.
 *
 * @param rows the row of each bin of the specification
 */
export function makeCounts(rows: readonly SourceBin[]): (row: SourceBin) => DevelopmentCounts {
  const times = new Map<SourceBin, number>()
  for (const row of rows) times.set(row, (times.get(row) ?? 0) + 1)
  return (row) => {
    const { count, bads } = row
    // Sums of weights count nobody.
    if (!isCount(count) || times.get(row) !== 1) return {}
    const areBadsKnown = isCount(bads) && bads <= count
    return { baseline_count: count, ...(areBadsKnown && { baseline_bads: bads }) }
  }
}
