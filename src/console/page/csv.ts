import { html } from 'htm/preact'

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
