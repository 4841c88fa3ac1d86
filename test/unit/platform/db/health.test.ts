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
  expect(database.calls).toMatchObject({ ok: 1, refused: 0, away: 0, overdue: 0 })
  expect(database.durations.sum).toBe(0.25)
})

const code = (sqlstate: string) => Object.assign(new Error('failed'), { code: sqlstate })

test('a call that a server refuses is refused since the first time, until it succeeds', () => {
  const { clock, health: database } = health()
  database.begin('keys')('away', code('42501'))
  expect([...database.refusedMs()]).toEqual([['42501', 0]])
  clock.advance(7_000)
  database.begin('ping')('ok')
  database.begin('keys')('away', code('42501'))
  database.begin('ping')('ok')
  expect(database.awayMs).toBe(0)
  expect([...database.refusedMs()]).toEqual([['42501', 7_000]])
  expect(database.trouble).toBe('refuses some calls for 7 s (42501), serving from memory')
  database.begin('keys')('ok')
  expect(database.trouble).toBeNull()
})

// A damaged row that is read once must not raise an alarm for ever.
test('a refusal that does not come again is over after a minute', () => {
  const { clock, health: database } = health()
  database.begin('keys')('away', code('XX001'))
  database.begin('ping')('ok')
  clock.advance(60_001)
  expect(database.trouble).toBeNull()
})

test('any answer says that the login is refused no longer', () => {
  const { clock, health: database } = health()
  database.begin('keys')('away', code('28P01'))
  clock.advance(80_000)
  database.begin('keys')('away', code('28P01'))
  expect(database.trouble).toBe('away 80 s (28P01), serving from memory')
  database.begin('ping')('ok')
  expect(database.trouble).toBeNull()
})

test('a statement that takes too long says nothing of the database', () => {
  const { health: database } = health()
  database.begin('outcomes')('busy', code('57014'))
  expect(database.trouble).toBeNull()
  expect(database.calls.busy).toBe(1)
})

test('foreign rows are counted, and the log says so', () => {
  const lines: object[] = []
  const log = { away: () => {}, back: () => {}, wrong: (facts: object) => lines.push(facts) }
  const database = new DatabaseHealth(new ManualClock(), log)
  database.begin()('wrong')
  database.begin()('wrong')
  expect(database.calls.wrong).toBe(2)
  expect(lines).toEqual([{ count: 1 }])
})

test('the log says once in ten seconds that the database is away, and once that it is back', () => {
  const clock = new ManualClock()
  const lines: object[] = []
  const log = {
    away: (facts: object) => lines.push(facts),
    back: (facts: object) => lines.push(facts),
    wrong: (facts: object) => lines.push(facts),
  }
  const database = new DatabaseHealth(clock, log)
  for (let call = 0; call < 40; call++) {
    database.begin()('away', code('28P01'))
    clock.advance(500)
  }
  database.begin()('ok')
  database.begin()('ok')
  expect(lines).toEqual([
    { code: '28P01', awaySeconds: 0, count: 1 },
    { code: '28P01', awaySeconds: 10, count: 20 },
    { code: '28P01', awaySeconds: 20 },
  ])
})
