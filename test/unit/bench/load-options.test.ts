import { describe, expect, test } from 'vitest'
import { readLoadOptions } from '../../../bench/lib/load-options.ts'

const NEEDED = [
  '--url',
  'http://127.0.0.1:3000/',
  '--slug',
  's',
  '--applicants',
  'a',
  '--keys',
  'k',
]
const read = (...args: string[]) => readLoadOptions([...NEEDED, ...args])

describe('the options of a load', () => {
  test('name what is sent, in which steps, and what is allowed', () => {
    const thresholds = ['--max-p99-ms', '20', '--max-failed', '0.1%']
    expect(read('--rate', '200,500', '--arrivals', 'poisson', ...thresholds)).toMatchObject({
      url: 'http://127.0.0.1:3000',
      steps: [{ rate: 200 }, { rate: 500 }],
      arrivals: 'poisson',
      seconds: 60,
      warmUpSec: 5,
      batchRecords: null,
      hasIdempotencyKeys: false,
      thresholds: { maxP99Ms: 20, maxFailedShare: 0.001 },
    })
    const closed = read('--connections', '1,16', '--batch', '1000', '--idempotency-keys')
    expect(closed).toMatchObject({
      steps: [{ connections: 1 }, { connections: 16 }],
      batchRecords: 1_000,
      hasIdempotencyKeys: true,
      thresholds: { maxP99Ms: null, maxFailedShare: null },
    })
  })

  test.each([
    { args: [], says: '--rate or --connections' },
    { args: ['--rate', '1', '--connections', '1'], says: '--rate or --connections' },
    { args: ['--rate', '0'], says: '--rate' },
    { args: ['--rate', '200,'], says: '--rate' },
    { args: ['--rate', '1.5'], says: '--rate' },
    { args: ['--connections', 'many'], says: '--connections' },
    { args: ['--connections', '1', '--arrivals', 'poisson'], says: '--arrivals' },
    { args: ['--rate', '1', '--arrivals', 'normal'], says: '--arrivals' },
    { args: ['--rate', '1', '--seconds', '0'], says: '--seconds' },
    { args: ['--rate', '1', '--batch', '1001'], says: '--batch' },
    { args: ['--rate', '1', '--batch', '10', '--references'], says: '--references' },
    { args: ['--rate', '1', '--max-failed', '0.1'], says: '--max-failed' },
    { args: ['--rate', '1', '--max-p99-ms', '20ms'], says: '--max-p99-ms' },
    { args: ['--rate', '1', '--url', 'localhost:3000'], says: '--url' },
    { args: ['--rate', '1', '--rounds', '3'], says: '--rounds' },
  ])('$args are refused by a sentence that names $says', ({ args, says }) => {
    expect(() => read(...args)).toThrow(says)
  })

  test.each(['url', 'slug', 'applicants', 'keys'])("--%s can't be left out", (name) => {
    const at = NEEDED.indexOf(`--${name}`)
    const args = [...NEEDED.toSpliced(at, 2), '--rate', '1']
    expect(() => readLoadOptions(args)).toThrow(`--${name}`)
  })
})
