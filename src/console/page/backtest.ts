import { html } from 'htm/preact'
import { useEffect, useState } from 'preact/hooks'
import { api, type Session } from './api.ts'
import { count, number, percent } from './format.ts'
import { useAction, useLoaded } from './state.ts'
import type { BacktestJob, BacktestResult, ListedDeployment, SwapCell } from './types.ts'
import {
  Badge,
  Empty,
  Failure,
  Field,
  Notice,
  numberHead,
  Page,
  Shown,
  Submit,
  Table,
} from './ui.ts'

const POLL_MS = 1_000
const DAY_MS = 86_400_000

/** Tries a card from a file on the logged scores of a deployment. */
export function BacktestPage({ session }: { session: Session }) {
  const above = html`<a href="#/models">Models</a>`
  if (session.role === 'viewer') {
    return html`<${Page} title="Backtest" above=${above}>
      <${Empty} title="Your role can't start a backtest"><p>A modeler can.</p><//>
    <//>`
  }
  return html`<${Page} title="Backtest" above=${above}><${Trial} /><//>`
}

function Trial() {
  const deployments = useLoaded(
    async () =>
      (await api<{ deployments: readonly ListedDeployment[] }>('GET', 'v1/deployments?limit=200'))
        .deployments,
    [],
  )
  const [job, setJob] = useState<BacktestJob | null>(null)
  const starting = useAction()
  const following = useAction()
  const isOpen = job !== null && job.finished_at === null
  useEffect(() => {
    if (!isOpen) return
    const follow = () =>
      following.run(async () => setJob(await api<BacktestJob>('GET', `v1/jobs/${job.id}`)))
    const timer = setInterval(follow, POLL_MS)
    return () => clearInterval(timer)
  }, [isOpen, job?.id])
  const submit = (event: Event) => {
    event.preventDefault()
    const form = new FormData(event.currentTarget as HTMLFormElement)
    starting.run(async () => {
      setJob(null)
      const file = form.get('card')
      const text = file instanceof File ? (await file.text()).replace(/^\uFEFF/, '') : ''
      const days = Number(form.get('days'))
      const cutoff = String(form.get('cutoff'))
      const from = new Date(Date.now() - days * DAY_MS).toISOString()
      const rest = JSON.stringify({
        source: { deployment: form.get('deployment'), ...(days > 0 && { from }) },
        ...(cutoff !== '' && { cutoffs: [Number(cutoff)] }),
      })
      // Sends the file unchanged, because parsing and serialising could alter a number.
      const body = `{"spec":${text},${rest.slice(1)}`
      setJob(await api<BacktestJob>('POST', 'v1/backtests', body))
    })
  }
  const cancel = () =>
    following.run(async () => setJob(await api<BacktestJob>('POST', `v1/jobs/${job?.id}/cancel`)))
  return html`
    <p>What would another card have done with the applicants that a deployment scored? The log has their bins and not their values: where a bin of the card does not follow from them, the answer is a range.</p>
    <form class="panel" onSubmit=${submit}>
      <${Field} label="Scorecard" hint="The JSON file of the candidate; it is not registered">${(
        field: object,
      ) =>
        html`<input ...${field} name="card" type="file" accept=".json,application/json" required />`}<//>
      <${Shown} of=${deployments}>${(found: readonly ListedDeployment[]) =>
        html`<${Field} label="Deployment">${(field: object) =>
          html`<select ...${field} name="deployment" required>${found.map(
            (one) => html`<option value=${one.slug}>${one.name}, ${one.slug}</option>`,
          )}</select>`}<//>`}<//>
      <${Field} label="Applicants">${(field: object) =>
        html`<select ...${field} name="days"><option value="7">Of the last 7 days</option><option value="30">Of the last 30 days</option><option value="0">All in the log</option></select>`}<//>
      <${Field} label="Cut-off (optional)" hint="The score from which an applicant is approved">${(
        field: object,
      ) => html`<input ...${field} name="cutoff" type="number" step="any" />`}<//>
      ${starting.error && html`<${Failure} error=${starting.error} />`}
      ${starting.error && starting.error.details.length > 0 && html`<ul>${starting.error.details.slice(0, 20).map(({ path, message }) => html`<li><code>${path}</code> ${message}</li>`)}</ul>`}
      <div><${Submit} action=${starting} busy="Starting …">Backtest<//></div>
    </form>
    ${following.error && html`<${Failure} error=${following.error} />`}
    ${isOpen && html`<${Running} job=${job} onCancel=${cancel} />`}
    ${job?.status === 'failed' && html`<${Notice} kind="fault"><p>${job.message}</p><//>`}
    ${job?.status === 'cancelled' && html`<${Notice} kind="info"><p>The backtest was cancelled.</p><//>`}
    ${job?.status === 'done' && job.result && html`<${Result} result=${job.result} />`}`
}

function Running({ job, onCancel }: { job: BacktestJob; onCancel: () => void }) {
  const { done, total } = job.progress
  const share = total > 0 ? ` of about ${count(total)}` : ''
  return html`<${Notice} kind="info">
    <p role="status">${job.status === 'queued' ? 'Waiting for its turn …' : `${count(done)}${share} applicants …`}</p>
    <p><button type="button" onClick=${onCancel}>Cancel</button></p>
  <//>`
}

function Result({ result }: { result: BacktestResult }) {
  const { n, exact_share: exactShare, scores, psi, features, swap_set: swapSet } = result
  if (n === 0) {
    return html`<${Empty} title="No applicants"><p>The deployment scored nobody in this period.</p><//>`
  }
  const mean = rangeText(scores.mean_low, scores.mean_high, number)
  return html`<section>
    <h2>Result</h2>
    <dl class="facts">
      <div><dt>Applicants</dt><dd>${count(n)}</dd></div>
      <div><dt>Exact scores</dt><dd>${percent(exactShare)}</dd></div>
      <div><dt>Mean score</dt><dd>${mean}</dd></div>
      <div><dt>PSI against the served scores</dt><dd>${number(psi.psi)}</dd></div>
    </dl>
    ${swapSet && html`<${Swaps} of=${swapSet} />`}
    <h2>Features</h2>
    <${Table} caption="Features" head=${['Feature', 'Follows from the logged bins', numberHead('Exact')]}>
      ${features.map(
        (one) => html`<tr><th scope="row">${one.name}</th>
        <td><${Badge} kind=${one.map === 'exact' ? 'good' : 'off'}>${one.map}<//></td>
        <td class="number">${percent(one.exact_share)}</td></tr>`,
      )}
    <//>
    <h2>Scores</h2>
    <${Table} caption="Scores by band" head=${[numberHead('From'), numberHead('To'), numberHead('Applicants')]}>
      ${scores.bands.map(
        (band) => html`<tr><td class="number">${number(band.min)}</td>
        <td class="number">${number(band.max)}</td>
        <td class="number">${rangeText(band.n, band.n_possible, count)}</td></tr>`,
      )}
    <//>
  </section>`
}

const CELL_NAMES = {
  both_approve: 'Both approve',
  swap_out: 'Only the present card approves',
  swap_in: 'Only the candidate approves',
  both_decline: 'Both decline',
  undecided: 'The log does not tell',
} as const

function Swaps({ of }: { of: NonNullable<BacktestResult['swap_set']> }) {
  const cells = Object.entries(CELL_NAMES) as [keyof typeof CELL_NAMES, string][]
  const { approval_rate: rate, challenger_approval_rate_low: low } = of
  const high = of.challenger_approval_rate_high
  return html`<h2>Approved from ${number(of.cutoff)}</h2>
    <p>The present card approves ${percent(rate)}, the candidate ${rangeText(low, high, percent)}.</p>
    <${Table} caption="Swap set" head=${['Applicants', numberHead('Number'), numberHead('Share'), numberHead('Mean PD, present'), numberHead('Mean PD, candidate')]}>
      ${cells.map(([name, text]) => {
        const cell: SwapCell = of.cells[name]
        return html`<tr><th scope="row">${text}</th>
          <td class="number">${count(cell.n)}</td>
          <td class="number">${percent(cell.share)}</td>
          <td class="number">${percent(cell.mean_pd_champion)}</td>
          <td class="number">${rangeText(cell.mean_pd_challenger_low, cell.mean_pd_challenger_high, percent)}</td></tr>`
      })}
    <//>`
}

/** One text for two equal bounds. */
function rangeText(
  low: number | null,
  high: number | null,
  text: (value: number) => string,
): string {
  if (low === null || high === null) return '–'
  return low === high ? text(low) : `${text(low)} to ${text(high)}`
}
