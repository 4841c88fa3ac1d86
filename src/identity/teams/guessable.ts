/** A password of fewer parts is refused. */
const PARTS_MIN = 5

/** Words that people choose, in the form of `folded`. */
const COMMON_WORDS = [
  ...['password', 'passwort', 'passwd', 'pass', 'secret', 'geheim', 'welcome', 'willkommen'],
  ...['admin', 'administrator', 'root', 'user', 'guest', 'owner', 'test', 'demo', 'login'],
  ...['letmein', 'changeme', 'default', 'master', 'access', 'hello', 'hallo', 'iloveyou'],
  ...['monkey', 'dragon', 'football', 'baseball', 'sunshine', 'princess', 'shadow', 'superman'],
  ...['summer', 'winter', 'spring', 'autumn', 'sommer', 'january', 'december', 'monday'],
  ...['scoreline', 'score', 'credit', 'kredit', 'bank', 'loan', 'lender', 'company'],
].sort((a, b) => b.length - a.length)

/** Rows of keyboards, and the order in which people count and spell. */
const ROWS = [
  ...['01234567890', 'abcdefghijklmnopqrstuvwxyz', 'qwertyuiop', 'asdfghjkl', 'zxcvbnm'],
  ...['qwertzuiop', 'yxcvbnm', 'azertyuiop', 'qsdfghjklm', 'wxcvbn', '1qaz2wsx3edc4rfv'],
].flatMap((row) => [row, [...row].reverse().join('')])
const ROW_CHARS_MIN = 3

const LETTERS_BY_SIGN: Readonly<Record<string, string>> = {
  '@': 'a',
  '4': 'a',
  '3': 'e',
  '1': 'i',
  '!': 'i',
  '0': 'o',
  $: 's',
  '5': 's',
}

/**
 * Tells whether a password can be guessed from what many people choose, and from who the user is.
 *
 * A common word, a part of the email address, a year, a row of keys and a repeated text count as
 * one part each, every other character as one. Fewer than five parts can be guessed. This is no
 * list of passwords that were breached elsewhere.
 *
 * @param email address of the user
 */
export function isGuessable(password: string, email: string): boolean {
  const plain = password.toLowerCase()
  const own = email.toLowerCase().split(/[^\p{L}\p{N}]+/u)
  const words = [...own.filter((one) => one.length >= ROW_CHARS_MIN), ...COMMON_WORDS]
  const read = folded(plain)
  const seen = new Set<string>()
  let parts = 0
  for (let at = 0; at < plain.length && parts < PARTS_MIN; ) {
    const length = Math.max(
      words.find((one) => plain.startsWith(one, at) || read.startsWith(one, at))?.length ?? 1,
      rowLength(plain, at),
      /^(?:19|20)\d\d/.test(plain.slice(at, at + 4)) ? 4 : 1,
    )
    const part = plain.slice(at, at + length)
    if (!seen.has(part)) parts++
    seen.add(part)
    at += length
  }
  return parts < PARTS_MIN
}

/** Reads signs as the letters that they often stand for. */
function folded(text: string): string {
  return [...text].map((char) => LETTERS_BY_SIGN[char] ?? char).join('')
}

/** Length of the row of keys that begins here; 1: none. */
function rowLength(text: string, at: number): number {
  let length = 1
  while (
    at + length < text.length &&
    ROWS.some((row) => row.includes(text.slice(at, at + length + 1)))
  ) {
    length++
  }
  return length >= ROW_CHARS_MIN ? length : 1
}
