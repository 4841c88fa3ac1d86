import { expect, onTestFinished, test } from 'vitest'
import type { NewEvent } from '../../../src/outbox/event.ts'
import { Notices } from '../../../src/webhooks/notices.ts'
import { ManualClock } from '../../support/start/manual-clock.ts'

function watched() {
  const events: NewEvent[] = []
  const state = { awayMs: 0, refusal: null as string | null }
  const notices = new Notices({
    store: {
      teamsWanting: async () => ['team_1', 'team_2'],
      expiringKeys: async () => [],
      add: async (event) => void events.push(event),
    },
    clock: new ManualClock(),
    checkpointOf: async () => ({ size: 0, root: Buffer.alloc(0), note: '' }),
    awayMs: () => state.awayMs,
    spoolRefusal: () => state.refusal,
    instance: 'replica/1',
    onFailed: (error) => expect.fail(String(error)),
  })
  onTestFinished(() => notices.close())
  return { notices, events, state }
}

test('a database that was away is told when it is back, once to each team', async () => {
  const { notices, events, state } = watched()
  for (const awayMs of [5_000, 42_000, 0, 0]) {
    state.awayMs = awayMs
    await notices.watch()
  }
  expect(events.map(({ teamId, type, data }) => [teamId, type, data])).toEqual(
    ['team_1', 'team_2'].map((teamId) => [
      teamId,
      'service.database_back',
      { instance: 'replica/1', away_seconds: 42 },
    ]),
  )
})

test('a short absence is not told', async () => {
  const { notices, events, state } = watched()
  for (const awayMs of [5_000, 0]) {
    state.awayMs = awayMs
    await notices.watch()
  }
  expect(events).toEqual([])
})

test('a spool that takes no scores is told, and again when it takes them', async () => {
  const { notices, events, state } = watched()
  for (const refusal of [null, 'full', 'full', null, null]) {
    state.refusal = refusal
    await notices.watch()
  }
  const own = events.filter(({ teamId }) => teamId === 'team_1')
  expect(own.map(({ data }) => data)).toEqual([
    { instance: 'replica/1', takes_scores: false, reason: 'full' },
    { instance: 'replica/1', takes_scores: true, reason: null },
  ])
})
