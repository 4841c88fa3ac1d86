import type { StoredResult } from './results.ts'
import { digits, field, measuredIn, middle, type Rows, ratioToFirst, seriesIn } from './tables.ts'

/** Each engine in a process of its own, on the sample card. */
export function peersInProcess(...[peers]: StoredResult[]): Rows {
  if (peers === undefined) throw new Error('a result is missing')
  const rows = seriesIn(peers, 'in process').measured.map((one) => [
    one.name,
    digits(middle(one, (round) => 1e6 / field('applicantsPerSec')(round))),
    digits(middle(one, field('startMs'))),
    digits(middle(one, field('rssMb'))),
    one.note ?? '',
  ])
  return [['In process', 'µs an applicant', 'start, ms', 'MB', 'answers'], ...rows]
}

/** Servers, with single scores and with batches. */
export function peersHttp(...[peers]: StoredResult[]): Rows {
  if (peers === undefined) throw new Error('a result is missing')
  const single = seriesIn(peers, 'single')
  const batch = seriesIn(peers, 'batch')
  const rows = single.measured.map((one) => {
    const batched = measuredIn(batch, one.name)
    return [
      one.name,
      digits(middle(one, field('requestsPerSec'))),
      ratioToFirst(single, one, field('requestsPerSec')),
      digits(middle(one, field('cpuUs'))),
      digits(middle(one, field('p99Ms'))),
      digits(middle(batched, field('requestsPerSec'))),
      digits(middle(batched, field('cpuUs')) / 1000),
      `${digits(middle(one, field('rssMb')))}; ${digits(middle(batched, field('rssMb')))}`,
    ]
  })
  const head = [
    'Over HTTP',
    'single scores/s',
    'to the first',
    'CPU µs',
    'p99 ms',
    'batches of 1,000/s',
    'CPU ms',
    'MB, single; batch',
  ]
  return [head, ...rows]
}
