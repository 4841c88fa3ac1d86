import { DECIMAL, nextUp } from '../../../engine/index.ts'
import { isUnderflow } from '../../../platform/json.ts'

/** A cut between two neighbouring doubles: just before `at`, or just after it. */
export interface Cut {
  readonly at: number
  readonly isAfter: boolean
}

/** The doubles between two cuts. Bounds stay as the card writes them, so that none is rounded. */
export interface Range {
  readonly low: Cut
  readonly high: Cut
}

export const BELOW_ALL: Cut = { at: Number.NEGATIVE_INFINITY, isAfter: false }
export const ABOVE_ALL: Cut = { at: Number.POSITIVE_INFINITY, isAfter: true }

/** Negative when `a` lies before `b`, 0 when they are the same cut. */
export function compareCuts(a: Cut, b: Cut): number {
  if (a.at !== b.at) return a.at < b.at ? -1 : 1
  return Number(a.isAfter) - Number(b.isAfter)
}

/** The range of one number. */
export function only(value: number): Range {
  return { low: { at: value, isAfter: false }, high: { at: value, isAfter: true } }
}

export function holds({ low, high }: Range, value: number): boolean {
  return (
    (low.isAfter ? low.at < value : low.at <= value) &&
    (high.isAfter ? value <= high.at : value < high.at)
  )
}

/** Tells whether no double lies between the cuts; `(0.1, nextUp(0.1))` is empty too. */
export function isEmpty({ low, high }: Range): boolean {
  if (compareCuts(low, high) >= 0) return true
  return low.isAfter && !high.isAfter && Number.isFinite(low.at) && nextUp(low.at) >= high.at
}

/**
 * The parts of a range that the ranges in `taken` do not cover.
 *
 * @param taken in ascending order, none overlapping another
 */
export function without(range: Range, taken: readonly Range[]): Range[] {
  const left: Range[] = []
  let { low } = range
  for (const hole of taken) {
    if (compareCuts(hole.high, low) <= 0) continue
    if (compareCuts(hole.low, range.high) >= 0) break
    const part = { low, high: hole.low }
    if (!isEmpty(part)) left.push(part)
    low = hole.high
  }
  const last = { low, high: range.high }
  if (!isEmpty(last)) left.push(last)
  return left
}

/** The range as a specification writes it: `[26, 35)`. */
export function rangeText({ low, high }: Range): string {
  const isOpenLow = low.isAfter || low.at === Number.NEGATIVE_INFINITY
  const isOpenHigh = !high.isAfter || high.at === Number.POSITIVE_INFINITY
  return `${isOpenLow ? '(' : '['}${low.at}, ${high.at}${isOpenHigh ? ')' : ']'}`
}

/** Longer than any double needs; bounds the input of the expressions. */
const NUMBER_CHARS_MAX = 400
const INFINITE = /^([+-]?)(?:inf|infinity)$/i

/**
 * The nearest double of a decimal number.
 *
 * @returns null when the text is not a number, or a double can't hold its value: `1e400`, and
 *   `1e-400`, which would become 0
 */
export function readDecimal(text: string): number | null {
  const trimmed = text.trim()
  if (trimmed.length > NUMBER_CHARS_MAX || !DECIMAL.test(trimmed)) return null
  const value = Number(trimmed)
  return Number.isFinite(value) && !isUnderflow(trimmed, value) ? value : null
}

function readBound(text: string): number | null {
  const infinite = INFINITE.exec(text)
  if (infinite === null) return readDecimal(text)
  return infinite[1] === '-' ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY
}

/** Wider than the engine's range: tools also write `~` between the bounds, and `inf`. */
const INTERVAL = /^\s*([[(])\s*([^\s,~]{1,400})\s*[,~]\s*([^\s,~]{1,400})\s*([\])])\s*$/

/**
 * Reads an interval as tools write it: `[26.0,35.0)`, `(475,515]`, `[570, Inf)`, `[0.5 ~ inf)`.
 *
 * @returns null for a text that is not an interval of numbers; it may be the name of a category
 */
export function readInterval(text: string): Range | null {
  const match = INTERVAL.exec(text)
  if (match === null) return null
  const low = readBound(match[2] ?? '')
  const high = readBound(match[3] ?? '')
  if (low === null || high === null) return null
  return between(low, high, { isLowClosed: match[1] === '[', isHighClosed: match[4] === ']' })
}

/** A range between two bounds. Infinite bounds are open, whatever their closure says. */
export function between(
  low: number,
  high: number,
  { isLowClosed, isHighClosed }: { isLowClosed: boolean; isHighClosed: boolean },
): Range {
  return {
    low: low === Number.NEGATIVE_INFINITY ? BELOW_ALL : { at: low, isAfter: !isLowClosed },
    high: high === Number.POSITIVE_INFINITY ? ABOVE_ALL : { at: high, isAfter: isHighClosed },
  }
}
