import { expect, test } from 'vitest'
import { checkSpec, compileModel } from '../../../../src/engine/index.ts'
import type { UserCaller } from '../../../../src/http/access/caller.ts'
import { BaselineService } from '../../../../src/reports/monitoring/baseline-service.ts'
import type { NewBaseline } from '../../../../src/reports/monitoring/store.ts'
import { card, numeric } from '../../../support/cards/cards.ts'
import { ManualClock } from '../../../support/start/manual-clock.ts'

const CALLER: UserCaller = { kind: 'user', userId: 'usr_1', teamId: 'team_1', role: 'owner' }

// The order of the ids says which baseline is in force.
test('a baseline is later than the one in force, also where the clock is behind', async () => {
  const check = checkSpec(card([numeric('income', [['(-Infinity, Infinity)', 1]])]))
  if (!check.ok) throw new Error('the card is not valid')
  const model = { card: { spec: check.spec, model: compileModel(check.spec) } }
  const stored: NewBaseline[] = []
  const service = (startMs: number) =>
    new BaselineService({
      monitored: {
        model: async () => model,
        store: {
          baseline: async () => stored.at(-1) ?? null,
          addBaseline: async (baseline: NewBaseline) => void stored.push(baseline),
          developmentAuc: async () => null,
        },
      },
      reports: {},
      clock: new ManualClock(startMs),
      // The service calls no other methods of these.
    } as unknown as ConstructorParameters<typeof BaselineService>[0])
  const counts = { features: { income: { bins: [3] } } }
  await service(2_000).put(CALLER, 'mod_1', { counts })
  await service(1_000).put(CALLER, 'mod_1', { counts })
  const [first, second] = stored
  expect(String(second?.id) > String(first?.id)).toBe(true)
  expect(second?.createdAt).toEqual(new Date(1_000))
})
