import { expect, test } from 'vitest'
import { BodyBudget } from '../../../../src/http/overload/body-budget.ts'
import { LoadShedder } from '../../../../src/http/overload/load-shedder.ts'
import { EventLoopWatch, threadClock } from '../../../../src/platform/event-loop.ts'

test('bodies are held up to the bound, and their memory is free again after them', () => {
  const budget = new BodyBudget(100)
  const first = budget.hold(60, 'team_1')
  expect(budget.hold(41, 'team_2')).toBeNull()
  expect(budget.hold(40, 'team_2')).not.toBeNull()
  expect(budget.heldBytes).toBe(100)
  first?.release()
  first?.release()
  expect(budget.heldBytes).toBe(40)
})

// BODY_LIMIT_BYTES may be set above the budget: such a body must not be refused for ever.
test('a body above the bound is read when it is the only one', () => {
  const budget = new BodyBudget(100)
  const small = budget.hold(1, 'team_1')
  expect(budget.hold(1_000, 'team_2')).toBeNull()
  small?.release()
  expect(budget.hold(1_000, 'team_2')).not.toBeNull()
  expect(budget.hold(1, 'team_1')).toBeNull()
})

// Whoever declares no length could otherwise bring any.
test('a body without a declared length is counted as it comes', () => {
  const budget = new BodyBudget(100)
  const [one, other] = [budget.hold(0, 'team_1'), budget.hold(0, 'team_2')]
  expect(one?.add(70)).toBe(true)
  expect(other?.add(31)).toBe(false)
  expect(other?.add(30)).toBe(true)
  expect(budget.heldBytes).toBe(100)
})

// An answer that is written already is counted beyond the bound: then no batch is taken on.
test('batches are refused while answers wait beyond the bound to be read', () => {
  const shedder = new LoadShedder(new EventLoopWatch(threadClock))
  expect(shedder.refusesAnswer('team_1')).toBe(false)
  const unread = shedder.answers.take(300 * 1024 * 1024, null)
  expect(shedder.refusesAnswer('team_1')).toBe(true)
  unread.release()
  expect(shedder.refusesAnswer('team_1')).toBe(false)
  expect(shedder.shed.answer_memory).toBe(1)
})

// With four bodies that never end, or answers that it never reads, a team stopped all others.
test('a team has at most half, with a largest body always, and the others have the rest', () => {
  const budget = new BodyBudget(100)
  const first = budget.hold(30, 'team_1')
  expect(budget.hold(21, 'team_1')).toBeNull()
  expect(budget.hold(20, 'team_1')).not.toBeNull()
  expect(budget.isFullFor('team_1')).toBe(true)
  expect(budget.isFullFor('team_2')).toBe(false)
  const other = budget.hold(50, 'team_2')
  expect(other).not.toBeNull()
  expect(budget.hold(1, 'team_3')).toBeNull()
  other?.release()
  first?.release()
  expect(budget.hold(80, 'team_3')).not.toBeNull()
  expect(budget.heldBytes).toBe(100)
})

test('answers that a team leaves unread refuse the answers of that team alone', () => {
  const shedder = new LoadShedder(new EventLoopWatch(threadClock))
  shedder.answers.take(128 * 1024 * 1024, 'team_1')
  expect(shedder.refusesAnswer('team_1')).toBe(true)
  expect(shedder.isBusyFor('team_2')).toBe(false)
  expect(shedder.refusesAnswer('team_2')).toBe(false)
  expect(shedder.refusesAnswer(null)).toBe(false)
})

// The document of the API is half a megabyte, and anybody may ask for it.
test('answers that nobody known leaves unread take a quarter, and refuse no team', () => {
  const shedder = new LoadShedder(new EventLoopWatch(threadClock))
  shedder.answers.take(64 * 1024 * 1024, null)
  expect(shedder.refusesAnswer(null)).toBe(true)
  shedder.answers.take(127 * 1024 * 1024, 'team_1')
  expect(shedder.refusesAnswer('team_1')).toBe(false)
  expect(shedder.refusesAnswer('team_2')).toBe(false)
})
