import { expect, test } from 'vitest'
import { endLine, progressLine, type RemoteBatch } from '../../../src/cli/batch.ts'

function batch(status: string, done: number, total: number, errors = 0): RemoteBatch {
  const counts = { scored: done - errors, errors, warned: 0 }
  return { id: 'job_1', status, counts, progress: { done, total } } as RemoteBatch
}

test.each([
  [batch('queued', 0, 0), '[..............................]   0 %  0 applicants  queued'],
  [
    batch('running', 250_000, 1_000_000, 3),
    '[#######.......................]  25 %  250,000 applicants, 3 with errors  running',
  ],
  // The estimate of the total can be too small.
  [batch('running', 11, 10), '[##############################] 100 %  11 applicants  running'],
  [batch('done', 10, 0), '[##############################] 100 %  10 applicants  done'],
])('the progress of %j is one line with a bar', (shown, line) => {
  expect(progressLine(shown)).toBe(line)
})

test('the last line says how a batch ended, and why it failed', () => {
  const failed = { ...batch('failed', 12, 0, 2), message: 'two columns have the name "a"' }
  expect(endLine(failed)).toBe(
    'Batch job_1 is failed: 10 scored, 2 with errors, 0 with warnings: two columns have the name "a".',
  )
})
