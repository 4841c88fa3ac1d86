import { saveFile } from '../api/send.ts'
import { type Cell, writeCsv } from './csv-text.ts'

/** Lets the browser store a table for spreadsheets. */
export function saveCsv(
  name: string,
  head: readonly string[],
  rows: readonly (readonly Cell[])[],
): void {
  saveFile(`${name}.csv`, new Blob([writeCsv(head, rows)], { type: 'text/csv' }))
}
