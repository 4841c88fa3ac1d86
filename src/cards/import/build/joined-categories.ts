import type { ImportOptions } from './card.ts'
import { type Notes, quote } from './notes.ts'

/** Categories in one text, as a tool writes them. */
interface JoinedLabel {
  readonly label: string
  /** The text between categories: `,` or `, `. */
  readonly delimiter: string
  /** Position of the label in the file. */
  readonly path: string
  readonly feature: string
}

/**
 * Splits categories that a tool has joined, although a category may contain the delimiter.
 *
 * Those of `commaCategories` are found first, the longest where several fit. A label that is taken
 * apart is a fault until the caller has named those, or said that there are none.
 */
export function readJoined(
  { label, delimiter, path, feature }: JoinedLabel,
  { commaCategories }: ImportOptions,
  notes: Notes,
): string[] {
  const texts: string[] = []
  for (let at = 0; at <= label.length; ) {
    let end = -1
    for (const text of commaCategories ?? []) {
      const next = at + text.length
      if (next > end && label.startsWith(text, at) && isEnd(label, next, delimiter)) end = next
    }
    if (end === -1) end = label.indexOf(delimiter, at)
    if (end === -1) end = label.length
    texts.push(label.slice(at, end))
    at = end + delimiter.length
    if (end === label.length) break
  }
  if (texts.length > 1 && commaCategories === undefined) {
    notes.fault(
      path,
      `${quote(label)} of ${quote(feature)} joins categories by commas, and a category may contain ` +
        'a comma: name such categories in `comma_categories` (an empty list where there are none)',
    )
  }
  return texts
}

function isEnd(label: string, end: number, delimiter: string): boolean {
  return end === label.length || label.startsWith(delimiter, end)
}
