import { expect, test } from 'vitest'
import { AppError } from '../../../src/errors.ts'
import type { OutcomeMatcher } from '../../../src/outcomes/matcher.ts'
import { type HeldItem, OutcomeService, type OutcomeStore } from '../../../src/outcomes/service.ts'

const NOW_MS = Date.UTC(2026, 0, 31)

const held = (id: number, teamId: string): HeldItem => ({
  id,
  sender: { teamId, environment: null, by: 'usr_1' },
  item: {
    target: { by: 'request', requestId: 'req_1', recordIndex: null, recordId: null },
    fact: { definition: '', asOfMs: 0, content: {} },
  },
  tries: 2,
})

function serviceWith(fault: Error) {
  const written: string[] = []
  const postponed: [readonly number[], number][] = []
  const store: Partial<OutcomeStore> = {
    due: async () => [held(1, 'broken'), held(2, 'broken'), held(3, 'sound')],
    write: async ({ sender }) => {
      if (sender.teamId === 'broken') throw fault
      written.push(sender.teamId)
      return ['accepted']
    },
    postpone: async (ids, nextTryAtMs) => void postponed.push([ids, nextTryAtMs]),
  }
  const match = async (_scope: unknown, targets: readonly unknown[]) =>
    targets.map(() => ({ kind: 'matched', applicant: {}, matchedOf: 1 }))
  const matcher = { match } as unknown as OutcomeMatcher
  const clock = { epochMs: () => NOW_MS, monotonicMs: () => 0 }
  const service = new OutcomeService(matcher, store as OutcomeStore, clock, 30)
  return { service, written, postponed }
}

test('held outcomes that fail are tried later, and those of other teams are attached', async () => {
  const fault = new Error('the row does not fit')
  const { service, written, postponed } = serviceWith(fault)
  const faults: unknown[] = []
  expect(await service.settle((error) => faults.push(error))).toBe(1)
  expect(faults).toEqual([fault])
  expect(written).toEqual(['sound'])
  expect(postponed).toEqual([[[1, 2], NOW_MS + 4_000]])
})

test('while the database is away no held outcome loses a try', async () => {
  const { service, postponed } = serviceWith(new AppError('unavailable', 'the database is away'))
  await expect(service.settle(() => undefined)).rejects.toMatchObject({ code: 'unavailable' })
  expect(postponed).toEqual([])
})
