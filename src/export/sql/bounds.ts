import { nextDown, nextUp } from '../engine/index.ts'

/** A comparison with a finite double. */
export interface Comparison<Operator> {
  readonly operator: Operator
  readonly bound: number
}

/**
 * The comparison that lets through what is at or above `low`. A closed bound and the open one at the
 * double below say the same: the one with the shorter number is what the author of the card wrote.
 *
 * @returns null when every finite number passes
 */
export function atOrAbove(low: number): Comparison<'>' | '>='> | null {
  if (low <= -Number.MAX_VALUE) return null
  const below = nextDown(low)
  return isShorter(below, low) ? { operator: '>', bound: below } : { operator: '>=', bound: low }
}

/**
 * The comparison that lets through what is at or below `high`, like `atOrAbove`.
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
 * The first finite double for which a test holds that holds for all above it too; Infinity when it
 * holds for none.
 */
export function firstDouble(holds: (value: number) => boolean): number {
  let below = placeOf(-Number.MAX_VALUE) - 1n
  let at = placeOf(Number.MAX_VALUE)
  if (!holds(Number.MAX_VALUE)) return Number.POSITIVE_INFINITY
  while (at - below > 1n) {
    const middle = (at + below) >> 1n
    if (holds(doubleAt(middle))) at = middle
    else below = middle
  }
  return doubleAt(at)
}

/** Position of a double among all of them in their order; 0 and -0 are both at 0. */
function placeOf(value: number): bigint {
  view.setFloat64(0, Math.abs(value))
  const place = view.getBigInt64(0)
  return value < 0 ? -place : place
}

function doubleAt(place: bigint): number {
  view.setBigInt64(0, place < 0n ? -place : place)
  const magnitude = view.getFloat64(0)
  return place < 0n ? -magnitude : magnitude
}
