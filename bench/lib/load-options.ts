import { parseArgs } from 'node:util'
import type { Thresholds } from './load-figures.ts'
import type { Arrivals } from './open-loop.ts'
import { UsageError } from './usage-error.ts'

export interface LoadOptions {
  readonly url: string
  readonly slug: string
  readonly applicantsFile: string
  readonly keysFile: string
  /** Each is measured in turn. */
  readonly steps: readonly LoadStep[]
  readonly arrivals: Arrivals
  readonly seconds: number
  readonly warmUpSec: number
  readonly hasIdempotencyKeys: boolean
  readonly hasReferences: boolean
  readonly batchRecords: number | null
  readonly areWarningsExpected: boolean
  readonly jsonFile: string | null
  readonly thresholds: Thresholds
}

/** An open loop of so many requests a second, or a closed loop of so many connections. */
export type LoadStep = { readonly rate: number } | { readonly connections: number }

const BATCH_RECORDS_MAX = 1_000

/** @throws UsageError that names the option */
export function readLoadOptions(args: readonly string[]): LoadOptions {
  const values = parse(args)
  const { rate, connections, batch, arrivals } = values
  if ((rate === undefined) === (connections === undefined)) {
    throw new UsageError('give either --rate or --connections')
  }
  if (arrivals !== 'constant' && arrivals !== 'poisson') {
    throw new UsageError('--arrivals must be constant or poisson')
  }
  if (connections !== undefined && args.some((arg) => arg.startsWith('--arrivals'))) {
    throw new UsageError('--arrivals belongs to --rate')
  }
  if (batch !== undefined && values.references) {
    throw new UsageError('--references belongs to single scores: a record of a batch has its id')
  }
  const steps =
    rate === undefined
      ? readNumbers('connections', connections).map((count) => ({ connections: count }))
      : readNumbers('rate', rate).map((perSecond) => ({ rate: perSecond }))
  const batchRecords = batch === undefined ? null : readNumber('batch', batch)
  if (batchRecords !== null && batchRecords > BATCH_RECORDS_MAX) {
    throw new UsageError(`--batch must be at most ${BATCH_RECORDS_MAX}`)
  }
  const maxP99 = values['max-p99-ms']
  const maxFailed = values['max-failed']
  return {
    url: readUrl(values.url),
    slug: needed('slug', values.slug),
    applicantsFile: needed('applicants', values.applicants),
    keysFile: needed('keys', values.keys),
    steps,
    arrivals,
    seconds: readNumber('seconds', values.seconds),
    warmUpSec: readNumber('warm-up', values['warm-up'], 0),
    hasIdempotencyKeys: values['idempotency-keys'],
    hasReferences: values.references,
    batchRecords,
    areWarningsExpected: values['allow-warnings'],
    jsonFile: values.json ?? null,
    thresholds: {
      maxP99Ms: maxP99 === undefined ? null : readDecimal('max-p99-ms', maxP99, ''),
      maxFailedShare:
        maxFailed === undefined ? null : readDecimal('max-failed', maxFailed, '%') / 100,
    },
  }
}

function parse(args: readonly string[]) {
  const text = { type: 'string' } as const
  const flag = { type: 'boolean', default: false } as const
  try {
    return parseArgs({
      args: [...args],
      options: {
        url: text,
        slug: text,
        applicants: text,
        keys: text,
        rate: text,
        connections: text,
        arrivals: { type: 'string', default: 'constant' },
        seconds: { type: 'string', default: '60' },
        'warm-up': { type: 'string', default: '5' },
        'idempotency-keys': flag,
        references: flag,
        batch: text,
        'allow-warnings': flag,
        json: text,
        'max-p99-ms': text,
        'max-failed': text,
      },
    }).values
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

function needed(name: string, value: string | undefined): string {
  if (value === undefined) throw new UsageError(`--${name} is missing`)
  return value
}

/** @returns the origin */
function readUrl(value: string | undefined): string {
  const url = URL.parse(needed('url', value))
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new UsageError('--url must be an address such as https://scoring.lender.example')
  }
  return url.origin
}

function readNumber(name: string, value: string, least = 1): number {
  if (!/^\d{1,7}$/.test(value) || Number(value) < least) {
    throw new UsageError(`--${name} must be a whole number from ${least}`)
  }
  return Number(value)
}

function readNumbers(name: string, value = ''): number[] {
  return value.split(',').map((one) => readNumber(name, one))
}

function readDecimal(name: string, value: string, unit: string): number {
  if (!/^\d+(\.\d+)?$/.test(value.replace(unit, '')) || !value.endsWith(unit)) {
    throw new UsageError(`--${name} must be a number${unit === '' ? '' : ` with ${unit}`}`)
  }
  return Number.parseFloat(value)
}
