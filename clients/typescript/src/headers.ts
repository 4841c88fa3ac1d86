/** What `fetch` can send: tabs, and Latin-1 without control characters. */
const SENDABLE = /^[\t\x20-\x7e\x80-\xff]*$/

/**
 * A value that no header can carry, such as a token with a line break. Nothing was sent, and
 * sending it again would not help.
 */
export class InvalidHeaderError extends TypeError {
  override readonly name = 'InvalidHeaderError'
}

/**
 * The value of a header. `fetch` refuses the same ones, and quotes them in its error.
 *
 * @throws InvalidHeaderError naming the header, never its value
 */
export function headerOf(name: string, value: unknown): string {
  const text = String(value)
  if (SENDABLE.test(text)) return text
  const at = [...text].findIndex((character) => !SENDABLE.test(character))
  throw new InvalidHeaderError(
    `${name} has a character at position ${at + 1} that no header can carry: a line break, ` +
      'another control character, or one beyond Latin-1',
  )
}

/**
 * The header of a token, without the line break of the file that it is from.
 *
 * @throws InvalidHeaderError
 */
export function bearer(token: string): string {
  return `Bearer ${headerOf('the token', token.trim())}`
}
