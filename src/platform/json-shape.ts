import { CHARS_A_STEP, findStringEnd, stringEndSteps } from './json-strings.ts'
import { finishSteps, type Steps } from './steps.ts'

/** A scorecard may be nested 100 levels deep, and a body adds a few. */
export const NESTING_MAX = 128
/** Most names in one object; a feature may have as many categories. */
const NAMES_MAX = 100_000
/**
 * Most names in an object of a single applicant: above the features of eleven models and the 10,000
 * names beside them. As many take 25 ms on the thread that answers, 80,000 take 90 ms. To count the
 * names of a batch would double the time of parsing.
 */
export const APPLICANT_NAMES_MAX = 25_000
/** Characters that a name takes with its value and comma: `"":1,`. */
const NAME_CHARS_MIN = 5
/** Most different names in a text. Each costs V8 about 0.8 us, a repeated one a tenth of that. */
const DIFFERENT_NAMES_MAX = 200_000
/** Bits by which seen names are known; at the bound 2 in 100 new ones are taken for seen. */
const NAME_BITS = 2 ** 22
/** A batch of 1,000 records with 1,000 features each has a million. */
const VALUES_MAX = 1_500_000
/**
 * Most objects and arrays: the densest bin of a scorecard has 24 characters. Each costs V8 0.4 us,
 * even if it is empty.
 */
const computeOpeningsMax = (text: string) => 10_000 + text.length / 20
/**
 * A shorter text has no room for so many values that they would keep the process from answering
 * others.
 */
const UNCOUNTED_CHARS_MAX = 1024 * 1024

/** Longer names are in counted texts alone. To read one takes some 10 ms. */
const NAME_CHARS_MAX = UNCOUNTED_CHARS_MAX

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
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
 * @param namesMax most names in one object
 * @returns a message for the sender, such as `is nested deeper than 128 levels`; null for a text in
 *   bounds
 */
export function findExcess(text: string, namesMax = NAMES_MAX): string | null {
  return mayExceed(text, namesMax) ? finishSteps(count(text, namesMax)) : null
}

/** Finds what `findExcess` finds, in steps. */
export function* excessSteps(text: string): Steps<string | null> {
  return mayExceed(text, NAMES_MAX) ? yield* count(text, NAMES_MAX) : null
}

/**
 * Tells whether the text is long, has too many colons for one object, too many brackets, or too many
 * that could open a level. A bracket that follows a closing one and a comma, as between records,
 * opens no further level: either both are in a string, or they are siblings.
 */
function mayExceed(text: string, namesMax: number): boolean {
  if (text.length > UNCOUNTED_CHARS_MAX) return true
  if (text.length > namesMax * NAME_CHARS_MIN && countColons(text) > namesMax) return true
  const openingsMax = computeOpeningsMax(text)
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

/** Counts the colons of a text, those within its strings included. */
export function countColons(text: string): number {
  let count = 0
  for (let at = text.indexOf(':'); at !== -1; at = text.indexOf(':', at + 1)) count++
  return count
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

/** Goes through all of the text, in 2 to 5 nanoseconds a character. */
function* count(text: string, namesMax: number): Steps<string | null> {
  const names = new Int32Array(NESTING_MAX + 1)
  const openingsMax = computeOpeningsMax(text)
  let depth = 0
  let values = 0
  let openings = 0
  const seen = new SeenNames()
  let nameStart = 0
  let nameEnd = 0
  let pauseAt = CHARS_A_STEP
  for (let at = 0; at < text.length; at++) {
    if (at >= pauseAt) {
      yield
      pauseAt = at + CHARS_A_STEP
    }
    switch (text.charCodeAt(at)) {
      case QUOTE:
        nameStart = at + 1
        at = findStringEnd(text, at)
        if (at < 0) at = yield* stringEndSteps(text, -at)
        nameEnd = at
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
        if (nameEnd - nameStart > NAME_CHARS_MAX)
          return 'has a name of more than a million characters'
        if (count > namesMax) return `has an object of more than ${namesMax} names`
        if (seen.add(text, nameStart, nameEnd) > DIFFERENT_NAMES_MAX) {
          return `has more than ${DIFFERENT_NAMES_MAX} different names: send less at a time`
        }
        names[depth] = count
        break
      }
      case COMMA:
        values++
        if (values === VALUES_MAX) return `has more than ${VALUES_MAX} values: send less at a time`
        break
    }
  }
  return null
}

/** Counts different names, by a bit for the hash (FNV-1a) of each. It never counts too many. */
class SeenNames {
  private readonly bits = new Uint32Array(NAME_BITS / 32)
  private count = 0

  /** @returns how many different names there are with this one, from `start` to before `end` */
  add(text: string, start: number, end: number): number {
    let hash = 0x811c9dc5
    for (let at = start; at < end; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
    // The high bits are the better mixed ones.
    const bit = (hash ^ (hash >>> 15)) & (NAME_BITS - 1)
    const word = bit >>> 5
    const mask = 1 << (bit & 31)
    const bits = this.bits[word] ?? 0
    if ((bits & mask) === 0) {
      this.bits[word] = bits | mask
      this.count++
    }
    return this.count
  }
}
