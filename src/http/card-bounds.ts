import { BINS_MAX } from '../engine/index.ts'
import { AppError } from '../errors.ts'
import type { Steps } from '../platform/steps.ts'

const QUOTE = '"'
const BACKSLASH = 0x5c
const COLON = /[ \t\n\r]*:/y
/** Names down to the bins of a card in a body; null: an item of an array. */
const BINS_PATH = ['spec', 'features', null, 'bins', null]
/** Texts and brackets that are looked at; those of the largest legal card are about 300,000. */
const TOKENS_MAX = 500_000
const TOKENS_A_STEP = 2_000

/**
 * Refuses a body whose card has more bins than a card may have, before it is parsed: to parse and
 * check 300,000 bins takes 0.6 s of processor time and 130 MB. It reads no further than the first
 * bin too many. Any other body costs one search for each of its first objects.
 *
 * @throws AppError `invalid_spec`
 */
export function* refuseOversizedCard(text: string): Steps<void> {
  if (!hasManyObjects(text) || (yield* countBins(text)) <= BINS_MAX) return
  const message = `must have at most ${BINS_MAX} bins together, but have more`
  throw new AppError('invalid_spec', 'the scorecard specification has 1 fault', {
    details: [{ path: 'features', message }],
  })
}

/** Each bin is one; so is each row of a sample beside the card. */
function hasManyObjects(text: string): boolean {
  let count = 0
  for (let at = text.indexOf('{'); at !== -1; at = text.indexOf('{', at + 1)) {
    if (++count > BINS_MAX) return true
  }
  return false
}

/**
 * Counts bins, and stops at the first one too many, or at a text that costs more than it can save:
 * 14 million brackets would take a second. It takes any text; JSON is checked later.
 */
function* countBins(text: string): Steps<number> {
  const brackets = /["{}[\]]/g
  /** The name in each open object that was read last; null in an array. */
  const names: (string | null)[] = []
  let bins = 0
  for (let read = 0; read < TOKENS_MAX; read++) {
    if (read % TOKENS_A_STEP === 0) yield
    const token = brackets.exec(text)
    if (token === null) break
    const { index } = token
    switch (token[0]) {
      case QUOTE: {
        const end = endOfString(text, index)
        COLON.lastIndex = end
        if (COLON.test(text) && names.at(-1) !== null) {
          names[names.length - 1] = nameIn(text.slice(index, end))
        }
        brackets.lastIndex = end
        break
      }
      case '{':
        if (isBin(names) && ++bins > BINS_MAX) return bins
        names.push('')
        break
      case '[':
        names.push(null)
        break
      default:
        names.pop()
    }
  }
  return bins
}

function isBin(names: readonly (string | null)[]): boolean {
  return names.length === BINS_PATH.length && BINS_PATH.every((name, at) => names[at] === name)
}

function endOfString(text: string, start: number): number {
  for (let end = text.indexOf(QUOTE, start + 1); end !== -1; end = text.indexOf(QUOTE, end + 1)) {
    let backslashes = 0
    while (text.charCodeAt(end - 1 - backslashes) === BACKSLASH) backslashes++
    if (backslashes % 2 === 0) return end + 1
  }
  return text.length
}

/** A name may be written with escapes. */
function nameIn(quoted: string): string {
  if (!quoted.includes('\\')) return quoted.slice(1, -1)
  try {
    return String(JSON.parse(quoted))
  } catch {
    return ''
  }
}
