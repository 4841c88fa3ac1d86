import { csvCell } from '../../../platform/csv-cell.ts'

export type Cell = string | number | null

/** Rows as CSV, with the numbers in full; see `csvCell`. */
export function writeCsv(head: readonly string[], rows: readonly (readonly Cell[])[]): string {
  return [head, ...rows].map((row) => `${row.map((cell) => csvCell(cell)).join(',')}\r\n`).join('')
}
