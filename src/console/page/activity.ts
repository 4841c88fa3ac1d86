import { html } from 'htm/preact'
import { useState } from 'preact/hooks'
import { api } from './api.ts'
import { HistogramChart, TimeChart } from './charts.ts'
import { ComparisonView } from './comparison.ts'
import { count, milliseconds, number, percent, span, when } from './format.ts'
import { type Mark, MarksFailure, useMarks } from './marks.ts'
import { modelNames } from './names.ts'
import { useLoaded } from './state.ts'
import type { Comparison, Deployment, Histogram, Series, Stats } from './types.ts'
import { Empty, Field, numberHead, Shown, Table, When } from './ui.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const RANGES: Readonly<Record<string, { name: string; lengthMs: number }>> = {
  hour: { name: 'Last hour', lengthMs: HOUR_MS },
  hours: { name: 'Last 6 hours', lengthMs: 6 * HOUR_MS },
  day: { name: 'Last 24 hours', lengthMs: 24 * HOUR_MS },
  week: { name: 'Last 7 days', lengthMs: 7 * 24 * HOUR_MS },
  month: { name: 'Last 30 days', lengthMs: 30 * 24 * HOUR_MS },
}
const STEP_SEC = { minute: 60, hour: 3_600, day: 86_400 } as const
const STATS_MS = 5_000
const COMPARISON_MS = 15_000
/** A comparison of more reads the log for seconds: it is made once. */
const POLLED_APPLICANTS_MAX = 20_000

/** Scores of a deployment in a time range. */
export function Activity({ deployment }: { deployment: Deployment }) {
  const { slug } = deployment
  const [range, setRange] = useState('day')
  const [isLarge, setLarge] = useState(false)
  const timeRange = () => {
    const toMs = Date.now()
    return { fromMs: toMs - (RANGES[range]?.lengthMs ?? HOUR_MS), toMs }
  }
  const stats = useLoaded(
    async () => {
      const { fromMs, toMs } = timeRange()
      const query = `from=${new Date(fromMs).toISOString()}`
      const path = `v1/deployments/${slug}/stats`
      const [summary, series] = await Promise.all([
        api<Stats>('GET', `${path}?${query}`),
        api<Series>('GET', `${path}/series?${query}`),
      ])
      return { stats: summary, ...(await closerLook(path, { series, fromMs, toMs })) }
    },
    [slug, range],
    { everyMs: STATS_MS },
  )
  const comparison = useLoaded(
    async () => {
      // A whole minute: consoles that look at the same time share one report.
      const fromMs = Math.floor(timeRange().fromMs / MINUTE_MS) * MINUTE_MS
      const from = new Date(fromMs).toISOString()
      const found = await api<Comparison>('GET', `v1/deployments/${slug}/stats/models?from=${from}`)
      setLarge(found.applicants > POLLED_APPLICANTS_MAX)
      return found
    },
    [slug, range],
    { everyMs: isLarge ? 0 : COMPARISON_MS, also: deployment.cache_version },
  )
  const marks = useMarks(slug, '', deployment.cache_version)
  const names = useLoaded(modelNames, [slug], { also: deployment.cache_version })
  const choose = (event: Event) => setRange((event.currentTarget as HTMLSelectElement).value)
  return html`<section>
    <div class="section-head">
      <h2>Scores</h2>
      <${Field} label="Time range">${(
        field: object,
      ) => html`<select ...${field} value=${range} onChange=${choose}>
        ${Object.entries(RANGES).map(([value, { name }]) => html`<option value=${value}>${name}</option>`)}
      </select>`}<//>
    </div>
    <${Shown} of=${stats}>${(found: Answered) =>
      found.stats.summary.total_requests === 0
        ? html`<${Empty} title="No scores in this time range"><p>Choose a longer one, or <a href=${`#/try/${slug}`}>score an applicant</a>.</p><//>`
        : html`<${Summary} stats=${found.stats} /><${MarksFailure} marks=${marks} /><${Charts} found=${found} marks=${marks.data ?? []} />`}<//>
  </section>
  <${Shown} of=${comparison}>${(found: Comparison) =>
    found.applicants > 0 &&
    html`<${ComparisonView} comparison=${found} deployment=${deployment} names=${names.data ?? new Map()} marks=${marks.data ?? []} />`}<//>
  ${stats.data && stats.data.stats.recent_scores.length > 0 && html`<${Recent} stats=${stats.data.stats} />`}`
}

/** The scores of a time range, step by step. */
interface Look {
  readonly series: Series
  readonly fromMs: number
  readonly toMs: number
}

interface Answered extends Look {
  readonly stats: Stats
}

/**
 * Divides the time range into finer steps if all scores lie in one, because one point makes no
 * curve.
 *
 * @param path path of the deployment's statistics
 */
async function closerLook(path: string, look: Look): Promise<Look> {
  const { step, points } = look.series
  const [only] = points
  if (only === undefined || points.length > 1 || step === 'minute') return look
  const fromMs = Date.parse(only.starts_at)
  const toMs = Math.min(look.toMs, fromMs + 1000 * STEP_SEC[step])
  const query = `from=${only.starts_at}&to=${new Date(toMs).toISOString()}`
  const series = await api<Series>('GET', `${path}/series?${query}`)
  return closerLook(path, { series, fromMs, toMs })
}

function Summary({ stats: { summary } }: { stats: Stats }) {
  const tiles: [string, unknown][] = [
    ['Applicants', count(summary.total_requests)],
    ['Average score', number(summary.avg_score)],
    ['Average PD', percent(summary.avg_pd)],
    ['Latency p95', milliseconds(summary.p95_latency_ms)],
    ['Lowest to highest', `${number(summary.min_score)} … ${number(summary.max_score)}`],
    ['Last score', html`<${When} at=${summary.last_request_at} />`],
  ]
  return html`<dl class="tiles">${tiles.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`
}

function Charts({ found, marks }: { found: Answered; marks: readonly Mark[] }) {
  const { stats, series, fromMs, toMs } = found
  const stepSec = STEP_SEC[series.step]
  const byStart = new Map(series.points.map((point) => [Date.parse(point.starts_at) / 1000, point]))
  const along: number[] = []
  // Steps without scores are gaps in a curve and empty bars.
  for (let at = Math.floor(fromMs / 1000 / stepSec) * stepSec; at <= toMs / 1000; at += stepSec)
    along.push(at)
  type Point = Series['points'][number]
  const curve = (name: string, read: (point: Point) => number | null) => ({
    name,
    values: along.map((at) => {
      const point = byStart.get(at)
      return point === undefined ? null : read(point)
    }),
  })
  const { summary } = stats
  const period = span(fromMs, toMs)
  const end = (along.at(-1) ?? 0) + stepSec
  const basis = { n: summary.total_requests, period, isUtc: series.step === 'day' }
  const histogram = histogramOf(summary.score_buckets)
  const [only] = series.points
  const isOfOneMinute = only !== undefined && series.points.length === 1
  const times = isOfOneMinute
    ? html`<p class="muted">All scores are from one minute, ${when(only.starts_at)}. Curves appear when there are scores from several minutes.</p>`
    : html`<div class="charts">
    <${TimeChart} title=${`Applicants by ${series.step}`} shape="bars" along=${along} end=${end} marks=${marks} basis=${{ ...basis, unit: 'applicants' }}
      summary=${`${count(summary.total_requests)} in all`}
      curves=${[{ ...curve('Applicants', (point) => point.total_requests), values: along.map((at) => byStart.get(at)?.total_requests ?? 0) }]} />
    <${TimeChart} title="Average probability of default" along=${along} end=${end} marks=${marks} format=${percent} basis=${{ ...basis, unit: 'percent' }}
      summary=${`${percent(summary.avg_pd)} over all`} curves=${[curve('PD', (point) => point.avg_pd)]} />
    <${TimeChart} title="Latency" along=${along} end=${end} marks=${marks} format=${milliseconds} basis=${{ ...basis, unit: 'milliseconds' }}
      summary=${`95 percent of the scores took ${milliseconds(summary.p95_latency_ms)} or less`}
      curves=${[curve('p50', (point) => point.p50_latency_ms), curve('p95', (point) => point.p95_latency_ms)]} />
    <${TimeChart} title="Average score" along=${along} end=${end} marks=${marks} basis=${{ ...basis, unit: 'points' }}
      summary=${`${number(summary.avg_score)} over all`} curves=${[curve('Score', (point) => point.avg_score)]} />
  </div>`
  return html`${times}<div class="charts">
    ${
      histogram &&
      html`<${HistogramChart} title=${`Scores, by ${histogram.width} points`} basis=${{ ...basis, isUtc: false, unit: 'applicants' }}
      summary=${`from ${number(summary.min_score)} to ${number(summary.max_score)}, ${number(summary.avg_score)} on average`}
      histograms=${[{ name: 'Applicants', histogram }]} />`
    }
  </div>`
}

/** Buckets with two ends as consecutive bins; null if they are too far apart to draw. */
function histogramOf(buckets: Stats['summary']['score_buckets']): Histogram | null {
  const counts = new Map<number, number>()
  let width = 0
  for (const [label, times] of Object.entries(buckets)) {
    const match = /^(-?\d+)-(-?\d+)$/.exec(label)
    if (match === null) continue
    counts.set(Number(match[1]), times)
    width = Number(match[2]) - Number(match[1])
  }
  const [low, high] = [Math.min(...counts.keys()), Math.max(...counts.keys())]
  const bins = (high - low) / width + 1
  if (!(bins <= 200)) return null
  return {
    low,
    width,
    counts: Array.from({ length: bins }, (_, bin) => counts.get(low + bin * width) ?? 0),
  }
}

function Recent({ stats }: { stats: Stats }) {
  return html`<section><h2>Newest answers</h2>
    <${Table} caption="Newest answers" head=${['When', 'Applicant', numberHead('Score'), 'Grade', numberHead('PD'), numberHead('Latency'), 'Request']}>
      ${stats.recent_scores.map(
        (one) => html`<tr>
        <td><${When} at=${one.scored_at} isExact /></td>
        <td class="value">${one.id ?? html`<span class="muted">–</span>`}</td>
        <td class="number">${number(one.score)}</td>
        <td>${one.risk_grade ?? '–'}</td>
        <td class="number">${percent(one.pd)}</td>
        <td class="number">${milliseconds(one.latency_ms)}</td>
        <td><a href=${`#/scores/${one.request_id}`}><code>${one.request_id}</code></a></td>
      </tr>`,
      )}
    <//></section>`
}
