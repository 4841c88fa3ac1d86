import { html } from 'htm/preact'
import { useState } from 'preact/hooks'
import { AlarmPanel, withLevels } from './alarm.ts'
import { api } from './api.ts'
import { type Basis, TimeChart } from './charts.ts'
import { Distribution } from './distribution.ts'
import { ExpectedActual } from './expected-actual.ts'
import { count, index, number, percent, sampleSize, signed, span } from './format.ts'
import { type Mark, MarksFailure, useMarks } from './marks.ts'
import { PERIOD_DEFAULT, PeriodField, periodName, periodQuery, ReportLinks } from './periods.ts'
import { useLoaded } from './state.ts'
import type { Alarm, FeatureStability, Stability, StabilitySeries } from './types.ts'
import { Empty, numberHead, optionalHead, Page, Shown, Table, When } from './ui.ts'
import { noFeatureVerdict, noScoreVerdict, VerdictBadge } from './verdict.ts'

/** Features in the chart over time. */
const CHARTED = 3

/** Whether the applicants of a deployment have moved, and in which feature. */
export function StabilityPage({ slug }: { slug: string }) {
  const [period, setPeriod] = useState(PERIOD_DEFAULT)
  const interval = period === 'month' ? 'day' : 'week'
  const loaded = useLoaded(async () => {
    const path = `v1/deployments/${slug}/stability`
    const alarm = await api<Alarm>('GET', `${path}/alarm`)
    const from = withLevels(periodQuery(period), alarm)
    const stability = await api<Stability>('GET', `${path}?${from}`)
    const series = await api<StabilitySeries>('GET', `${path}/series?interval=${interval}&${from}`)
    return { alarm, stability, series }
  }, [slug, period])
  const marks = useMarks(slug, periodQuery(period), period)
  const above = html`<a href=${`#/deployments/${slug}`}>Deployment</a>`
  return html`<${Page} title="Stability" above=${above}>
    <div class="section-head">
      <${ReportLinks} slug=${slug} present="stability" />
      <${PeriodField} period=${period} onChoose=${setPeriod} />
    </div>
    <${Shown} of=${loaded}>${({ alarm, stability, series }: Found) =>
      stability.n === 0
        ? html`<${Empty} title="No applicants in this period"><p>Choose a longer one: ${periodName(period)} has no scores of the champion.</p><//>`
        : html`<${MarksFailure} marks=${marks} /><${Report} stability=${stability} series=${series} marks=${marks.data ?? []} /><${AlarmPanel} slug=${slug} alarm=${alarm} onSet=${loaded.reload} /><${ExpectedActual} slug=${slug} marks=${marks.data ?? []} />`}<//>
  <//>`
}

interface Found {
  readonly alarm: Alarm
  readonly stability: Stability
  readonly series: StabilitySeries
}

function Report({
  stability,
  series,
  marks,
}: Omit<Found, 'alarm'> & { readonly marks: readonly Mark[] }) {
  const { score, baseline, n } = stability
  const features = [...stability.features].sort((a, b) => (b.csi_psi ?? 0) - (a.csi_psi ?? 0))
  const newest = series.points.at(-1)
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
    <${OverTime} features=${features} stability=${stability} series=${series} marks=${marks} />
    <${Distribution} stability=${stability} basis=${basisOf(stability, series)} />
  </section>
  <section>
    <h2>Features, most moved first</h2>
    <${Table} caption="Features" head=${['Feature', 'Verdict', numberHead('PSI'), optionalHead('By chance up to', 'number'), numberHead('Points moved'), optionalHead('Missing', 'number')]}>
      ${features.map(
        (feature) => html`<tr key=${feature.name}>
        <th scope="row"><a href=${`#${idOf(feature)}`} onClick=${(event: Event) => open(event, feature)}>${feature.name}</a></th>
        <td><${VerdictBadge} verdict=${feature.verdict} without=${noFeatureVerdict(stability)} /></td>
        <td class="number">${index(feature.csi_psi)}</td>
        <td class="number optional">${index(feature.cv_95)}</td>
        <td class="number">${signed(feature.csi_points)}</td>
        <td class="number optional">${percent(feature.missing_share)}</td>
      </tr>`,
      )}
    <//>
    ${features.map((feature) => html`<${Cells} key=${feature.name} feature=${feature} />`)}
  </section>`
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
function basisOf(stability: Stability, { points }: StabilitySeries): Omit<Basis, 'unit'> {
  const { n, from, to } = stability
  const nowMs = Date.now()
  const fromMs = Date.parse(from ?? points[0]?.from ?? new Date(nowMs).toISOString())
  return { n, period: span(fromMs, to === null ? nowMs : Date.parse(to)) }
}

function OverTime({
  features,
  stability,
  series,
  marks,
}: {
  stability: Stability
  features: readonly FeatureStability[]
  series: StabilitySeries
  marks: readonly Mark[]
}) {
  const { points, interval } = series
  const basis = basisOf(stability, series)
  if (points.length < 2) {
    return html`<p class="muted">A curve over time needs applicants of at least two ${interval}s.</p>`
  }
  const moved = features.filter(({ csi_psi }) => csi_psi !== null).slice(0, CHARTED)
  const along = points.map(({ from }) => Date.parse(from) / 1000)
  const ofFeatures = moved.map(({ name }) => ({
    name,
    values: points.map((point) => point.features.find((one) => one.name === name)?.csi_psi ?? null),
  }))
  const ofScore = { name: 'Score', values: points.map(({ score }) => score.psi) }
  const hasScore = ofScore.values.some((value) => value !== null)
  return html`<div class="charts">
    ${
      (hasScore || ofFeatures.length > 0) &&
      html`<${TimeChart} title=${`PSI by ${interval}`} along=${along} format=${index} marks=${marks} basis=${{ ...basis, unit: 'PSI' }}
        summary=${`the most moved features are ${moved.map(({ name }) => name).join(', ')}`}
        curves=${[...(hasScore ? [ofScore] : []), ...ofFeatures]} />`
    }
    <${TimeChart} title=${`Mean score by ${interval}`} along=${along} marks=${marks} basis=${{ ...basis, unit: 'points' }}
      summary=${`${points.length} ${interval}s`} curves=${[{ name: 'Mean score', values: points.map(({ score }) => score.mean) }]} />
    <${TimeChart} title=${`Applicants by ${interval}`} shape="bars" along=${along} marks=${marks} basis=${{ ...basis, unit: 'applicants' }}
      summary=${`${points.length} ${interval}s`} curves=${[{ name: 'Applicants', values: points.map(({ n }) => n) }]} />
  </div>`
}

/** The cells behind the index of a feature. */
function Cells({ feature }: { feature: FeatureStability }) {
  return html`<details class="panel" id=${idOf(feature)}><summary>${feature.name}: cells</summary>
    <${Table} caption=${`Cells of ${feature.name}`} head=${['Value', numberHead('Points'), numberHead('Sample'), numberHead('Now'), numberHead('Applicants'), numberHead('PSI'), numberHead('Points moved')]}>
      ${feature.cells.map(
        (cell) => html`<tr>
        <th scope="row">${cell.outcome === 'matched' ? (cell.bin?.range ?? cell.bin?.value) : cell.outcome.replaceAll('_', ' ')}</th>
        <td class="number">${signed(cell.points)}</td>
        <td class="number">${cell.expected === null ? html`<span class="muted">unknown</span>` : percent(cell.expected_share)}</td>
        <td class="number">${percent(cell.actual_share)}</td>
        <td class="number">${count(cell.actual)}</td>
        <td class="number">${index(cell.psi)}</td>
        <td class="number">${signed(cell.points_part)}</td>
      </tr>`,
      )}
    <//></details>`
}
