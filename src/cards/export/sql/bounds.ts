import { nextDown, nextUp } from '../../../engine/index.ts'

/** A comparison with a finite double. */
interface Comparison<Operator> {
  readonly operator: Operator
  readonly bound: number
}

/**
 * The comparison that numbers at or above `low` pass. A closed bound and an open bound at the
 * double below are equivalent; the one with the shorter number is what the author of the card
 * wrote.
 *
 * @returns null when every finite number passes
 */
export function atOrAbove(low: number): Comparison<'>' | '>='> | null {
  if (low <= -Number.MAX_VALUE) return null
  const below = nextDown(low)
  return isShorter(below, low) ? { operator: '>', bound: below } : { operator: '>=', bound: low }
}

/**
 * The comparison that numbers at or below `high` pass, like `atOrAbove`.
 *
 * @returns null when every finite number passes
 */
export function atOrBelow(high: number): Comparison<'<' | '<='> | null {
  if (high >= Number.MAX_VALUE) return null
  const above = nextUp(high)
  return isShorter(above, high) ? { operator: '<', bound: above } : { operator: '<=', bound: high }
}

function isShorter(one: number, other: number): boolean {
  return Number.isFinite(one) && `${one}`.length < `${other}`.length
}

const view = new DataView(new ArrayBuffer(8))

/**
 * The first finite double for which `holds` is true; Infinity when there is none. If `holds` is
 * true for a double, it must be true for all doubles above it.
 */
export function firstDouble(holds: (value: number) => boolean): number {
  let below = computeRank(-Number.MAX_VALUE) - 1n
  let at = computeRank(Number.MAX_VALUE)
  if (!holds(Number.MAX_VALUE)) return Number.POSITIVE_INFINITY
  while (at - below > 1n) {
    const middle = (at + below) >> 1n
    if (holds(doubleAt(middle))) at = middle
    else below = middle
  }
  return doubleAt(at)
}

/** Position of a double among all doubles in ascending order; 0 and -0 are both at 0. */
function computeRank(value: number): bigint {
  view.setFloat64(0, Math.abs(value))
  const rank = view.getBigInt64(0)
  return value < 0 ? -rank : rank
}

function doubleAt(rank: bigint): number {
  view.setBigInt64(0, rank < 0n ? -rank : rank)
  const magnitude = view.getFloat64(0)
  return rank < 0n ? -magnitude : magnitude
}
