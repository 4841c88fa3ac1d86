import { html } from 'htm/preact'
import { useState } from 'preact/hooks'
import { api } from './api.ts'
import { bandTable, ReportTools } from './csv.ts'
import { count, number, percent } from './format.ts'
import {
  PERIOD_DEFAULT,
  PeriodField,
  periodName,
  periodQuery,
  periodSpan,
  ReportLinks,
} from './periods.ts'
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
        : html`<${Slider} key=${period} found=${found} slug=${slug} period=${period} /><${Bands} found=${found} period=${period} />`}<//>
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

function Slider({ found, slug, period }: { found: Cutoffs; slug: string; period: string }) {
  const { cutoffs, n } = found
  const [place, setPlace] = useState(Math.floor(cutoffs.length / 2))
  const [own, setOwn] = useState<number | null>(null)
  // Asks for a cut-off of the user's own; those of the slider are there.
  const asked = useLoaded(
    () => (own === null ? Promise.resolve(null) : oneCutoff(slug, own, periodQuery(period))),
    [slug, period, own],
  )
  const atPlace = cutoffs[place]
  if (atPlace === undefined) return null
  const slide = (event: Event) => {
    setPlace(Number((event.currentTarget as HTMLInputElement).value))
    setOwn(null)
  }
  const type = (event: Event) => {
    const text = (event.currentTarget as HTMLInputElement).value.trim()
    setOwn(text === '' ? null : Number(text))
  }
  return html`<section>
    <h2>Over ${count(n)} applicants</h2>
    <${Field} label="Cut-off" hint="A score from here on is approved; on a card with a negative pdo, a score up to here.">${(
      field: object,
    ) =>
      html`<input ...${field} type="range" min="0" max=${cutoffs.length - 1} step="1" value=${place} aria-valuetext=${number(atPlace.cutoff)} onInput=${slide} />`}<//>
    <${Field} label="Exact cut-off" hint="For one between the steps of the slider.">${(
      field: object,
    ) =>
      html`<input ...${field} type="number" step="any" value=${own ?? atPlace.cutoff} onChange=${type} />`}<//>
    ${
      own === null
        ? html`<${Decided} chosen=${atPlace} />`
        : html`<${Shown} of=${asked}>${(chosen: Decision | null) => chosen !== null && html`<${Decided} chosen=${chosen} />`}<//>`
    }
    <p class="muted">Expected bads are the sum of the model's own probabilities: they are right as far as its calibration is.</p>
  </section>`
}

type Decision = Cutoffs['cutoffs'][number]

async function oneCutoff(slug: string, cutoff: number, from: string): Promise<Decision | null> {
  const path = `v1/deployments/${slug}/cutoffs?cutoff=${cutoff}&${from}`
  const { cutoffs } = await api<Cutoffs>('GET', path)
  return cutoffs[0] ?? null
}

function Decided({ chosen }: { chosen: Decision }) {
  const tiles: [string, string][] = [
    ['Cut-off', number(chosen.cutoff)],
    ['Approval rate', percent(chosen.approval_rate)],
    ['Expected bad rate of the approved', percent(chosen.mean_pd_approved)],
    ['Expected bads approved', number(chosen.expected_bads_approved)],
    ['Approved', count(chosen.approved)],
    ['Declined', count(chosen.declined)],
  ]
  return html`<dl class="tiles" aria-live="polite">${tiles.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`
}

function Bands({ found, period }: { found: Cutoffs; period: string }) {
  const { bands, grades, model_id: modelId, model_version: version, n } = found
  const { head, rows } = bandTable(found)
  const most = Math.max(...bands.map(({ share }) => share ?? 0))
  return html`<section>
    <div class="section-head"><h2>By score band</h2><${ReportTools} name=${`score-bands-${modelId}`} head=${head} rows=${rows} /></div>
    <p class="muted">${periodName(period)} (${periodSpan(period)}), ${count(n)} applicants, version ${version}, model <code>${modelId}</code>.</p>
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
