import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { runInTurns, takeTurn } from '../../../src/platform/turn-taker.ts'

const COUNT = 20

/** The turns of the event loop in which so many works, each of one step, were done. */
async function turnsOf(step: () => void): Promise<Set<number>> {
  let turn = 0
  let isOver = false
  const counting = (async () => {
    for (; !isOver; turn++) await setImmediate()
  })()
  // biome-ignore lint/correctness/useYield: it is done in one step.
  const work = function* () {
    step()
    return turn
  }
  const turns = await Promise.all(Array.from({ length: COUNT }, () => runInTurns(work())))
  isOver = true
  await counting
  return new Set(turns)
}

// Twenty of the largest cards that were made ready at once took 80 ms of each turn of the loop.
test('of those who work in turns at once, one that takes its time goes on in each turn', async () => {
  const turns = await turnsOf(() => {
    const endsAtMs = performance.now() + 5
    while (performance.now() < endsAtMs);
  })
  expect(turns.size).toBe(COUNT)
})

// A small card waited for 300 others, each for a turn of its own: 2 s.
test('those who need little time share a turn', async () => {
  expect((await turnsOf(() => {})).size).toBeLessThan(COUNT / 2)
})

test('who asks for a turn amid one gets one', async () => {
  const order: number[] = []
  const ask = async (n: number): Promise<void> => {
    await takeTurn()
    order.push(n)
    if (n < 3) await ask(n + 10)
  }
  await Promise.all([ask(1), ask(2), ask(3)])
  await ask(4)
  expect(order).toEqual([1, 2, 3, 11, 12, 4])
})

test('work in steps ends with what it returns, or with what it throws', async () => {
  const count = function* (fault: Error | null) {
    for (let n = 0; n < 3; n++) yield
    if (fault !== null) throw fault
    return 'done'
  }
  const fault = new Error('a fault')
  const all = await Promise.allSettled(
    [count(null), count(fault), count(null)].map((steps) => runInTurns(steps)),
  )
  expect(all.map((one) => (one.status === 'fulfilled' ? one.value : one.reason))).toEqual([
    'done',
    fault,
    'done',
  ])
})
