import { html } from 'htm/preact'
import { useState } from 'preact/hooks'
import { AlarmPanel, withLevels } from './alarm.ts'
import { api } from './api.ts'
import type { Basis } from './charts.ts'
import { Distribution } from './distribution.ts'
import { ExpectedActual } from './expected-actual.ts'
import { count, index, number, percent, sampleSize, signed, span, spanInUtc } from './format.ts'
import { unusual } from './health.ts'
import { type Mark, MarksFailure, useMarks } from './marks.ts'
import { PeriodField, periodName, periodOf, periodQuery, ReportLinks } from './periods.ts'
import { CellTable } from './stability-cells.ts'
import { OverTime } from './stability-over-time.ts'
import { useLoaded } from './state.ts'
import type { Alarm, FeatureStability, Stability, StabilitySeries } from './types.ts'
import { Empty, Field, numberHead, optionalHead, Page, Shown, Table, When } from './ui.ts'
import { noFeatureVerdict, noScoreVerdict, VerdictBadge } from './verdict.ts'

const INTERVALS = { day: 'Day', week: 'Week', month: 'Month' } as const

interface StabilityPageProps {
  readonly slug: string
  /** The period of the address, if it has one. */
  readonly start: string | undefined
}

/** Whether the applicants of a deployment have moved, and in which feature. */
export function StabilityPage({ slug, start }: StabilityPageProps) {
  const [period, setPeriod] = useState(periodOf(start))
  const [interval, setInterval] = useState<string>('week')
  const choose = (event: Event) => setInterval((event.currentTarget as HTMLSelectElement).value)
  const loaded = useLoaded(async () => {
    const path = `v1/deployments/${slug}/stability`
    const alarm = await api<Alarm>('GET', `${path}/alarm`)
    const from = withLevels(periodQuery(period), alarm)
    // Asked at once, both come from one scan of the log.
    const [stability, series] = await Promise.all([
      api<Stability>('GET', `${path}?${from}`),
      api<StabilitySeries>('GET', `${path}/series?interval=${interval}&${from}`),
    ])
    return { alarm, stability, series }
  }, [slug, period, interval])
  const marks = useMarks(slug, periodQuery(period), period)
  const above = html`<a href=${`#/deployments/${slug}`}>Deployment</a>`
  return html`<${Page} title="Stability" above=${above}>
    <div class="section-head">
      <${ReportLinks} slug=${slug} present="stability" />
      <${PeriodField} period=${period} onChoose=${setPeriod} />
      <${Field} label="By">${(
        field: object,
      ) => html`<select ...${field} value=${interval} onChange=${choose}>
        ${Object.entries(INTERVALS).map(([value, name]) => html`<option value=${value}>${name}</option>`)}
      </select>`}<//>
    </div>
    <${Shown} of=${loaded}>${({ alarm, stability, series }: Found) =>
      html`${
        stability.n === 0
          ? html`<${Empty} title="No applicants in this period"><p>Choose a longer one: ${periodName(period)} has no scores of the champion.</p><//>`
          : html`<${MarksFailure} marks=${marks} /><${Report} slug=${slug} stability=${stability} series=${series} marks=${marks.data ?? []} />`
      }<${AlarmPanel} slug=${slug} alarm=${alarm} onSet=${loaded.reload} /><${ExpectedActual} slug=${slug} marks=${marks.data ?? []} />`}<//>
  <//>`
}

interface Found {
  readonly alarm: Alarm
  readonly stability: Stability
  readonly series: StabilitySeries
}

interface ReportProps extends Omit<Found, 'alarm'> {
  readonly slug: string
  readonly marks: readonly Mark[]
}

function Report({ slug, stability, series, marks }: ReportProps) {
  const { score, baseline, n } = stability
  const [by, setBy] = useState<SortedBy>('period')
  const newest = series.points.at(-1)
  const features = mostMovedFirst(stability.features, by === 'newest' ? newest : undefined)
  const tiles: [string, unknown][] = [
    ['Applicants', count(n)],
    ['Development sample', baseline === null ? '–' : count(baseline.n)],
    ['PSI of the score', index(score.psi)],
    ['By chance up to', index(score.cv_95)],
    [
      'Verdict',
      html`<${VerdictBadge} verdict=${score.verdict} without=${noScoreVerdict(stability)} /> <span class="muted small">${sampleSize(n)}</span>`,
    ],
    [
      `Newest ${series.interval}`,
      newest === undefined
        ? '–'
        : html`<${VerdictBadge} verdict=${newest.score.verdict} without=${noScoreVerdict(stability)} /> <span class="muted small">${sampleSize(newest.n)}</span>`,
    ],
    ['Mean score', number(score.mean)],
    ['In the sample', number(score.mean_expected)],
  ]
  return html`<section>
    <h2>Score of version ${stability.model_version}</h2>
    <dl class="tiles">${tiles.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>
    ${
      baseline === null
        ? html`<${Empty} title="No development sample"><p>Without one there is nothing to compare with. Send counts or a period to <code>PUT /v1/models/${stability.model_id}/baseline</code>.</p><//>`
        : html`<p class="muted">Compared with ${baseline.origin === 'period' ? 'a period of scores' : 'the counts'} of <${When} at=${baseline.created_at} />. A verdict needs so many applicants that chance alone stays below ${number(stability.watch)}.</p>`
    }
    <${OverTime} slug=${slug} features=${features} series=${series} marks=${marks} basis=${basisOf(stability, series, spanInUtc)} />
    <${Distribution} stability=${stability} basis=${basisOf(stability, series, span)} />
  </section>
  <section>
    <h2>Features, most moved first</h2>
    <div class="filters"><${Field} label="Sort features by">${(
      field: object,
    ) => html`<select ...${field} value=${by} onChange=${(event: Event) => setBy(sortedBy(event))}>
      <option value="period">Whole period</option>
      <option value="newest">Newest ${series.interval}</option>
    </select>`}<//></div>
    <${Table} caption="Features" head=${['Feature', 'Verdict', numberHead('PSI'), optionalHead('By chance up to', 'number'), `Newest ${series.interval}`, numberHead('Points moved'), optionalHead('Missing or in no bin', 'number')]}>
      ${features.map(
        (feature) => html`<tr key=${feature.name}>
        <th scope="row"><a href=${`#${idOf(feature)}`} onClick=${(event: Event) => open(event, feature)}>${feature.name}</a></th>
        <td><${VerdictBadge} verdict=${feature.verdict} without=${noFeatureVerdict(stability)} /></td>
        <td class="number">${index(feature.csi_psi)}</td>
        <td class="number optional">${index(feature.cv_95)}</td>
        <td>${newestOf(feature, newest)}</td>
        <td class="number">${signed(feature.csi_points)}</td>
        <td class="number optional">${feature.n === 0 ? '–' : percent(unusual(feature))}</td>
      </tr>`,
      )}
    <//>
    ${features.map((feature) => html`<${Cells} key=${feature.name} feature=${feature} />`)}
  </section>`
}

/** By what features are sorted: their index over the period, or in its newest interval. */
type SortedBy = 'period' | 'newest'

function sortedBy(event: Event): SortedBy {
  return (event.currentTarget as HTMLSelectElement).value === 'newest' ? 'newest' : 'period'
}

/** @param point whose indices decide; absent: those of the features themselves */
function mostMovedFirst(
  features: readonly FeatureStability[],
  point: StabilitySeries['points'][number] | undefined,
): FeatureStability[] {
  const found = new Map(point?.features.map(({ name, csi_psi }) => [name, csi_psi]))
  const indexOf = ({ name, csi_psi }: FeatureStability) =>
    (point === undefined ? csi_psi : found.get(name)) ?? -1
  return [...features].sort((a, b) => indexOf(b) - indexOf(a))
}

/** The verdict of a feature in the newest interval, with its index. */
function newestOf(
  { name }: FeatureStability,
  newest: StabilitySeries['points'][number] | undefined,
) {
  const found = newest?.features.find((one) => one.name === name)
  if (found === undefined || found.csi_psi === null) return '–'
  return html`<${VerdictBadge} verdict=${found.verdict} /> ${index(found.csi_psi)}`
}

const idOf = ({ name }: FeatureStability) => `cells-${encodeURIComponent(name)}`

/** Opens the cells of a feature instead of following the link, which would leave the page. */
function open(event: Event, feature: FeatureStability): void {
  event.preventDefault()
  const details = document.getElementById(idOf(feature))
  if (!(details instanceof HTMLDetailsElement)) return
  details.open = true
  details.scrollIntoView({ block: 'nearest' })
  details.querySelector('summary')?.focus()
}

/** What charts of the report stand on: without a period of its own, that of the intervals. */
function basisOf(
  stability: Stability,
  { points }: StabilitySeries,
  name: typeof span,
): Omit<Basis, 'unit'> {
  const { n, from, to } = stability
  const nowMs = Date.now()
  const fromMs = Date.parse(from ?? points[0]?.from ?? new Date(nowMs).toISOString())
  return { n, period: name(fromMs, to === null ? nowMs : Date.parse(to)) }
}

function Cells({ feature }: { feature: FeatureStability }) {
  return html`<details class="panel" id=${idOf(feature)}><summary>${feature.name}: cells</summary>
    <${CellTable} feature=${feature} caption=${`Cells of ${feature.name}`} /></details>`
}
