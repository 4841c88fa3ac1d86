import { nextUp } from '../engine/index.ts'

/** A place between two neighbouring doubles: just before `at`, or just after it. */
export interface Cut {
  readonly at: number
  readonly isAfter: boolean
}

/** The doubles between two cuts. Bounds stay as a card has them, so that nothing is rounded. */
export interface Range {
  readonly low: Cut
  readonly high: Cut
}

export const BELOW_ALL: Cut = { at: Number.NEGATIVE_INFINITY, isAfter: false }
export const ABOVE_ALL: Cut = { at: Number.POSITIVE_INFINITY, isAfter: true }

/** Negative when `a` lies before `b`, 0 for the same place. */
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

/** Whether no double lies between the cuts; `(0.1, nextUp(0.1))` holds none either. */
export function isEmpty({ low, high }: Range): boolean {
  if (compareCuts(low, high) >= 0) return true
  return low.isAfter && !high.isAfter && Number.isFinite(low.at) && nextUp(low.at) >= high.at
}

/**
 * What is left of a range without others.
 *
 * @param taken in ascending order, none overlapping another
 */
export function without(range: Range, taken: readonly Range[]): Range[] {
  const left: Range[] = []
  let { low } = range
  for (const hole of taken) {
    if (compareCuts(hole.high, low) <= 0) continue
    if (compareCuts(hole.low, range.high) >= 0) break
    const piece = { low, high: hole.low }
    if (!isEmpty(piece)) left.push(piece)
    low = hole.high
  }
  const last = { low, high: range.high }
  if (!isEmpty(last)) left.push(last)
  return left
}

/** As a specification writes it: `[26, 35)`. */
export function rangeText({ low, high }: Range): string {
  const isOpenLow = low.isAfter || low.at === Number.NEGATIVE_INFINITY
  const isOpenHigh = !high.isAfter || high.at === Number.POSITIVE_INFINITY
  return `${isOpenLow ? '(' : '['}${low.at}, ${high.at}${isOpenHigh ? ')' : ']'}`
}

const DECIMAL = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/
const INFINITE = /^([+-]?)(?:inf|infinity)$/i

/** The nearest double of a decimal number, infinite ones excluded; null when the text is none. */
export function readDecimal(text: string): number | null {
  const trimmed = text.trim()
  if (trimmed.length > 400 || !DECIMAL.test(trimmed)) return null
  const value = Number(trimmed)
  return Number.isFinite(value) ? value : null
}

function readBound(text: string): number | null {
  const infinite = INFINITE.exec(text)
  if (infinite === null) return readDecimal(text)
  return infinite[1] === '-' ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY
}

const INTERVAL = /^\s*([[(])\s*([^\s,~]{1,400})\s*[,~]\s*([^\s,~]{1,400})\s*([\])])\s*$/

/**
 * Reads an interval as tools write it: `[26.0,35.0)`, `(475,515]`, `[570, Inf)`, `[0.5 ~ inf)`.
 *
 * @returns null for a text that is no interval of numbers, which may be the name of a category
 */
export function readInterval(text: string): Range | null {
  const match = INTERVAL.exec(text)
  if (match === null) return null
  const low = readBound(match[2] ?? '')
  const high = readBound(match[3] ?? '')
  if (low === null || high === null) return null
  return between(low, high, { isLowClosed: match[1] === '[', isHighClosed: match[4] === ']' })
}

/** A range by its bounds; infinite bounds are open, whatever is said of them. */
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
