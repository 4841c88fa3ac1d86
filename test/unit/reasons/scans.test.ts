import { expect, test } from 'vitest'
import { ReasonService } from '../../../src/reasons/service.ts'
import { compiledCard, worksheetCard } from '../../support/cards/reason-cards.ts'
import { ManualClock } from '../../support/start/manual-clock.ts'

const MODEL = 'mod_0000000000000000000000'

// A page that is opened again and again must not keep other teams from their reports.
test('a team has three counts under way at most, and others find a place', async () => {
  const { spec, model } = compiledCard(worksheetCard())
  const open = Promise.withResolvers<void>()
  const log = {
    async *scan() {
      await open.promise
      yield []
    },
  }
  const service = new ReasonService({
    store: {
      hasModel: async () => true,
      championOf: async () => ({ modelId: MODEL, baselineId: null }),
      baseline: async () => null,
    },
    log,
    models: { get: async () => new Map([[MODEL, { card: { spec, model } }]]) },
    deployments: {},
    visible: { requireDeployment: async () => {} },
    clock: new ManualClock(),
    // The service calls no other methods of these to count.
  } as unknown as ConstructorParameters<typeof ReasonService>[0])
  const count = (teamId: string) =>
    service.countReasons({ teamId } as never, 'dep_1', { lang: 'en' }).then(
      ({ all }) => all.n,
      (error) => error.code,
    )
  const first = [count('a'), count('a'), count('a')]
  // Each has asked for its place once what it waits for before is there.
  for (let turn = 0; turn < 20; turn++) await Promise.resolve()
  expect(await count('a')).toBe('unavailable')
  const other = count('b')
  open.resolve()
  expect(await Promise.all([...first, other])).toEqual([0, 0, 0, 0])
  expect(await count('a')).toBe(0)
})
