import type { Measured, Round, StoredResult } from './results.ts'
import { digits, measuredIn, middle, type Rows, seriesIn } from './tables.ts'

/** How much of a processor a plan uses. */
const USED_SHARE = 0.6
/** Connections of one process: its pool, the drain, and the feed. */
const CONNECTIONS_EACH = 13
const REPLICAS_MIN = 2
const DAY_SEC = 86_400

type CostName =
  | 'serviceCpuMs'
  | 'postgresCpuMs'
  | 'redisCpuMs'
  | 'redisCommands'
  | 'logBytes'
  | 'walBytes'

interface Load {
  readonly measured: Measured
  readonly recordsEach: number
}

function readLoads(capacity: StoredResult | undefined): Record<'single' | 'keyed' | 'batch', Load> {
  if (capacity === undefined) throw new Error('a result is missing')
  const one = (name: string) => measuredIn(seriesIn(capacity, name), '1 worker')
  return {
    single: { measured: one('single'), recordsEach: 1 },
    keyed: { measured: one('keyed'), recordsEach: 1 },
    batch: { measured: one('batch'), recordsEach: Number(capacity.result.payload['batchRecords']) },
  }
}

/** Cost of one record: microseconds of a processor time, else commands or bytes. */
function computeCost({ measured, recordsEach }: Load, name: CostName): number {
  const factor = name.endsWith('Ms') ? 1000 : 1
  return middle(measured, (round: Round) => {
    return (factor * (round[name] ?? Number.NaN)) / ((round['requests'] ?? 0) * recordsEach)
  })
}

/** Scores that one worker gave in a second. */
function computeRate({ measured, recordsEach }: Load): number {
  return middle(measured, (round) => {
    return (1000 * recordsEach * (round['requests'] ?? 0)) / (round['tookMs'] ?? Number.NaN)
  })
}

/** What a score costs, by whom. */
export function capacityCosts(...[capacity]: StoredResult[]): Rows {
  const { single, keyed, batch } = readLoads(capacity)
  const loads = [single, keyed, batch]
  const row = (label: string, name: CostName, unit: string) => [
    label,
    ...loads.map((load) => `${digits(computeCost(load, name), 2)}${unit}`),
  ]
  return [
    ['', 'a single score', 'with an `Idempotency-Key`', 'a record in a batch of 1,000'],
    row('processor of the service', 'serviceCpuMs', ' µs'),
    row('processor of PostgreSQL, for the log', 'postgresCpuMs', ' µs'),
    row('processor of Redis', 'redisCpuMs', ' µs'),
    row('commands of Redis', 'redisCommands', ''),
    row('log on disk with indexes, but for keys', 'logBytes', ' bytes'),
    row('write-ahead log', 'walBytes', ' bytes'),
    ['scores a second of one worker', ...loads.map((load) => digits(computeRate(load)))],
  ]
}

/** What single scores around the clock need, from these costs. */
export function capacityPlan(...[capacity]: StoredResult[]): Rows {
  const { single } = readLoads(capacity)
  const rates = [1_000, 100_000, 1_000_000]
  const cost = (name: CostName) => computeCost(single, name)
  const processors = (name: CostName) => (rate: number) => digits((rate * cost(name)) / 1e6, 2)
  const workers = (rate: number) => Math.ceil((rate * cost('serviceCpuMs')) / 1e6 / USED_SHARE)
  const row = (label: string, of: (rate: number) => string) => [label, ...rates.map(of)]
  return [
    ['scores a second', ...rates.map((rate) => digits(rate, 9))],
    row('workers, but two replicas at least', (rate) => digits(workers(rate), 9)),
    row('processors of PostgreSQL, for the log', processors('postgresCpuMs')),
    row('processors of Redis (one instance has one)', processors('redisCpuMs')),
    row('log a day', (rate) => bytes(rate * DAY_SEC * cost('logBytes'))),
    row('write-ahead log a second', (rate) => bytes(rate * cost('walBytes'))),
    row('connections to PostgreSQL, at most', (rate) =>
      digits(CONNECTIONS_EACH * Math.max(REPLICAS_MIN, workers(rate)), 9),
    ),
  ]
}

function bytes(value: number): string {
  const units = ['bytes', 'KB', 'MB', 'GB', 'TB', 'PB']
  const at = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(1, value)) / 3))
  return `${digits(value / 1000 ** at, 2)} ${units[at]}`
}
