import { parseArgs } from 'node:util'
import { CARD, type Card } from './card.ts'
import type { ContestOptions } from './contest.ts'

export interface BenchOptions {
  readonly contest: ContestOptions
  readonly card: Card
  readonly batchRecords: number
  /** File for the raw rounds in place of one in `bench/results/`, or null. */
  readonly jsonFile: string | null
  /** A service that runs already, or null. */
  readonly target: Target | null
}

/** What is needed to send requests to a service that runs already. */
export interface Target {
  readonly url: string
  readonly slug: string
  readonly keySecret: string
  /** JSON of an applicant, or of an array of them; null: such as fit the bench's own card. */
  readonly applicantsFile: string | null
}

export const OPTIONS_HELP = `
  --rounds N        rounds, each with fresh processes (5)
  --slices N        slices of time in a round for each contestant (6)
  --seconds N       length of a slice (1); against --url: of the whole load
  --warm-up N       seconds before the first slice (3)
  --connections N   connections of the load (64; batch 4)
  --rate N          requests per second over all connections (as many as are answered)
  --features N      features of the card (20)
  --bins N          bins of each feature (8)
  --batch N         records of a batch (1000)
  --json FILE       where to write the raw rounds (bench/results/<scenario>/<date>-<commit>.json)
  --url URL         measure the service that runs there, with
  --slug SLUG       a deployment of it,
  --applicants FILE applicants that fit it, as JSON (those of the bench's card), and
  BENCH_API_KEY     in the environment: a key with the scope score
BENCH_DATABASE_URL and BENCH_REDIS_URL name servers to use in place of ones that the bench starts.
BENCH_BESIDES states what else runs on the machine; the stored result repeats it.`

/** @throws Error for an option that is none, or no number */
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
      url: text,
      slug: text,
      applicants: text,
    },
  })
  const number = (name: keyof typeof values, otherwise: number): number => {
    const given = values[name]
    if (given === undefined) return otherwise
    if (!/^\d+$/.test(given) || Number(given) < 1) throw new Error(`--${name} must be a number`)
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
    target: values.url === undefined ? null : targetOf(values),
  }
}

function targetOf(values: {
  readonly url?: string
  readonly slug?: string
  readonly applicants?: string
}): Target {
  const { url = '', slug, applicants = null } = values
  const { BENCH_API_KEY: keySecret } = process.env
  if (slug === undefined || keySecret === undefined) {
    throw new Error('--url needs --slug, and BENCH_API_KEY in the environment')
  }
  return { url: url.replace(/\/+$/, ''), slug, keySecret, applicantsFile: applicants }
}
