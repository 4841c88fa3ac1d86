import { parseArgs } from 'node:util'
import { CARD, type Card } from './card.ts'
import type { ContestOptions } from './contest.ts'
import { UsageError } from './usage-error.ts'

export interface BenchOptions {
  readonly contest: ContestOptions
  readonly card: Card
  readonly batchRecords: number
  /** File for the raw rounds in place of one in `bench/results/`, or null. */
  readonly jsonFile: string | null
}

export const OPTIONS_HELP = `
  --rounds N        rounds, each with fresh processes (5)
  --slices N        slices of time in a round for each contestant (6)
  --seconds N       length of a slice (1)
  --warm-up N       seconds before the first slice (3)
  --connections N   connections of the load (64; batch 4)
  --rate N          requests per second over all connections (as many as are answered)
  --features N      features of the card (20)
  --bins N          bins of each feature (8)
  --batch N         records of a batch (1000)
  --json FILE       where to write the raw rounds (bench/results/<scenario>/<date>-<commit>.json)
BENCH_DATABASE_URL and BENCH_REDIS_URL name servers to use in place of ones that the bench starts.
BENCH_BESIDES states what else runs on the machine; the stored result repeats it.`

/** @throws UsageError for a value that must be a number */
export function readOptions(args: readonly string[], connections: number): BenchOptions {
  const text = { type: 'string' } as const
  const { values } = parseArgs({
    args: [...args],
    options: {
      rounds: text,
      slices: text,
      seconds: text,
      'warm-up': text,
      connections: text,
      rate: text,
      features: text,
      bins: text,
      batch: text,
      json: text,
    },
  })
  const number = (name: keyof typeof values, otherwise: number): number => {
    const given = values[name]
    if (given === undefined) return otherwise
    if (!/^\d+$/.test(given) || Number(given) < 1) {
      throw new UsageError(`--${name} must be a number`)
    }
    return Number(given)
  }
  return {
    contest: {
      rounds: number('rounds', 5),
      slices: number('slices', 6),
      sliceSec: number('seconds', 1),
      warmUpSec: number('warm-up', 3),
      connections: number('connections', connections),
      ...(values.rate !== undefined && { rate: number('rate', 1) }),
    },
    card: { ...CARD, features: number('features', CARD.features), bins: number('bins', CARD.bins) },
    batchRecords: number('batch', 1000),
    jsonFile: values.json ?? null,
  }
}
