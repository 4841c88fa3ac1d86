import { expect, test } from 'vitest'
import { ScanQueue } from '../../../../src/log/reading/scan-queue.ts'
import { LoggedReasons } from '../../../../src/reports/reasons/scans.ts'
import { compiledCard, worksheetCard } from '../../../support/cards/reason-cards.ts'

const MODEL = 'mod_0000000000000000000000'
const EVER = { fromMs: Number.NEGATIVE_INFINITY, toMs: Number.POSITIVE_INFINITY }

// A page that is opened again and again must not keep other teams from their reports.
test('counts of reasons wait in the queue of all reports, with its bound for a team', async () => {
  const { spec, model } = compiledCard(worksheetCard())
  const open = Promise.withResolvers<void>()
  const scans = new LoggedReasons({
    log: {
      async *columns() {
        await open.promise
        yield []
      },
    },
    models: { get: async () => new Map([[MODEL, { card: { spec, model } }]]) },
    baseline: async () => null,
    queue: new ScanQueue({ ofTeamMax: 3 }),
    // A count asks these for nothing else.
  } as unknown as ConstructorParameters<typeof LoggedReasons>[0])
  const count = (teamId: string) =>
    scans.counts({ teamId } as never, 'dep_1', { modelId: MODEL, range: EVER, lang: 'en' }).then(
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
