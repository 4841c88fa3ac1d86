import { expect, test } from 'vitest'
import { AppError } from '../../../src/errors.ts'
import type { HeldItem } from '../../../src/outcomes/held-items.ts'
import type { OutcomeMatcher } from '../../../src/outcomes/matcher.ts'
import { OutcomeService } from '../../../src/outcomes/service.ts'
import type { OutcomeStore } from '../../../src/outcomes/store.ts'

const NOW_MS = Date.UTC(2026, 0, 31)
const HOUR_MS = 3_600_000

const held = (id: number, teamId: string, tries = 2): HeldItem => ({
  id,
  sender: { teamId, environment: null, by: 'usr_1' },
  item: {
    target: { by: 'request', requestId: 'req_1', recordIndex: null, recordId: null },
    fact: { definition: '', asOfMs: 0, content: {} },
  },
  heldAtMs: NOW_MS,
  tries,
  triedAtMs: NOW_MS - id * HOUR_MS,
})

const ITEMS = [held(1, 'broken'), held(2, 'broken'), held(3, 'sound')]

function serviceWith(fault: Error, items: readonly HeldItem[] = ITEMS) {
  const since: number[] = []
  const written: string[] = []
  const postponed: [readonly number[], object][] = []
  const store: Partial<OutcomeStore> = {
    takeDue: async () => items,
    write: async ({ sender }) => {
      if (sender.teamId === 'broken') throw fault
      written.push(sender.teamId)
      return { statuses: ['accepted'], holdings: [] }
    },
    postpone: async (ids, times) => void postponed.push([ids, times]),
  }
  const match = async (_scope: unknown, targets: readonly unknown[], sinceMs: number) => {
    since.push(sinceMs)
    return targets.map(() => ({ kind: 'matched', applicant: {}, matchedOf: 1 }))
  }
  const matcher = { match } as unknown as OutcomeMatcher
  const clock = { epochMs: () => NOW_MS, monotonicMs: () => 0 }
  const service = new OutcomeService(matcher, store as OutcomeStore, clock, 30)
  return { service, written, postponed, since }
}

test('held outcomes that fail are tried later, and those of other teams are attached', async () => {
  const fault = new Error('the row does not fit')
  const { service, written, postponed } = serviceWith(fault)
  const faults: unknown[] = []
  expect(await service.settle((error) => faults.push(error))).toBe(1)
  expect(faults).toEqual([fault])
  expect(written).toEqual(['sound'])
  expect(postponed).toEqual([[[1, 2], { nowMs: NOW_MS, nextTryAtMs: NOW_MS + 4_000 }]])
})

test('while the database is away no held outcome loses a try', async () => {
  const { service, postponed } = serviceWith(new AppError('unavailable', 'the database is away'))
  await expect(service.settle(() => undefined)).rejects.toMatchObject({ code: 'unavailable' })
  expect(postponed).toEqual([])
})

// A pass over a log of years for each try would keep the others waiting. A spool can be drained
// late, so that an old score is new in the log.
test('a try reads the log from a day before the last one, and one in 24 reads all of it', async () => {
  const items = [held(1, 'a'), held(5, 'a'), held(1, 'a', 24), held(1, 'b', 0), held(1, 'b', 48)]
  const { service, since } = serviceWith(new Error('none'), items)
  await service.settle(() => undefined)
  const day = 24 * HOUR_MS
  const all = Number.NEGATIVE_INFINITY
  expect(since).toEqual([NOW_MS - 5 * HOUR_MS - day, all, NOW_MS - HOUR_MS - day, all])
})
