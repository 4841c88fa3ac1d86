import { quote } from './issues.ts'

/** A range of doubles, closed at both ends: a value `v` is inside when `low <= v && v <= high`. */
export interface Interval {
  readonly low: number
  readonly high: number
}

/** A decimal number, without white space and without infinities. */
export const DECIMAL = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/
const RANGE = /^\s*([([])\s*([^\s,]+)\s*,\s*([^\s,]+)\s*([)\]])\s*$/
/** Longer than any double and its white space need; bounds the input of the expressions. */
const RANGE_CHARS_MAX = 1_000
const INFINITE = /^([+-]?)Infinity$/

/**
 * Reads a bin's range: `(min, max]` or one of the three other closures, with optional white space.
 *
 * Each bound becomes the nearest double. An open end moves to the neighbouring double, so that all
 * four notations become a closed interval of exactly the same doubles. An infinite end stays as it
 * is, because no value is infinite.
 *
 * @returns the closed interval, or a sentence that says what is wrong with the text
 */
export function parseInterval(text: string): Interval | string {
  if (text.length > RANGE_CHARS_MAX) return `is longer than ${RANGE_CHARS_MAX} characters`
  const match = RANGE.exec(text)
  if (match === null) {
    return 'is not a range: write "(min, max]", with -Infinity or Infinity for an open end, or "Missing"'
  }
  const low = readBound(match[2]!)
  const high = readBound(match[3]!)
  if (typeof low === 'string') return low
  if (typeof high === 'string') return high
  if (low === Number.POSITIVE_INFINITY || high === Number.NEGATIVE_INFINITY) {
    return 'is empty: -Infinity belongs on the left, Infinity on the right'
  }
  const closedLow = match[1] === '(' && low !== Number.NEGATIVE_INFINITY ? nextUp(low) : low
  const closedHigh = match[4] === ')' && high !== Number.POSITIVE_INFINITY ? nextDown(high) : high
  if (closedLow > closedHigh) {
    return 'is empty: its lower bound must be below its upper bound, or both be equal and closed'
  }
  return { low: closedLow, high: closedHigh }
}

function readBound(text: string): number | string {
  const infinite = INFINITE.exec(text)
  if (infinite !== null) {
    return infinite[1] === '-' ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY
  }
  if (!DECIMAL.test(text)) return `has the bound ${quote(text)}, which is not a number`
  const bound = Number(text)
  if (!Number.isFinite(bound)) {
    return `has the bound ${quote(text)}, which is beyond the range of a double: write Infinity`
  }
  return bound
}

const view = new DataView(new ArrayBuffer(8))

/** The smallest double above `value`, which is finite; the largest finite one gives Infinity. */
export function nextUp(value: number): number {
  if (value === 0) return Number.MIN_VALUE
  view.setFloat64(0, value)
  view.setBigInt64(0, view.getBigInt64(0) + (value > 0 ? 1n : -1n))
  return view.getFloat64(0)
}

/** The largest double below `value`, which is finite. */
export function nextDown(value: number): number {
  return -nextUp(-value)
}
