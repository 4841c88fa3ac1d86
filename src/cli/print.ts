/** Characters that move the cursor of a terminal, or hide or reverse text. People choose names. */
const UNPRINTABLE = /[\p{Cc}\p{Cs}\u2028\u2029\u200E\u200F\u202A-\u202E\u2066-\u2069]/gu

/** The text on one line. Characters that a terminal does not print are written as `\u{1b}`. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, (char) => `\\u{${char.codePointAt(0)?.toString(16)}}`)
}

/**
 * A table with aligned columns.
 *
 * @param header names of the columns
 * @param rows as many cells as the header has; null is printed as `-`
 */
export function table(
  header: readonly string[],
  rows: ReadonlyArray<ReadonlyArray<string | null>>,
): string {
  const lines = [header, ...rows].map((cells) => cells.map((cell) => printable(cell ?? '-')))
  const widths = header.map((_, column) =>
    lines.reduce((widest, cells) => Math.max(widest, countChars(cells[column] ?? '')), 0),
  )
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - countChars(cell)))
      .join('  ')
  return lines.map((cells) => line(cells).trimEnd()).join('\n')
}

/** The text as a sentence: with a capital letter, and a full stop if it has no end. */
export function sentence(text: string): string {
  const end = /[.!?]$/.test(text) ? '' : '.'
  return text.charAt(0).toUpperCase() + text.slice(1) + end
}

function countChars(text: string): number {
  return [...text].length
}
