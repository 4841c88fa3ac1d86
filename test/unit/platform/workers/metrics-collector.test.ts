import { expect, test } from 'vitest'
import type { ToWorker } from '../../../../src/platform/workers/channel.ts'
import {
  type CollectedWorker,
  WorkerMetricsCollector,
} from '../../../../src/platform/workers/primary.ts'

const metricsWith = (value: number) =>
  [{ name: 'a', help: 'A.', type: 'gauge', values: [{ value, labels: {} }] }] as const

/** Workers, of which some reply when their metrics are requested. */
function machine(numbers: readonly number[], answering: readonly number[]) {
  const sent: ToWorker[] = []
  const workers: CollectedWorker[] = numbers.map((number) => ({
    number,
    send: (message) => {
      sent.push(message)
      if (message.kind !== 'get_metrics' || !answering.includes(number)) return
      collector.receive(worker(number), {
        kind: 'metrics',
        round: message.round,
        metrics: metricsWith(number),
      })
    },
  }))
  const worker = (number: number) =>
    workers.find((one) => one.number === number) ?? expect.fail('no such worker')
  const collector = new WorkerMetricsCollector(
    () => workers,
    () => metricsWith(0),
  )
  const responses = () => sent.filter((message) => message.kind === 'all_metrics')
  return { collector, worker, responses }
}

test('a worker that requests metrics gets those of all workers, each under its number', async () => {
  const { collector, worker, responses } = machine([1, 2, 3], [3, 1, 2])
  collector.receive(worker(2), { kind: 'get_all_metrics', request: 7 })
  await expect.poll(() => responses().length).toBe(1)
  const all = [1, 2, 3].map((number) => ({ worker: `${number}`, metrics: metricsWith(number) }))
  expect(responses()[0]).toEqual({
    kind: 'all_metrics',
    request: 7,
    all: [...all, { worker: 'primary', metrics: metricsWith(0) }],
  })
})

// A scrape that waited for a hanging worker would be missed just when it matters.
test('a worker that does not reply is left out', async () => {
  const { collector, worker, responses } = machine([1, 2], [1])
  collector.receive(worker(1), { kind: 'get_all_metrics', request: 0 })
  await expect.poll(() => responses().length).toBe(1)
  expect(responses()[0]).toMatchObject({ all: [{ worker: '1' }, { worker: 'primary' }] })
})
