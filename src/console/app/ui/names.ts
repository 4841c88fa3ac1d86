/**
 * Makes a technical name readable, where no label of the card is at hand: `duration_in_month`
 * becomes "Duration in month".
 */
export function plainName(name: string): string {
  const words = name.replaceAll('_', ' ').trim()
  return words === '' ? name : words.charAt(0).toUpperCase() + words.slice(1)
}

/** Letters of scripts that run from right to left. */
const RIGHT_TO_LEFT = /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}]/u

/** A name and its version; a name from right to left must not draw the version into it. */
export function withVersion(name: string, version: string): string {
  return RIGHT_TO_LEFT.test(name) ? `\u2068${name}\u2069 ${version}` : `${name} ${version}`
}

/** A list in words: "A, B and C". */
export function inWords(parts: readonly string[]): string {
  return new Intl.ListFormat('en-GB').format(parts)
}

/** The first words of a list, and how many are left. */
export function firstInWords(parts: readonly string[], max: number): string {
  if (parts.length <= max) return inWords(parts)
  const rest = parts.length - max
  return inWords([...parts.slice(0, max), `${rest} more`])
}

export function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
