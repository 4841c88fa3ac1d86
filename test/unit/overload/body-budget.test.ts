import { expect, test } from 'vitest'
import { BodyBudget } from '../../../src/overload/body-budget.ts'
import { LoadShedder } from '../../../src/overload/load-shedder.ts'
import { EventLoopWatch, threadClock } from '../../../src/platform/event-loop.ts'

test('bodies are held up to the bound, and their memory is free again after them', () => {
  const budget = new BodyBudget(100)
  const first = budget.hold(60)
  expect(budget.hold(41)).toBeNull()
  expect(budget.hold(40)).not.toBeNull()
  expect(budget.heldBytes).toBe(100)
  first?.release()
  first?.release()
  expect(budget.heldBytes).toBe(40)
})

// BODY_LIMIT_BYTES may be set above the budget: such a body must not be refused for ever.
test('a body above the bound is read when it is the only one', () => {
  const budget = new BodyBudget(100)
  const small = budget.hold(1)
  expect(budget.hold(1_000)).toBeNull()
  small?.release()
  expect(budget.hold(1_000)).not.toBeNull()
  expect(budget.hold(1)).toBeNull()
})

// Whoever declares no length could otherwise bring any.
test('a body without a declared length is counted as it comes', () => {
  const budget = new BodyBudget(100)
  const [one, other] = [budget.hold(0), budget.hold(0)]
  expect(one?.add(70)).toBe(true)
  expect(other?.add(31)).toBe(false)
  expect(other?.add(30)).toBe(true)
  expect(budget.heldBytes).toBe(100)
})

// An answer that is written already is counted beyond the bound: then no batch is taken on.
test('batches are refused while answers wait beyond the bound to be read', () => {
  const shedder = new LoadShedder(new EventLoopWatch(threadClock))
  expect(shedder.refusesBatch()).toBe(false)
  const unread = shedder.answers.take(300 * 1024 * 1024)
  expect(shedder.refusesBatch()).toBe(true)
  unread.release()
  expect(shedder.refusesBatch()).toBe(false)
  expect(shedder.shed.answer_memory).toBe(1)
})
