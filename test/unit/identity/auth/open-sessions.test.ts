import { expect, test } from 'vitest'
import { OpenSessions } from '../../../../src/identity/auth/service.ts'
import { ManualClock } from '../../../support/start/manual-clock.ts'

const TTL_MS = 60_000

function opened() {
  const clock = new ManualClock()
  const open = new Set(['fam_a', 'fam_b'])
  let asked = 0
  const store = {
    isOpen: async (id: string) => {
      asked++
      return open.has(id)
    },
  }
  const sessions = new OpenSessions({ store, clock, userTtlMs: TTL_MS })
  return { clock, open, sessions, asked: () => asked }
}

// Without Redis no replica hears of what another one ended.
test('an end that nobody announces is known within the time to live', async () => {
  const { clock, open, sessions } = opened()
  expect(await sessions.isOpen('fam_a')).toBe(true)
  open.delete('fam_a')
  clock.advance(TTL_MS)
  expect(await sessions.isOpen('fam_a')).toBe(false)
})

test('an announced end is known at once', async () => {
  const { open, sessions } = opened()
  expect(await sessions.isOpen('fam_a')).toBe(true)
  open.delete('fam_a')
  sessions.invalidateAll()
  expect(await sessions.isOpen('fam_a')).toBe(false)
  expect(await sessions.isOpen('fam_b')).toBe(true)
})

test('a known session is answered from memory, without a turn of the event loop', async () => {
  const { sessions, asked } = opened()
  await sessions.isOpen('fam_a')
  for (let n = 0; n < 100; n++) expect(sessions.isOpen('fam_a')).toBe(true)
  expect(asked()).toBe(1)
})
