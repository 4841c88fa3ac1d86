/** Shorter names are near to too many others. */
const CHARS_MIN = 6
export const EDITS_MAX = 2

/**
 * Finds variables that nobody reads and whose names are near to one that is read: some letters
 * differ, or the words stand in another order.
 *
 * @returns a warning for each
 */
export function findMisspelt(names: readonly string[], read: ReadonlySet<string>): string[] {
  return names.flatMap((name) => {
    if (read.has(name) || name.length < CHARS_MIN) return []
    const meant = [...read].find((one) => isNear(name, one))
    return meant === undefined ? [] : [`${name} has no effect; did you mean ${meant}?`]
  })
}

function isNear(name: string, other: string): boolean {
  if (other.length < CHARS_MIN) return false
  return sortWords(name) === sortWords(other) || countEdits(name, other) <= EDITS_MAX
}

function sortWords(name: string): string {
  return name.split('_').sort().join('_')
}

/** Counts the letters to add, take away or replace, or says that they are too many. */
export function countEdits(a: string, b: string): number {
  if (Math.abs(a.length - b.length) > EDITS_MAX) return EDITS_MAX + 1
  let row = Array.from({ length: b.length + 1 }, (_, at) => at)
  for (const [index, letter] of [...a].entries()) {
    const next = [index + 1]
    for (let at = 1; at <= b.length; at++) {
      const replaced = (row[at - 1] ?? 0) + (letter === b[at - 1] ? 0 : 1)
      next.push(Math.min(replaced, (row[at] ?? 0) + 1, (next[at - 1] ?? 0) + 1))
    }
    row = next
  }
  return row[b.length] ?? 0
}
