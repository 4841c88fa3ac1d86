/** A scorecard may be nested 100 levels deep, and a body adds a few. */
export const NESTING_MAX = 128
/** Most names in one object; a feature may have as many categories. */
const NAMES_MAX = 100_000
/**
 * Most names in all objects that have more than `WIDE_NAMES`: their names are likely all different.
 */
const WIDE_NAMES_MAX = 200_000
/** More than a card has features. */
const WIDE_NAMES = 2_000
/** A batch of 1,000 records with 1,000 features each has a million. */
const VALUES_MAX = 1_500_000
/**
 * Most objects and arrays: the densest bin of a scorecard has 24 characters. Each costs V8 0.4 us,
 * even if it is empty.
 */
const openingsMaxOf = (text: string) => 10_000 + text.length / 20
/**
 * A shorter text has no room for so many values that they would keep the process from answering
 * others.
 */
const UNCOUNTED_CHARS_MAX = 1024 * 1024

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const BACKSLASH = 0x5c
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const SPACE = 0x20

/**
 * Finds what would make a JSON text take too long to parse: V8 takes 3.7 s for 8 million nested
 * arrays, and 1.5 s for 1.7 million names. It is called before parsing. A usual text costs two
 * searches for a bracket.
 *
 * @returns a message for the sender, such as `is nested deeper than 128 levels`; null for a text in
 *   bounds
 */
export function excessOf(text: string): string | null {
  const isCounted = text.length > UNCOUNTED_CHARS_MAX
  return isCounted || mayExceed(text) ? excessFound(text) : null
}

/**
 * Whether the text has too many brackets, or too many that could open a level. A bracket that
 * follows a closing one and a comma, as between records, opens no further level: either both are in
 * a string, or they are siblings.
 */
function mayExceed(text: string): boolean {
  const openingsMax = openingsMaxOf(text)
  let levels = 0
  let openings = 0
  for (const bracket of ['{', '[']) {
    for (let at = text.indexOf(bracket); at !== -1; at = text.indexOf(bracket, at + 1)) {
      if (++openings > openingsMax) return true
      if (!followsSibling(text, at) && ++levels > NESTING_MAX) return true
    }
  }
  return false
}

function followsSibling(text: string, bracket: number): boolean {
  const comma = lastBefore(text, bracket)
  if (text.charCodeAt(comma) !== COMMA) return false
  const code = text.charCodeAt(lastBefore(text, comma))
  return code === CLOSE_OBJECT || code === CLOSE_ARRAY
}

/** Position of the last character before one that is not a blank; -1 for none. */
function lastBefore(text: string, end: number): number {
  let at = end - 1
  while (text.charCodeAt(at) <= SPACE) at--
  return at
}

/** Goes through all of the text, about a nanosecond a character. */
function excessFound(text: string): string | null {
  const names = new Int32Array(NESTING_MAX + 1)
  const openingsMax = openingsMaxOf(text)
  let depth = 0
  let values = 0
  let openings = 0
  let wideNames = 0
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case QUOTE:
        at = endOfString(text, at)
        break
      case OPEN_ARRAY:
      case OPEN_OBJECT:
        if (depth === NESTING_MAX) return `is nested deeper than ${NESTING_MAX} levels`
        if (++openings > openingsMax) return 'has too many objects and arrays: send less at a time'
        names[++depth] = 0
        break
      case CLOSE_ARRAY:
      case CLOSE_OBJECT:
        if (depth > 0) depth--
        break
      case COLON: {
        const count = (names[depth] ?? 0) + 1
        if (count > NAMES_MAX) return `has an object of more than ${NAMES_MAX} names`
        if (count > WIDE_NAMES && ++wideNames > WIDE_NAMES_MAX) {
          return `has more than ${WIDE_NAMES_MAX} names in objects of more than ${WIDE_NAMES}`
        }
        names[depth] = count
        break
      }
      case COMMA:
        if (++values === VALUES_MAX)
          return `has more than ${VALUES_MAX} values: send less at a time`
        break
    }
  }
  return null
}

/** Position of the quote that ends a string; the length of the text if there is none. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) return at
    if (code === BACKSLASH) at++
  }
  return text.length
}
