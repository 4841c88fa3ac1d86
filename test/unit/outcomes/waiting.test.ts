import { expect, test } from 'vitest'
import type { OutcomeMatcher } from '../../../src/outcomes/matcher.ts'
import { OutcomeService } from '../../../src/outcomes/service.ts'
import type { OutcomeStore } from '../../../src/outcomes/store.ts'

test('a request is refused while eight others wait, and taken again afterwards', async () => {
  let release = () => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  const match = async () => {
    await held
    return []
  }
  const store: Partial<OutcomeStore> = { readWindows: async () => new Map() }
  const clock = { epochMs: () => 0, monotonicMs: () => 0 }
  const service = new OutcomeService(
    { match } as unknown as OutcomeMatcher,
    store as OutcomeStore,
    clock,
    30,
  )
  const sender = { teamId: 'team_1', environment: null, by: 'usr_1' }
  const taken = Array.from({ length: 9 }, () => service.take(sender, [{}]))
  await expect(service.take(sender, [{}])).rejects.toMatchObject({ code: 'unavailable' })
  // An import is not refused: its lines wait on the disk.
  const judged = service.judge(sender, [{ item: null, fault: 'no' }])
  release()
  expect((await Promise.all(taken)).flat().map(({ status }) => status)).toEqual(
    Array.from({ length: 9 }, () => 'invalid'),
  )
  expect(await judged).toMatchObject([{ status: 'invalid', message: 'no' }])
  expect(await service.take(sender, [{}])).toHaveLength(1)
})
