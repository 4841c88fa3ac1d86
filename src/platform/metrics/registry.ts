export type Labels = Readonly<Record<string, string>>

/** Reads one value, or one for each set of labels. Labels have few values: no team, key or slug. */
type Reading<T> = () => T | ReadonlyArray<readonly [Labels, T]>

interface Value {
  readonly value: number
  readonly labels: Labels
  readonly metricName?: string
}

interface Metric {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly values: readonly Value[]
}

/** The metrics of one process at a moment, in a form that can be sent to another process. */
export type MetricSnapshot = readonly Metric[]

/** Collects the metrics of all processes; null if they can't be had now. */
export type MetricSource = () => Promise<ReadonlyArray<{
  readonly worker: string
  readonly metrics: MetricSnapshot
}> | null>

/**
 * The metrics of the process, in Prometheus' text format.
 *
 * Domains count in plain numbers and `Histogram`s of their own, which are read at each scrape. This
 * is why prom-client is not used: its classes look labels up by text, which takes 360 ns for an
 * observation (a `Histogram` takes 10) and 65 ns for a count. Only its text format would be left.
 *
 * @source Prometheus, Exposition formats, text-based format 0.0.4
 */
export class MetricRegistry {
  readonly contentType = 'text/plain; version=0.0.4; charset=utf-8'
  /** Collects the metrics of all workers; null in a single process. */
  source: MetricSource | null = null
  private readonly readers = new Map<string, () => Metric>()

  /** Adds a value that only grows while the process lives; its name ends in `_total`. */
  counter(name: string, help: string, read: Reading<number>): void {
    this.add(name, () => ({ name, help, type: 'counter', values: plainValues(read()) }))
  }

  gauge(name: string, help: string, read: Reading<number>): void {
    this.add(name, () => ({ name, help, type: 'gauge', values: plainValues(read()) }))
  }

  histogram(name: string, help: string, read: Reading<Histogram>): void {
    this.add(name, () => ({
      name,
      help,
      type: 'histogram',
      values: labelled(read()).flatMap(([labels, histogram]) =>
        bucketValues(name, labels, histogram),
      ),
    }))
  }

  read(): MetricSnapshot {
    return [...this.readers.values()].map((read) => read())
  }

  /**
   * The metrics of all workers, with the label `worker`; of this process if there are no workers.
   */
  async text(): Promise<string> {
    const all = (await this.source?.()) ?? null
    return formatText(all === null ? this.read() : joined(all))
  }

  private add(name: string, read: () => Metric): void {
    if (this.readers.has(name)) throw new Error(`the metric ${name} exists already`)
    this.readers.set(name, read)
  }
}

/** Joins the metrics of all workers under one entry for each name, as the text format requires. */
function joined(all: NonNullable<Awaited<ReturnType<MetricSource>>>): MetricSnapshot {
  const byName = new Map<string, Metric & { values: Value[] }>()
  for (const { worker, metrics } of all) {
    for (const { values, ...metric } of metrics) {
      const one = byName.get(metric.name) ?? { ...metric, values: [] }
      byName.set(metric.name, one)
      for (const value of values) {
        one.values.push({ ...value, labels: { ...value.labels, worker } })
      }
    }
  }
  return [...byName.values()]
}

function formatText(metrics: MetricSnapshot): string {
  const texts = metrics.map(({ name, help, type, values }) => {
    const lines = values.map(({ metricName = name, labels, value }) => {
      return `${metricName}${labelText(labels)} ${value === Infinity ? '+Inf' : value}\n`
    })
    return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('')}`
  })
  return texts.join('\n')
}

function labelText(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`)
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

function escaped(value: string): string {
  return value.replace(/\\/g, '\\\\').replace(/"/g, '\\"').replace(/\n/g, '\\n')
}

function labelled<T>(reading: T | ReadonlyArray<readonly [Labels, T]>): Array<[Labels, T]> {
  // A reading is an array exactly if it has labels: values are numbers and histograms.
  if (Array.isArray(reading)) return reading
  return [[{}, reading as T]]
}

function plainValues(reading: ReturnType<Reading<number>>): Value[] {
  return labelled(reading).map(([labels, value]) => ({ labels, value }))
}

function bucketValues(name: string, labels: Labels, histogram: Histogram): Value[] {
  const { bounds, counts, sum } = histogram
  let below = 0
  const buckets = Array.from(counts, (count, bucket) => {
    below += count
    const le = bucket < bounds.length ? String(bounds[bucket]) : '+Inf'
    return { value: below, labels: { ...labels, le }, metricName: `${name}_bucket` }
  })
  return [
    ...buckets,
    { value: sum, labels, metricName: `${name}_sum` },
    { value: below, labels, metricName: `${name}_count` },
  ]
}

/**
 * Counts observations by size, at about 10 ns each: cheap enough for every request.
 *
 * A bucket is `(bounds[i - 1], bounds[i]]`; the last one is open above.
 */
export class Histogram {
  readonly bounds: readonly number[]
  /** One count for each bound, and one above the last. */
  readonly counts: Float64Array
  sum = 0

  /** @param bounds upper ends of the buckets, ascending */
  constructor(bounds: readonly number[]) {
    this.bounds = bounds
    this.counts = new Float64Array(bounds.length + 1)
  }

  observe(value: number): void {
    const { bounds, counts } = this
    let bucket = 0
    while (bucket < bounds.length && value > (bounds[bucket] ?? 0)) bucket++
    counts[bucket] = (counts[bucket] ?? 0) + 1
    this.sum += value
  }

  get count(): number {
    return this.counts.reduce((sum, count) => sum + count, 0)
  }
}
