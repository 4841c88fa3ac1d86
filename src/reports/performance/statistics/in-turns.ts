import { TurnTaker } from '../../../platform/turn-taker.ts'

const ITEMS_A_LOOK = 200

/**
 * Visits items in their order, and gives way to the event loop between them.
 *
 * @param itemsALook items between two looks at the clock
 */
export async function inTurns<T>(
  items: Iterable<T>,
  visit: (item: T, index: number) => void,
  itemsALook = ITEMS_A_LOOK,
): Promise<void> {
  const turns = new TurnTaker()
  let index = 0
  for (const item of items) {
    if (index % itemsALook === 0 && turns.isOver) await turns.giveWay()
    visit(item, index++)
  }
}

/** Numbers that are sorted at once: about half a millisecond. */
const RUN = 4_096

/** Sorts numbers, rising, and yields to the event loop meanwhile. */
export async function sortedInTurns(values: Float64Array): Promise<Float64Array> {
  const turns = new TurnTaker()
  let from = Float64Array.from(values)
  let to = new Float64Array(values.length)
  for (let start = 0; start < from.length; start += RUN) {
    from.subarray(start, start + RUN).sort()
    await turns.giveWay()
  }
  for (let width = RUN; width < from.length; width *= 2) {
    for (let start = 0; start < from.length; start += 2 * width) {
      const middle = Math.min(start + width, from.length)
      const end = Math.min(start + 2 * width, from.length)
      let left = start
      let right = middle
      for (let at = start; at < end; at++) {
        const takesLeft = left < middle && (right >= end || at0(from, left) <= at0(from, right))
        to[at] = takesLeft ? at0(from, left++) : at0(from, right++)
        if (at % RUN === 0) await turns.giveWay()
      }
    }
    ;[from, to] = [to, from]
  }
  return from
}

function at0(values: Float64Array, index: number): number {
  return values[index] ?? 0
}
