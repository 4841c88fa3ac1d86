import type { Steps } from './steps.ts'

/** Characters after which a step ends. */
export const CHARS_A_STEP = 64 * 1024
/** Quotes within a string that a step looks at: a tenth of a millisecond. */
const QUOTES_A_STEP = 5_000
const BACKSLASH = 0x5c
const SPACE = 0x20
const NEWLINE = 0x0a
const RETURN = 0x0d
const TAB = 0x09
/** Of `\u0000`. */
const ESCAPE_CHARS_MAX = 6

/**
 * Position of the quote that ends a string; the length of the text if there is none. It searches for
 * quotes: a body may have one string of megabytes, such as a sample.
 *
 * @param start position of the quote that begins it
 * @returns below 0, if the string has more than 5,000 further quotes: what negated is a `start` to
 *   go on from
 */
export function findStringEnd(text: string, start: number): number {
  let quotes = 0
  for (let at = text.indexOf('"', start + 1); at !== -1; at = text.indexOf('"', at + 1)) {
    let escapes = 0
    while (text.charCodeAt(at - 1 - escapes) === BACKSLASH) escapes++
    if (escapes % 2 === 0) return at
    if (++quotes === QUOTES_A_STEP) return -at
  }
  return text.length
}

/** Finds what `findStringEnd` finds, in steps. */
export function* stringEndSteps(text: string, start: number): Steps<number> {
  let end = findStringEnd(text, start)
  while (end < 0) {
    yield
    end = findStringEnd(text, -end)
  }
  return end
}

/**
 * Reads a string in steps: a million escapes take 30 ms.
 *
 * @param start position of the quote that begins it
 * @returns the string and the position of the quote that ends it; null if it is not valid
 */
export function* longStringSteps(
  text: string,
  start: number,
): Steps<{ readonly value: string; readonly end: number } | null> {
  const end = yield* stringEndSteps(text, start)
  if (end === text.length) return null
  const parts: string[] = []
  for (let at = start + 1; at < end; ) {
    const partEnd = Math.min(end, findEscapeEnd(text, at, at + CHARS_A_STEP))
    const part = decodeString(`"${text.slice(at, partEnd)}"`)
    if (part === null) return null
    parts.push(part)
    at = partEnd
    yield
  }
  return { value: parts.join(''), end }
}

/**
 * Decodes a string with its quotes. It has no property names, so `JSON.parse` reads it correctly.
 *
 * @returns null if it is not valid
 */
export function decodeString(quoted: string): string | null {
  try {
    return JSON.parse(quoted)
  } catch {
    return null
  }
}

/**
 * The position, or one behind it, at which no escape of a string is unfinished.
 *
 * @param start in the string, where an escape may begin
 */
function findEscapeEnd(text: string, start: number, position: number): number {
  let last = position - 1
  while (last > position - ESCAPE_CHARS_MAX && text.charCodeAt(last) !== BACKSLASH) last--
  let first = last
  while (first >= start && text.charCodeAt(first) === BACKSLASH) first--
  // Two backslashes are one character each.
  if ((last - first) % 2 === 0) return position
  return Math.max(position, last + (text[last + 1] === 'u' ? ESCAPE_CHARS_MAX : 2))
}

/**
 * The position of the next character that is no blank. A pattern takes ten times as long: 0.1 s for
 * a body of 16 MiB that is blank.
 */
export function skipBlanks(text: string, start: number): number {
  for (let at = start; ; at++) {
    const code = text.charCodeAt(at)
    if (code !== SPACE && code !== NEWLINE && code !== RETURN && code !== TAB) return at
  }
}

/** Tells whether a text has an escape, or a control character, which JSON does not have. */
export function isSpecial(text: string): boolean {
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === BACKSLASH || code < 0x20) return true
  }
  return false
}
