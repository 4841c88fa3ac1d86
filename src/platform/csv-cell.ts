const NEEDS_QUOTES = /[",\r\n]|^$/
/** Characters that a spreadsheet takes for the beginning of a formula (OWASP, CSV injection). */
const FORMULA = /^[=+\-@\t\r]/

/**
 * A cell of CSV by RFC 4180, the only writer of them; null is empty, and an empty text `""`. A text
 * that a spreadsheet would compute has an apostrophe before it. Numbers stay as they are.
 */
export function csvCell(value: string | number | null): string {
  if (value === null) return ''
  if (typeof value === 'number') return String(value)
  const text = FORMULA.test(value) ? `'${value}` : value
  return NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
