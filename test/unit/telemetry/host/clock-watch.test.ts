import { expect, test } from 'vitest'
import { ClockWatch } from '../../../../src/telemetry/host/checks.ts'
import { ManualClock } from '../../../support/start/manual-clock.ts'

const DATABASE_MS = 1_800_000_000_000

/** A process whose clock is ahead of the database's, or behind. */
function watchAt(aheadMs: number) {
  const clock = new ManualClock(DATABASE_MS + aheadMs)
  const changes: unknown[] = []
  const db = { execute: async () => [{ now_ms: DATABASE_MS }] }
  const onChange = (facts: unknown) => changes.push(facts)
  return { watch: new ClockWatch({ db: db as never, clock, onChange }), clock, changes }
}

// What such a replica answers is deleted early, or stands first for years.
test.each([
  [0, 0, null],
  [299_000, 0, null],
  [-301_000, 1, null],
  [3_599_000, 1, null],
  [3_601_000, 1, "differs from the database's by 3601 s"],
  [-78_000_000_000, 1, "differs from the database's by 78000000 s"],
])(
  'a clock that is ahead by %i ms is reported and refused as it should be',
  async (ms, reports, refusal) => {
    const { watch, changes } = watchAt(ms)
    expect(watch.refusal).toBe(null)
    await watch.check()
    await watch.check()
    expect(changes).toHaveLength(reports)
    expect(watch.refusal).toBe(refusal)
    expect(watch.aheadMs).toBe(ms)
  },
)

test('a clock that was set right is reported once more', async () => {
  const { watch, clock, changes } = watchAt(4_000_000)
  await watch.check()
  clock.advance(-4_000_000)
  await watch.check()
  expect(changes).toEqual([
    { apartSec: 4_000, isApart: true },
    { apartSec: 0, isApart: false },
  ])
  expect(watch.refusal).toBe(null)
})
