import { expect, test } from 'vitest'
import { Histogram, MetricRegistry } from '../../../../src/platform/metrics/registry.ts'

test('metrics are read at each scrape, in the text format of Prometheus', async () => {
  const metrics = new MetricRegistry()
  let count = 0
  const sizes = new Histogram([1, 2.5])
  metrics.counter('things_total', 'Things.', () => count)
  metrics.gauge('parts', 'Parts.', () => [
    [{ part: 'a "b"' }, 1],
    [{ part: 'c' }, 2],
  ])
  metrics.histogram('size', 'Sizes.', () => [[{ kind: 'k' }, sizes]])
  count = 7
  for (const size of [1, 1.5, 2.5, 3]) sizes.observe(size)
  expect(await metrics.text()).toBe(
    [
      '# HELP things_total Things.',
      '# TYPE things_total counter',
      'things_total 7',
      '',
      '# HELP parts Parts.',
      '# TYPE parts gauge',
      'parts{part="a \\"b\\""} 1',
      'parts{part="c"} 2',
      '',
      '# HELP size Sizes.',
      '# TYPE size histogram',
      'size_bucket{kind="k",le="1"} 1',
      'size_bucket{kind="k",le="2.5"} 3',
      'size_bucket{kind="k",le="+Inf"} 4',
      'size_sum{kind="k"} 8',
      'size_count{kind="k"} 4',
      '',
    ].join('\n'),
  )
})

// With one name for two metrics, one would silently replace the other.
test('a name is given once', () => {
  const metrics = new MetricRegistry()
  metrics.counter('things_total', 'Things.', () => 1)
  expect(() => metrics.gauge('things_total', 'Others.', () => 2)).toThrow(/already/)
})

// Added up they would fall when one of the processes starts anew, which reads as a restart of all.
test('the metrics of several processes are listed together under one name', async () => {
  const snapshots = [3, 4].map((count, index) => {
    const metrics = new MetricRegistry()
    const sizes = new Histogram([1])
    sizes.observe(count)
    metrics.counter('things_total', 'Things.', () => [[{ kind: 'k' }, count]])
    metrics.histogram('size', 'Sizes.', () => sizes)
    return { worker: `${index + 1}`, metrics: structuredClone(metrics.read()) }
  })
  const metrics = new MetricRegistry()
  metrics.counter('alone_total', 'Of this one.', () => 1)
  metrics.source = async () => snapshots
  const text = await metrics.text()
  expect(text).toContain(
    'things_total{kind="k",worker="1"} 3\nthings_total{kind="k",worker="2"} 4\n',
  )
  expect(text).toContain('size_bucket{le="+Inf",worker="2"} 1')
  expect(text.match(/# TYPE size histogram/g)).toHaveLength(1)

  metrics.source = async () => null
  expect(await metrics.text()).toContain('alone_total 1')
})
