import { expect, test } from 'vitest'
import { RunErasures } from '../../../../src/jobs/batches/run.ts'
import type { NumberedErasure } from '../../../../src/jobs/batches/store.ts'

/** A run of team_1 in a database with these erasures. */
function running(erasures: NumberedErasure[]) {
  const handed: string[] = []
  const store = {
    newestErasure: async () => Math.max(0, ...erasures.map(({ number }) => number)),
    erasedAfter: async (_: string, after: number, limit: number) =>
      erasures
        .filter(({ number }) => number > after)
        .sort((a, b) => a.number - b.number)
        .slice(0, limit),
  }
  const run = new RunErasures(store, 'team_1', (references) => {
    handed.push(...references.map(({ hash }) => hash))
  })
  return { run, handed }
}

const erasure = (number: number, hash = `hash ${number}`) => ({ number, hash, untilMs: 1 })

test('each erasure is handed on once, however many there are', async () => {
  const erasures = Array.from({ length: 2_500 }, (_, at) => erasure(at + 1))
  const { run, handed } = running(erasures)
  await run.load()
  expect(handed).toEqual(erasures.map(({ hash }) => hash))
  erasures.push(erasure(2_501))
  await run.load()
  await run.load()
  expect(handed).toHaveLength(2_501)
  expect(run.version).toBe(2_501)
})

// A standby that takes over can lack the newest, and gives their numbers to others.
test('erasures that got the numbers of lost ones are handed on', async () => {
  const erasures = [1, 2, 3, 4].map((number) => erasure(number))
  const { run, handed } = running(erasures)
  await run.load()
  erasures.splice(2, 2, erasure(3, 'another'))
  await run.load()
  expect(handed).toContain('another')
  expect(run.version).toBe(3)
})
