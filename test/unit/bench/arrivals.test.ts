import { expect, test } from 'vitest'
import { waitsMs } from '../../../bench/lib/arrivals.ts'

const COUNT = 10_000

/** Evenly distributed, and the same in each run. */
function evenly(): () => number {
  let at = 0
  return () => ((at++ * 6_007) % COUNT) / COUNT
}

function takeWaits(count: number, ...args: Parameters<typeof waitsMs>): number[] {
  const waits = waitsMs(...args)
  return Array.from({ length: count }, () => waits.next().value)
}

test('constant arrivals are at equal distances', () => {
  expect(new Set(takeWaits(100, 250, 'constant'))).toEqual(new Set([4]))
})

test('Poisson arrivals have exponential distances of the same mean', () => {
  const waits = takeWaits(COUNT, 250, 'poisson', evenly())
  const mean = waits.reduce((total, wait) => total + wait, 0) / COUNT
  expect(mean).toBeCloseTo(4, 1)
  for (const times of [0.5, 1, 2, 4]) {
    const share = waits.filter((wait) => wait > times * 4).length / COUNT
    expect(share).toBeCloseTo(Math.exp(-times), 2)
  }
})
