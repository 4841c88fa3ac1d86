import type { Histogram } from '../histogram.ts'

export type Labels = Readonly<Record<string, string>>

/** One figure, or one for each set of labels. Labels have few values: none of a team, key or slug. */
export type Reading<T> = () => T | ReadonlyArray<readonly [Labels, T]>

interface Value {
  readonly value: number
  readonly labels: Labels
  readonly metricName?: string
}

interface Figure {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly values: readonly Value[]
}

/** What one process shows at a moment, in a form that goes between processes. */
export type FigureSet = readonly Figure[]

/** Gives the figures of all processes that a scrape is about; null: they can't be had now. */
export type FigureSource = () => Promise<ReadonlyArray<{
  readonly worker: string
  readonly figures: FigureSet
}> | null>

/**
 * What the process shows of itself, in Prometheus' text form.
 *
 * Domains count in plain numbers and `Histogram`s of their own, which are read when somebody looks. The
 * metric classes of prom-client look labels up by text: 360 ns for an observation (10 for a `Histogram`),
 * 65 for a count; what would be left of it is the text form.
 *
 * @source Prometheus, Exposition formats, text-based format 0.0.4
 */
export class MetricRegistry {
  readonly contentType = 'text/plain; version=0.0.4; charset=utf-8'
  /** Of the workers of a machine, which one of them answers for; null: the process is alone. */
  source: FigureSource | null = null
  private readonly readers = new Map<string, () => Figure>()

  /** What only grows while the process lives; its name ends in `_total`. */
  counter(name: string, help: string, read: Reading<number>): void {
    this.add(name, () => ({ name, help, type: 'counter', values: plainValues(read()) }))
  }

  gauge(name: string, help: string, read: Reading<number>): void {
    this.add(name, () => ({ name, help, type: 'gauge', values: plainValues(read()) }))
  }

  histogram(name: string, help: string, read: Reading<Histogram>): void {
    this.add(name, () => ({
      ...{ name, help, type: 'histogram' },
      values: labelled(read()).flatMap(([labels, histogram]) =>
        bucketValues(name, labels, histogram),
      ),
    }))
  }

  /** The figures of this process. */
  read(): FigureSet {
    return [...this.readers.values()].map((read) => read())
  }

  /** Those of all processes, with the label `worker`, where there are several; else those of this one. */
  async text(): Promise<string> {
    const all = (await this.source?.()) ?? null
    return textOf(all === null ? this.read() : joined(all))
  }

  private add(name: string, read: () => Figure): void {
    if (this.readers.has(name)) throw new Error(`there is a figure ${name} already`)
    this.readers.set(name, read)
  }
}

/** One figure for each name, as the text form wants it. */
function joined(all: NonNullable<Awaited<ReturnType<FigureSource>>>): FigureSet {
  const byName = new Map<string, Figure & { values: Value[] }>()
  for (const { worker, figures } of all) {
    for (const { values, ...figure } of figures) {
      const one = byName.get(figure.name) ?? { ...figure, values: [] }
      byName.set(figure.name, one)
      for (const value of values) {
        one.values.push({ ...value, labels: { ...value.labels, worker } })
      }
    }
  }
  return [...byName.values()]
}

function textOf(figures: FigureSet): string {
  const texts = figures.map(({ name, help, type, values }) => {
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
  // A reading is an array exactly where it has labels: figures are numbers and histograms.
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
