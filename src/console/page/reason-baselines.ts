import { html } from 'htm/preact'
import { useState } from 'preact/hooks'
import { api, type Session } from './api.ts'
import { count, deploys, number } from './format.ts'
import { isObject, methodName } from './reason-words.ts'
import { useAction, useLoaded } from './state.ts'
import type { Model, ReasonBaseline } from './types.ts'
import {
  Badge,
  Dialog,
  Empty,
  Failure,
  Field,
  numberHead,
  optionalHead,
  Shown,
  Submit,
  Table,
  When,
} from './ui.ts'

interface BaselinesProps {
  readonly slug: string
  readonly champion: Model
  readonly session: Session
}

/** The newest baselines of a deployment; older ones are in the API. */
const LISTED_MAX = 50
const COMPUTED = new Set(['mean_all', 'mean_at_cutoff'])

/** What reasons are measured against: the baselines of a deployment, and which is in force. */
export function ReasonBaselines({ slug, champion, session }: BaselinesProps) {
  const path = `v1/deployments/${slug}/reason-baselines`
  const loaded = useLoaded(
    () =>
      api<{ reason_baselines: readonly ReasonBaseline[] }>('GET', `${path}?limit=${LISTED_MAX}`),
    [slug],
  )
  const [isMaking, setMaking] = useState(false)
  const action = useAction()
  const method = isObject(champion.spec.reasons) ? String(champion.spec.reasons['method']) : ''
  if (!COMPUTED.has(method)) {
    return html`<section><h2>Baselines</h2><p class="muted">The card compares with: ${methodName(method)}. It needs no baseline of scored applicants.</p></section>`
  }
  const mayChange = deploys(session.role)
  const put = ({ id, model_id }: ReasonBaseline) =>
    action.run(async () => {
      const body = { model_id, baseline_id: id }
      await api('PUT', `v1/deployments/${slug}/reason-baseline`, body)
      loaded.reload()
    })
  const made = () => {
    setMaking(false)
    loaded.reload()
  }
  return html`<section>
    <div class="section-head"><h2>Baselines</h2>
      ${mayChange && html`<button type="button" onClick=${() => setMaking(true)}>Make a baseline</button>`}
    </div>
    ${action.error && html`<${Failure} error=${action.error} />`}
    <${Shown} of=${loaded}>${({
      reason_baselines: all,
    }: {
      reason_baselines: readonly ReasonBaseline[]
    }) =>
      all.length === 0
        ? html`<${Empty} title="No baselines yet"><p>${mayChange ? 'Make one from the applicants of a period, then put it in force.' : 'A lead modeler, admin or owner can make one.'}</p><//>`
        : html`<${Table} caption="Baselines" head=${['Made', 'Compares with', numberHead('Applicants'), optionalHead('Mean total', 'number'), 'In force']}>
          ${all.map(
            (one) => html`<tr key=${one.id}>
            <th scope="row"><${When} at=${one.created_at} /></th>
            <td>${methodName(one.method)}${one.cutoff !== null && ` (cut-off ${number(one.cutoff)}, ${number(one.band_points)} points)`}${one.model_id !== champion.id && html` <${Badge}>another model<//>`}</td>
            <td class="number">${count(one.n)}</td>
            <td class="number optional">${number(one.mean_total)}</td>
            <td>${
              one.is_in_force
                ? html`<${Badge} kind="good">in force<//>`
                : mayChange
                  ? html`<button type="button" class="small-button" aria-label=${`Put the baseline ${one.id} in force`} aria-disabled=${action.isBusy} onClick=${() => put(one)}>Put in force</button>`
                  : 'no'
            }</td>
          </tr>`,
          )}
        <//>
        ${all.length === LISTED_MAX && html`<p class="muted">The newest ${LISTED_MAX}.</p>`}`}<//>
    ${isMaking && html`<${MakeDialog} path=${path} modelId=${champion.id} method=${method} onClose=${() => setMaking(false)} onMade=${made} />`}
  </section>`
}

interface MakeDialogProps {
  readonly path: string
  readonly modelId: string
  readonly method: string
  readonly onClose: () => void
  readonly onMade: () => void
}

function MakeDialog({ path, modelId, method, onClose, onMade }: MakeDialogProps) {
  const action = useAction()
  const submit = (event: Event) => {
    event.preventDefault()
    const form = new FormData(event.currentTarget as HTMLFormElement)
    const text = (name: string) => String(form.get(name) ?? '').trim()
    const at = (name: string) => (text(name) === '' ? {} : { [name]: `${text(name)}T00:00:00Z` })
    const value = (name: string) => (text(name) === '' ? {} : { [name]: Number(text(name)) })
    action.run(async () => {
      await api('POST', path, {
        model_id: modelId,
        method,
        ...value('cutoff'),
        ...value('band_points'),
        ...at('from'),
        ...at('to'),
        ...value('min_population'),
      })
      onMade()
    })
  }
  const isAtCutoff = method === 'mean_at_cutoff'
  return html`<${Dialog} title="Make a baseline" onClose=${onClose}>
    <form onSubmit=${submit}>
      <p>It averages the points of each feature: ${methodName(method)}. A baseline never changes, and has no effect until it is put in force.</p>
      ${
        isAtCutoff &&
        html`<${Field} label="Cut-off" hint="The lowest score that passes; the highest with a negative pdo">${(
          field: object,
        ) => html`<input ...${field} name="cutoff" type="number" step="any" required />`}<//>
        <${Field} label="Points beyond the cut-off" hint="Empty: the points that double the odds">${(
          field: object,
        ) => html`<input ...${field} name="band_points" type="number" step="any" min="0" />`}<//>`
      }
      <${Field} label="From" hint="A day in UTC; empty: from the first score">${(field: object) =>
        html`<input ...${field} name="from" type="date" />`}<//>
      <${Field} label="Before" hint="A day in UTC; empty: until now">${(field: object) =>
        html`<input ...${field} name="to" type="date" />`}<//>
      <${Field} label="Fewest applicants" hint="Empty: 200">${(field: object) =>
        html`<input ...${field} name="min_population" type="number" step="1" min="1" />`}<//>
      ${action.error && html`<${Failure} error=${action.error} />`}
      <div class="dialog-foot">
        <button type="button" onClick=${onClose}>Cancel</button>
        <${Submit} action=${action} busy="Counting …">Make it<//>
      </div>
    </form>
  <//>`
}
