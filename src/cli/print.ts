/** What could move the cursor of a terminal, hide or turn text: names come from people. */
const UNPRINTABLE = /[\p{Cc}\p{Cs}\u2028\u2029\u200E\u200F\u202A-\u202E\u2066-\u2069]/gu

/** The text on one line, with what a terminal would not print written as `\u{1b}`. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, (char) => `\\u{${char.codePointAt(0)?.toString(16)}}`)
}

/**
 * A table with aligned columns.
 *
 * @param header names of the columns
 * @param rows as many cells as the header has; null is told as `-`
 */
export function table(
  header: readonly string[],
  rows: ReadonlyArray<ReadonlyArray<string | null>>,
): string {
  const lines = [header, ...rows].map((cells) => cells.map((cell) => printable(cell ?? '-')))
  const widths = header.map((_, column) =>
    Math.max(...lines.map((cells) => charsOf(cells[column] ?? ''))),
  )
  const line = (cells: readonly string[]) =>
    cells.map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - charsOf(cell))).join('  ')
  return lines.map((cells) => line(cells).trimEnd()).join('\n')
}

/** The text as a sentence; one that ends with a point already stays as it is. */
export function sentence(text: string): string {
  const end = /[.!?]$/.test(text) ? '' : '.'
  return text.charAt(0).toUpperCase() + text.slice(1) + end
}

function charsOf(text: string): number {
  return [...text].length
}
