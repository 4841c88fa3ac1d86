const bits = new DataView(new ArrayBuffer(8))

/**
 * Counts the steps from one double to another: 0 for equal ones, 1 for neighbours.
 *
 * @param one finite, as `other`
 * @returns units in the last place; near 0, where doubles are dense, it is large for a small
 *   difference
 */
export function ulpsBetween(one: number, other: number): number {
  const distance = findPosition(one) - findPosition(other)
  return Number(distance < 0n ? -distance : distance)
}

/** The number of doubles from 0 to this one, negative below 0. */
function findPosition(value: number): bigint {
  bits.setFloat64(0, value)
  const read = bits.getBigInt64(0)
  // The sign is a bit of its own, so that negative numbers count upwards.
  return read < 0n ? -BigInt.asUintN(63, read) : read
}
