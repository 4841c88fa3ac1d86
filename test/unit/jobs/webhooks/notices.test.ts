import { expect, onTestFinished, test } from 'vitest'
import type { NewEvent } from '../../../../src/identity/outbox.ts'
import { Notices } from '../../../../src/jobs/webhooks/notices.ts'
import { ManualClock } from '../../../support/start/manual-clock.ts'

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
    readCheckpoint: async () => ({ size: 0, root: Buffer.alloc(0), note: '' }),
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

// A team with thousands of keys must not take the notices of all others.
test('a team with many expiring keys does not keep others waiting', async () => {
  const left = new Map(Object.entries({ team_1: 50_000, team_2: 3, team_3: 150 }))
  const sentTo: string[] = []
  const notices = new Notices({
    store: {
      teamsWanting: async (type) => (type === 'key.expiring' ? [...left.keys()] : []),
      expiringKeys: async (teamId, _period, limit) => {
        const count = Math.min(limit, left.get(teamId) ?? 0)
        left.set(teamId, (left.get(teamId) ?? 0) - count)
        const expiresAt = new Date(0)
        return Array.from({ length: count }, (_, n) => ({ id: `key_${n}`, expiresAt }))
      },
      add: async ({ teamId }) => void sentTo.push(teamId),
    },
    clock: new ManualClock(),
    readCheckpoint: () => Promise.reject(new Error('not asked')),
    awayMs: () => 0,
    spoolRefusal: () => null,
    instance: 'replica/1',
    onFailed: (error) => expect.fail(String(error)),
  })
  onTestFinished(() => notices.close())
  await notices.daily()
  expect(sentTo.indexOf('team_2')).toBe(100)
  expect(sentTo.lastIndexOf('team_3')).toBe(352)
  // The rest of the first team waits for the next round.
  expect(sentTo.filter((teamId) => teamId === 'team_1')).toHaveLength(2_000)
  expect(Object.fromEntries(left)).toEqual({ team_1: 48_000, team_2: 0, team_3: 0 })
})
