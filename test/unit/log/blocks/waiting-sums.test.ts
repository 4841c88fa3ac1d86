import { expect, test } from 'vitest'
import { writeSums } from '../../../../src/log/blocks/block-sums.ts'
import { readRollups } from '../../../../src/log/blocks/upkeep/block-tables.ts'
import { merged, RollupSums } from '../../../../src/log/rollups/rollup-sums.ts'

const HOUR_MS = 3_600_000
/** The last minute of a day. */
const START_MS = 24 * HOUR_MS - 60_000
/** As in `waiting-sums.ts`. */
const MINUTES_MAX = 4_096

interface Request {
  readonly deploymentId: string
  readonly scoredAtMs: number
  readonly score: number
}

function computeSums(requests: readonly Request[]): RollupSums {
  const sums = new RollupSums()
  for (const { deploymentId, scoredAtMs, score } of requests) {
    sums.add(
      { deploymentId, modelCount: 1 },
      { scoredAtMs, latencyMs: 2, scores: [score], pds: [score / 1024] },
    )
  }
  return sums
}

const readBlock = (requests: readonly Request[]) => ({
  sums: writeSums(computeSums(requests).minuteRollups()),
})

test('minutes of several blocks add up to their hours and days', async () => {
  const requests = Array.from({ length: 256 }, (_, n) => ({
    deploymentId: `dep_${n % 3}`,
    scoredAtMs: START_MS + 1_000 * n,
    score: 512 + n,
  }))
  const blocks = [requests.slice(0, 100), requests.slice(100, 101), requests.slice(101)]
  const { added, count } = await readRollups(blocks.map(readBlock))
  expect(count).toBe(3)
  const byKey = (a: (typeof added)[number], b: (typeof added)[number]) =>
    `${a.deploymentId} ${a.span} ${a.startsAtMs}` < `${b.deploymentId} ${b.span} ${b.startsAtMs}`
      ? -1
      : 1
  const minutes = computeSums(requests).minuteRollups()
  const hours = merged(minutes, 'hour')
  const whole = [...minutes, ...hours, ...merged(hours, 'day')]
  expect(whole.filter(({ span }) => span === 'day')).toHaveLength(6)
  const facts = ({ rollup, ...key }: (typeof added)[number]) => {
    const { scoreAvg, pdAvg, latencyAvgMs, ...exact } = rollup
    return [key, exact, [scoreAvg, pdAvg, latencyAvgMs].map((one) => one.toPrecision(12))]
  }
  expect([...added].sort(byKey).map(facts)).toEqual([...whole].sort(byKey).map(facts))
})

test('a round takes whole blocks, and no more once it has minutes enough', async () => {
  const blocks = ['a', 'b', 'c'].map((name) =>
    readBlock(
      Array.from({ length: MINUTES_MAX / 2 }, (_, n) => ({
        deploymentId: `dep_${name}${n}`,
        scoredAtMs: START_MS,
        score: 500,
      })),
    ),
  )
  const { added, count } = await readRollups(blocks)
  expect(count).toBe(2)
  expect(added).toHaveLength(3 * MINUTES_MAX)
  expect(added.some(({ deploymentId }) => deploymentId.startsWith('dep_c'))).toBe(false)
})
