import { expect, test } from 'vitest'
import { type AskedWorker, FigureRounds } from '../../../src/workers/figure-rounds.ts'
import type { ToWorker } from '../../../src/workers/messages.ts'

const figures = (value: number) =>
  [{ name: 'a', help: 'A.', type: 'gauge', values: [{ value, labels: {} }] }] as const

/** Workers of which some answer when they are asked. */
function machine(places: readonly number[], answering: readonly number[]) {
  const sent: ToWorker[] = []
  const workers: AskedWorker[] = places.map((place) => ({
    place,
    send: (message) => {
      sent.push(message)
      if (message.kind !== 'tell' || !answering.includes(place)) return
      rounds.heard(worker(place), {
        kind: 'figures',
        round: message.round,
        figures: figures(place),
      })
    },
  }))
  const worker = (place: number) =>
    workers.find((one) => one.place === place) ?? expect.fail('no such worker')
  const rounds = new FigureRounds(
    () => workers,
    () => figures(0),
  )
  const answers = () => sent.filter((message) => message.kind === 'answer')
  return { rounds, worker, answers }
}

test('whoever asks hears the figures of all, each under its place', async () => {
  const { rounds, worker, answers } = machine([1, 2, 3], [3, 1, 2])
  rounds.heard(worker(2), { kind: 'ask', question: 7 })
  await expect.poll(() => answers().length).toBe(1)
  const all = [1, 2, 3].map((place) => ({ worker: `${place}`, figures: figures(place) }))
  expect(answers()[0]).toEqual({
    kind: 'answer',
    question: 7,
    all: [...all, { worker: 'primary', figures: figures(0) }],
  })
})

// A scrape that waits for a worker which hangs is missed, just when it would tell of it.
test('a worker that does not tell is left out', async () => {
  const { rounds, worker, answers } = machine([1, 2], [1])
  rounds.heard(worker(1), { kind: 'ask', question: 0 })
  await expect.poll(() => answers().length, { timeout: 5_000 }).toBe(1)
  expect(answers()[0]).toMatchObject({ all: [{ worker: '1' }, { worker: 'primary' }] })
})
