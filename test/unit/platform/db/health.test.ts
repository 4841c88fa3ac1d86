import { expect, test } from 'vitest'
import { DatabaseHealth } from '../../../../src/platform/db/health.ts'
import { ManualClock } from '../../../support/start/manual-clock.ts'

function health() {
  const clock = new ManualClock()
  return { clock, health: new DatabaseHealth(clock) }
}

test('the database is away from its last answer on, until it answers again', () => {
  const { clock, health: database } = health()
  clock.advance(1_000)
  database.begin()('ok')
  clock.advance(4_000)
  expect(database.awayMs).toBe(0)
  database.begin()('away')
  expect(database.awayMs).toBe(4_000)
  clock.advance(10_000)
  database.begin()('overdue')
  expect(database.awayMs).toBe(14_000)
  database.begin()('ok')
  expect(database.awayMs).toBe(0)
})

// A name that is taken already is refused by a database that is well.
test('a refusal is an answer', () => {
  const { clock, health: database } = health()
  clock.advance(1_000)
  database.begin()('away')
  database.begin()('refused')
  expect(database.awayMs).toBe(0)
})

test('calls are in flight from their begin to their end, and counted by outcome', () => {
  const { clock, health: database } = health()
  const ends = [database.begin(), database.begin()]
  expect(database.callsInFlight).toBe(2)
  clock.advance(250)
  ends[0]?.('ok')
  expect(database.callsInFlight).toBe(1)
  expect(database.calls).toEqual({ ok: 1, refused: 0, away: 0, overdue: 0 })
  expect(database.durations.sum).toBe(0.25)
})
