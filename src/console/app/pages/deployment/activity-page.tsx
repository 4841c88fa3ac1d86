import { NativeSelect } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { read } from '../../api/client.ts'
import { useSlug } from '../../api/deployments.ts'
import { useMarks } from '../../api/reports.ts'
import type { Schemas } from '../../api/types.ts'
import { useAddress } from '../../ui/address.ts'
import { Charts, countChart } from '../../ui/chart/chart.tsx'
import { shortDay, when } from '../../ui/dates.ts'
import { Facts, When } from '../../ui/facts.tsx'
import { milliseconds, NONE, number, percent, whole } from '../../ui/figures.ts'
import { Panel } from '../../ui/page.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { DataTable } from '../../ui/table.tsx'
import { computeStart, DeploymentPage, HOUR_MS, MINUTE_MS, UnreadChanges } from './frame.tsx'
import { Models } from './models.tsx'

const RANGES: Readonly<Record<string, { readonly label: string; readonly hours: number }>> = {
  hour: { label: 'Last hour', hours: 1 },
  hours: { label: 'Last 6 hours', hours: 6 },
  day: { label: 'Last 24 hours', hours: 24 },
  week: { label: 'Last 7 days', hours: 7 * 24 },
  month: { label: 'Last 30 days', hours: 30 * 24 },
}
const STANDARD = 'month'
const STEP_MS = { minute: MINUTE_MS, hour: HOUR_MS, day: 24 * HOUR_MS } as const
const REFRESH_MS = 15_000
const RECENT = 20

export default function ActivityPage() {
  const [search, , bind] = useAddress()
  const name = search['range'] ?? STANDARD
  const range = RANGES[name] ?? { label: '', hours: 1 }
  return (
    <DeploymentPage title="Activity" facts={[range.label]}>
      <div className="filters">
        <NativeSelect
          label="Time range"
          data={Object.entries(RANGES).map(([value, { label }]) => ({ value, label }))}
          {...bind('range', STANDARD)}
        />
      </div>
      <Scores hours={range.hours} />
      <Models hours={range.hours} />
    </DeploymentPage>
  )
}

interface Range {
  readonly fromMs: number
  readonly toMs: number
}

/** A series in finer steps if all scores lie in one, because one point makes no curve. */
async function lookCloser(slug: string, range: Range, signal: AbortSignal) {
  const query = {
    from: new Date(range.fromMs).toISOString(),
    to: new Date(range.toMs).toISOString(),
  }
  const params = { path: { slug }, query }
  const series = await read('/v1/deployments/{slug}/stats/series', params, signal)
  const [only] = series.points
  if (only === undefined || series.points.length > 1 || series.step === 'minute') {
    return { series, ...range }
  }
  const fromMs = Date.parse(only.starts_at)
  const toMs = Math.min(range.toMs, fromMs + STEP_MS[series.step])
  return lookCloser(slug, { fromMs, toMs }, signal)
}

function Scores({ hours }: { hours: number }) {
  const slug = useSlug()
  const asked = useQuery({
    queryKey: ['/v1/deployments/{slug}/stats', slug, hours],
    queryFn: async ({ signal }) => {
      const from = computeStart(hours)
      const recent = { path: { slug }, query: { from, recent: RECENT } }
      const [stats, look] = await Promise.all([
        read('/v1/deployments/{slug}/stats', recent, signal),
        lookCloser(slug, { fromMs: Date.parse(from), toMs: Date.now() }, signal),
      ])
      return { stats, ...look }
    },
    refetchInterval: REFRESH_MS,
  })
  return (
    <Loaded of={asked}>
      {({ stats, series, fromMs, toMs }) =>
        stats.summary.total_requests === 0 ? (
          <Empty title="No scores in this time range">
            <p>
              Choose a longer one, or{' '}
              <Link to={`/deployments/${slug}/try` as string}>try an applicant</Link>.
            </p>
          </Empty>
        ) : (
          <>
            <Summary summary={stats.summary} />
            <Curves series={series} fromMs={fromMs} toMs={toMs} />
            <Recent recent={stats.recent_scores} />
          </>
        )
      }
    </Loaded>
  )
}

function Summary({ summary }: { summary: Schemas['StatsSummary'] }) {
  return (
    <Panel>
      <Facts
        facts={[
          ['Applicants', whole(summary.total_requests)],
          ['Average score', number(summary.avg_score)],
          ['Lowest to highest', `${number(summary.min_score)} … ${number(summary.max_score)}`],
          ['Average PD', percent(summary.avg_pd)],
          ['Latency p95', milliseconds(summary.p95_latency_ms)],
          ['Last score', <When key="last" at={summary.last_request_at} />],
        ]}
      />
    </Panel>
  )
}

/** Steps without scores are gaps in a curve and empty bars. */
function Curves(props: Range & { series: Schemas['StatsSeries'] }) {
  const { series, fromMs, toMs } = props
  const { step, points } = series
  const slug = useSlug()
  const byStart = new Map(points.map((point) => [Date.parse(point.starts_at), point]))
  const width = STEP_MS[step]
  const first = Math.floor(fromMs / width) * width
  const at = Array.from({ length: Math.ceil((toMs - first) / width) }, (_, i) => first + i * width)
  const read = (value: (point: Schemas['StatsPoint']) => number | null) =>
    at.map((one) => {
      const point = byStart.get(one)
      return point === undefined ? null : value(point)
    })
  const marks = useMarks(slug, fromMs, toMs)
  const [only] = points
  if (only !== undefined && points.length === 1) {
    return (
      <p className="muted">
        All scores are from one {step}, {when(only.starts_at)}. Curves appear when there are scores
        from several.
      </p>
    )
  }
  return (
    <Panel title={`By ${step}`}>
      <UnreadChanges />
      <Charts
        at={at}
        atName="From"
        formatAt={step === 'day' ? shortDay : when}
        height={150}
        marks={marks}
        charts={[
          countChart(read((one) => one.total_requests)),
          {
            title: 'Average score',
            series: [{ name: 'Score', values: read((one) => one.avg_score) }],
            format: number,
          },
          {
            title: 'Average probability of default',
            series: [{ name: 'PD', values: read((one) => one.avg_pd) }],
            format: percent,
          },
          {
            title: 'Latency',
            series: [
              { name: 'p50', values: read((one) => one.p50_latency_ms) },
              { name: 'p95', values: read((one) => one.p95_latency_ms) },
            ],
            format: milliseconds,
            from: 0,
          },
        ]}
      />
    </Panel>
  )
}

function Recent({ recent }: { recent: readonly Schemas['RecentScore'][] }) {
  if (recent.length === 0) return null
  return (
    <Panel title="Newest answers">
      <DataTable
        caption="Newest answers"
        rows={recent}
        columns={[
          { head: 'When', cell: ({ scored_at: at }) => <When at={at} isExact /> },
          { head: 'Applicant', cell: ({ id }) => id ?? NONE },
          { head: 'Score', figure: ({ score }) => number(score) },
          { head: 'Grade', cell: ({ risk_grade: grade }) => grade ?? NONE },
          { head: 'PD', figure: ({ pd }) => percent(pd) },
          { head: 'Latency', figure: ({ latency_ms: ms }) => milliseconds(ms) },
          {
            head: 'Request',
            cell: ({ request_id: id }) => (
              <Link to={`/scores/${id}` as string}>
                <code>{id}</code>
              </Link>
            ),
          },
        ]}
      />
    </Panel>
  )
}
