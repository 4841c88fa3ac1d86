import { html } from 'htm/preact'
import { useEffect, useState } from 'preact/hooks'
import { api, type Session } from './api.ts'
import { BacktestResultView } from './backtest-result.ts'
import { count, span } from './format.ts'
import { useAction, useLoaded } from './state.ts'
import type { BacktestJob, ListedDeployment, OutcomeDefinition } from './types.ts'
import { Empty, Failure, Field, Notice, Page, Shown, Submit } from './ui.ts'

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
  const definitions = useLoaded(
    () => api<{ outcome_definitions: OutcomeDefinition[] }>('GET', 'v1/outcome-definitions'),
    [],
  )
  const [job, setJob] = useState<BacktestJob | null>(null)
  const [period, setPeriod] = useState('')
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
      const definition = String(form.get('definition') ?? '')
      const nowMs = Date.now()
      const fromMs = nowMs - days * DAY_MS
      const from = new Date(fromMs).toISOString()
      setPeriod(days > 0 ? span(fromMs, nowMs) : 'the whole log')
      const rest = JSON.stringify({
        source: { deployment: form.get('deployment'), ...(days > 0 && { from }) },
        ...(cutoff !== '' && { cutoffs: [Number(cutoff)] }),
        ...(definition !== '' && { definition }),
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
      <${Shown} of=${definitions}>${({
        outcome_definitions: all,
      }: {
        outcome_definitions: readonly OutcomeDefinition[]
      }) =>
        all.length > 0 &&
        html`<${Field} label="Against outcomes (optional)" hint="How well the card would have told good from bad">${(
          field: object,
        ) =>
          html`<select ...${field} name="definition"><option value="">None</option>${all.map(
            ({ id, label }) => html`<option value=${id}>${label} (${id})</option>`,
          )}</select>`}<//>`}<//>
      ${starting.error && html`<${Failure} error=${starting.error} />`}
      ${starting.error && starting.error.details.length > 0 && html`<ul>${starting.error.details.slice(0, 20).map(({ path, message }) => html`<li><code>${path}</code> ${message}</li>`)}</ul>`}
      <div><${Submit} action=${starting} busy="Starting …">Backtest<//></div>
    </form>
    ${following.error && html`<${Failure} error=${following.error} />`}
    ${isOpen && html`<${Running} job=${job} onCancel=${cancel} />`}
    ${job?.status === 'failed' && html`<${Notice} kind="fault"><p>${job.message}</p><//>`}
    ${job?.status === 'cancelled' && html`<${Notice} kind="info"><p>The backtest was cancelled.</p><//>`}
    ${job?.status === 'done' && job.result && html`<${BacktestResultView} result=${job.result} period=${period} />`}`
}

function Running({ job, onCancel }: { job: BacktestJob; onCancel: () => void }) {
  const { done, total } = job.progress
  const share = total > 0 ? ` of about ${count(total)}` : ''
  return html`<${Notice} kind="info">
    <p role="status">${job.status === 'queued' ? 'Waiting for its turn …' : `${count(done)}${share} applicants …`}</p>
    <p><button type="button" onClick=${onCancel}>Cancel</button></p>
  <//>`
}
