import { html } from 'htm/preact'
import { useState } from 'preact/hooks'
import { api } from './api.ts'
import { ReportTools } from './csv.ts'
import { count, number, percent } from './format.ts'
import { PERIOD_DEFAULT, PeriodField, periodName, periodQuery, ReportLinks } from './periods.ts'
import { useLoaded } from './state.ts'
import type { Cutoffs } from './types.ts'
import { Empty, Field, numberHead, optionalHead, Page, Shown, Table } from './ui.ts'

/** As many as one request may name. */
const STEPS_MAX = 100

/** What other cut-offs would approve. */
export function CutoffsPage({ slug }: { slug: string }) {
  const [period, setPeriod] = useState(PERIOD_DEFAULT)
  const loaded = useLoaded(() => cutoffsOf(slug, periodQuery(period)), [slug, period])
  const above = html`<a href=${`#/deployments/${slug}`}>Deployment</a>`
  return html`<${Page} title="Cut-offs" above=${above}>
    <div class="section-head">
      <${ReportLinks} slug=${slug} present="cutoffs" />
      <${PeriodField} period=${period} onChoose=${setPeriod} />
    </div>
    <${Shown} of=${loaded}>${(found: Cutoffs) =>
      found.n === 0
        ? html`<${Empty} title="No applicants in this period"><p>Choose a longer one.</p><//>`
        : html`<${Slider} key=${period} found=${found} /><${Bands} found=${found} period=${period} />`}<//>
  <//>`
}

/** The ends of all score bands as cut-offs, so that the slider needs no further requests. */
async function cutoffsOf(slug: string, from: string): Promise<Cutoffs> {
  const path = `v1/deployments/${slug}/cutoffs`
  const { bands } = await api<Cutoffs>('GET', `${path}?${from}`)
  const ends = [...new Set(bands.flatMap(({ min, max }) => [min, max]))]
  const wide = Math.ceil(ends.length / STEPS_MAX)
  const cutoffs = ends.filter((_, index) => index % wide === 0).map((end) => `&cutoff=${end}`)
  return api<Cutoffs>('GET', `${path}?${from}${cutoffs.join('')}`)
}

function Slider({ found: { cutoffs, n } }: { found: Cutoffs }) {
  const [place, setPlace] = useState(Math.floor(cutoffs.length / 2))
  const chosen = cutoffs[place]
  if (chosen === undefined) return null
  const slide = (event: Event) => setPlace(Number((event.currentTarget as HTMLInputElement).value))
  const tiles: [string, string][] = [
    ['Cut-off', number(chosen.cutoff)],
    ['Approval rate', percent(chosen.approval_rate)],
    ['Expected bad rate of the approved', percent(chosen.mean_pd_approved)],
    ['Expected bads approved', number(chosen.expected_bads_approved)],
    ['Approved', count(chosen.approved)],
    ['Declined', count(chosen.declined)],
  ]
  return html`<section>
    <h2>Over ${count(n)} applicants</h2>
    <${Field} label="Cut-off" hint="A score from here on is approved; on a card with a negative pdo, a score up to here.">${(
      field: object,
    ) =>
      html`<input ...${field} type="range" min="0" max=${cutoffs.length - 1} step="1" value=${place} aria-valuetext=${number(chosen.cutoff)} onInput=${slide} />`}<//>
    <dl class="tiles" aria-live="polite">${tiles.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>
    <p class="muted">Expected bads are the sum of the model's own probabilities: they are right as far as its calibration is.</p>
  </section>`
}

/** The table of score bands as it is saved. */
const BAND_HEAD = ['min', 'max', 'applicants', 'share', 'mean_pd', 'expected_bads']

function Bands({
  found: { bands, grades, model_id: modelId, n },
  period,
}: {
  found: Cutoffs
  period: string
}) {
  const rows = bands.map((band) => [
    ...[band.min, band.max, band.n, band.share, band.mean_pd, band.expected_bads],
  ])
  const most = Math.max(...bands.map(({ share }) => share ?? 0))
  return html`<section>
    <div class="section-head"><h2>By score band</h2><${ReportTools} name=${`score-bands-${modelId}`} head=${BAND_HEAD} rows=${rows} /></div>
    <p class="muted">${periodName(period)}, ${count(n)} applicants, model <code>${modelId}</code>.</p>
    <${Table} caption="By score band" head=${['Score', numberHead('Applicants'), numberHead('Share'), numberHead('Mean PD'), optionalHead('Expected bads', 'number'), optionalHead('Share')]}>
      ${bands.map(
        (band) => html`<tr>
        <th scope="row">${number(band.min)} to below ${number(band.max)}</th>
        <td class="number">${count(band.n)}</td><td class="number">${percent(band.share)}</td>
        <td class="number">${percent(band.mean_pd)}</td><td class="number optional">${number(band.expected_bads)}</td>
        <td class="bar-cell optional" aria-hidden="true"><span class="step"><span class="more" style=${{ left: '0%', width: `${(100 * (band.share ?? 0)) / most}%` }}></span></span></td>
      </tr>`,
      )}
    <//></section>
    ${
      grades.length > 0 &&
      html`<section><h2>By grade</h2>
    <${Table} caption="By grade" head=${['Grade', numberHead('Applicants'), numberHead('Share'), numberHead('Mean PD'), optionalHead('Expected bads', 'number')]}>
      ${grades.map(
        (one) => html`<tr><th scope="row">${one.grade ?? 'none'}</th>
        <td class="number">${count(one.n)}</td><td class="number">${percent(one.share)}</td>
        <td class="number">${percent(one.mean_pd)}</td><td class="number optional">${number(one.expected_bads)}</td></tr>`,
      )}
    <//></section>`
    }`
}
