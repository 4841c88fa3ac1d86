import { html } from 'htm/preact'
import type { Cutoffs } from './types.ts'

type Cell = string | number | null

/** Characters with which a spreadsheet takes a text for a formula. */
const FORMULA = /^[=+\-@\t\r]/

/**
 * Rows as CSV after RFC 4180, with the numbers in full. An empty cell is null. A text that a
 * spreadsheet would compute has an apostrophe before it.
 */
export function csvOf(head: readonly string[], rows: readonly (readonly Cell[])[]): string {
  return [head, ...rows].map((row) => `${row.map(cellText).join(',')}\r\n`).join('')
}

function cellText(cell: Cell): string {
  if (cell === null) return ''
  if (typeof cell === 'number') return String(cell)
  const text = FORMULA.test(cell) ? `'${cell}` : cell
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

const BAND_HEAD = ['min', 'max', 'applicants', 'share', 'mean_pd', 'expected_bads']
const BASIS_HEAD = ['model_version', 'from', 'to', 'n']

/** The score bands as a table to save: each row names the model, the period and all applicants. */
export function bandTable({ bands, model_version: version, from, to, n }: Cutoffs) {
  return {
    head: [...BASIS_HEAD, ...BAND_HEAD],
    rows: bands.map((band) => [
      ...[version, from, to, n],
      ...[band.min, band.max, band.n, band.share, band.mean_pd, band.expected_bads],
    ]),
  }
}

interface ReportToolsProps {
  readonly name: string
  readonly head: readonly string[]
  readonly rows: readonly (readonly Cell[])[]
}

/** Buttons that print the page, and save a table of it as CSV. */
export function ReportTools({ name, head, rows }: ReportToolsProps) {
  const save = () => {
    const file = new Blob([csvOf(head, rows)], { type: 'text/csv' })
    const link = document.createElement('a')
    link.href = URL.createObjectURL(file)
    link.download = `${name}.csv`
    link.click()
    setTimeout(() => URL.revokeObjectURL(link.href), SAVED_MS)
  }
  return html`<div class="actions no-print">
    <button type="button" onClick=${() => print()}>Print</button>
    <button type="button" onClick=${save}>Save as CSV</button>
  </div>`
}

/** By then the browser has taken the file. */
const SAVED_MS = 60_000
