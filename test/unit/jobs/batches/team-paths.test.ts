import { expect, test } from 'vitest'
import { mayBeFolder, mayScoreFile } from '../../../../src/jobs/batches/batch.ts'

// A key of staging would read applicants of production, and their decisions.
test.each([
  ['production/2026-11/all.csv', 'staging', false],
  ['Production/all.csv', 'staging', false],
  ['staging/all.csv', 'production', false],
  ['staging/all.csv', 'staging', true],
  ['production/all.csv', null, true],
  ['production', 'staging', true],
  ['2026-11/production/all.csv', 'staging', true],
  ['all.csv', 'staging', true],
] as const)('whether %s may be scored by a key of %s: %s', (path, environment, isSo) => {
  expect(mayScoreFile(path, environment)).toBe(isSo)
})

test.each([
  'batches/job_0abc/input.csv',
  'Batches/job_0abc/results-000001.csv',
  'all.csv.job_0Abc/results-000001.csv',
  '2026-11/all.csv.job_0abc/errors-000001.ndjson',
])('nobody names the file %s of the service itself', (path) => {
  for (const environment of ['production', 'staging', null] as const) {
    expect(mayScoreFile(path, environment)).toBe(false)
  }
})

// A file system would refuse the first part only after a chunk was scored.
test.each([
  ['x'.repeat(255), true],
  ['x'.repeat(256), false],
  ['ü'.repeat(128), false],
  [`${'x'.repeat(250)}/`.repeat(4) + 'x'.repeat(10), false],
])('whether %s can be a folder of results: %s', (folder, isSo) => {
  expect(mayBeFolder(folder)).toBe(isSo)
})
