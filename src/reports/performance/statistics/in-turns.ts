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
