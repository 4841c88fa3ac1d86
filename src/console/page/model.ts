import { html } from 'htm/preact'
import { useState } from 'preact/hooks'
import { api, type Session } from './api.ts'
import { AuditTrail } from './audit.ts'
import { Proof } from './certificate.ts'
import { manages, number, signed } from './format.ts'
import { ReasonCodes } from './reason-codes.ts'
import { useAction, useLoaded } from './state.ts'
import type { Feature, Model, Spec } from './types.ts'
import {
  Badge,
  Dialog,
  EnvironmentBadge,
  Failure,
  Notice,
  numberHead,
  Page,
  Shown,
  Submit,
  Table,
  When,
} from './ui.ts'

export function ModelPage({ id, session }: { id: string; session: Session }) {
  const loaded = useLoaded(() => api<Model>('GET', `v1/models/${id}`), [id])
  const [isAsking, setAsking] = useState(false)
  const [changes, setChanges] = useState(0)
  const model = loaded.data
  const actions =
    model !== null &&
    manages(session.role) &&
    html`<button type="button" onClick=${() => setAsking(true)}>${model.status === 'active' ? 'Archive' : 'Restore'}</button>`
  const done = () => {
    setAsking(false)
    setChanges((n) => n + 1)
    loaded.reload()
  }
  const title = model === null ? 'Model' : `${model.name} ${model.version}`
  return html`<${Page} title=${title} above=${html`<a href="#/models">Models</a>`} actions=${actions}>
    <${Shown} of=${loaded}>${(found: Model) => html`
      <${Facts} model=${found} />
      ${found.parity && html`<${Proof} certificate=${found.parity} />`}
      <${Card} spec=${found.spec} />
      <${ReasonCodes} spec=${found.spec} />
      ${manages(session.role) && html`<${AuditTrail} key=${changes} subject=${id} />`}
      ${isAsking && html`<${StatusDialog} model=${found} onClose=${() => setAsking(false)} onDone=${done} />`}
    `}<//>
  <//>`
}

function Facts({ model }: { model: Model }) {
  const { spec } = model
  return html`<dl class="facts">
    <div><dt>Status</dt><dd><${Badge} kind=${model.status === 'active' ? 'good' : 'off'}>${model.status}<//> <${EnvironmentBadge} name=${model.environment} /></dd></div>
    <div><dt>Predicts</dt><dd>${spec.target}</dd></div>
    <div><dt>Base points</dt><dd>${number(spec.base_points)}</dd></div>
    <div><dt>Scale</dt><dd>${scaleText(spec)}</dd></div>
    <div><dt>Registered</dt><dd><${When} at=${model.created_at} /></dd></div>
    ${model.description && html`<div><dt>Description</dt><dd>${model.description}</dd></div>`}
  </dl>`
}

function scaleText({ scaling }: Spec): string {
  if (scaling === undefined) return 'unknown: scores have no probability of default'
  const { base_score: baseScore, base_odds: baseOdds, pdo } = scaling
  return `${number(baseOdds)}:1 good to bad at ${number(baseScore)}; ${number(pdo)} points double the odds`
}

/** The scorecard for people: the points of each bin and the risk grades. */
export function Card({ spec }: { spec: Spec }) {
  const all = spec.features.flatMap(({ bins }) => bins.map(({ points }) => Math.abs(points)))
  const most = Math.max(1, ...all.slice(0, 10_000))
  return html`
    ${
      spec.risk_grades &&
      spec.risk_grades.length > 0 &&
      html`<section class="grades"><h2>Risk grades</h2>
      <${Table} caption="Risk grades" head=${['Grade', numberHead('From'), numberHead('To')]}>
        ${spec.risk_grades.map(
          (one) => html`<tr><th scope="row">${one.grade}</th>
          <td class="number">${one.min_score === null ? 'no limit' : number(one.min_score)}</td>
          <td class="number">${one.max_score === null ? 'no limit' : number(one.max_score)}</td></tr>`,
        )}
      <//></section>`
    }
    <section><h2>Points</h2>
      <p class="muted">The score is ${number(spec.base_points)} base points plus the points of one bin for each of the ${spec.features.length} features.</p>
      <div class="cards">${spec.features.map((feature) => html`<${FeatureCard} feature=${feature} most=${most} />`)}</div>
    </section>`
}

function FeatureCard({ feature, most }: { feature: Feature; most: number }) {
  return html`<article class="card">
    <h3>${feature.name} <span class="muted">${feature.type}</span></h3>
    <${Table} caption=${`Points of ${feature.name}`} head=${[feature.type === 'numeric' ? 'Range' : 'Categories', numberHead('Points'), '']}>
      ${feature.bins.map(
        ({ range, value, points }) => html`<tr>
        <th scope="row" class="bin">${range ?? (value ?? '').split('%,%').map((one) => html`<span class="category">${one}</span>`)}</th>
        <td class="number">${signed(points)}</td>
        <td class="bar-cell" aria-hidden="true"><${PointsBar} points=${points} most=${most} /></td>
      </tr>`,
      )}
    <//>
  </article>`
}

function PointsBar({ points, most }: { points: number; most: number }) {
  const width = `${Math.min(50, (50 * Math.abs(points)) / most)}%`
  const style = points < 0 ? { width, right: '50%' } : { width, left: '50%' }
  return html`<span class="points-bar"><span class=${points < 0 ? 'less' : 'more'} style=${style}></span></span>`
}

function StatusDialog({
  model,
  onClose,
  onDone,
}: {
  model: Model
  onClose: () => void
  onDone: () => void
}) {
  const action = useAction()
  const isActive = model.status === 'active'
  const status = isActive ? 'archived' : 'active'
  const submit = (event: Event) => {
    event.preventDefault()
    action.run(async () => {
      await api('PATCH', `v1/models/${model.id}`, { status })
      onDone()
    })
  }
  return html`<${Dialog} title=${`${isActive ? 'Archive' : 'Restore'} ${model.name} ${model.version}`} onClose=${onClose}>
    <form onSubmit=${submit}>
      <${Notice}>${
        isActive
          ? "An archived model can't become a challenger. Where it is a challenger now, it ends at once. A champion can't be archived."
          : 'An active model can become a challenger again. It gets no traffic until then.'
      }<//>
      ${action.error && html`<${Failure} error=${action.error} />`}
      <div class="dialog-foot">
        <button type="button" onClick=${onClose}>Cancel</button>
        <${Submit} action=${action} busy="Saving …" kind=${isActive ? 'danger' : 'primary'}>${isActive ? 'Archive' : 'Restore'}<//>
      </div>
    </form>
  <//>`
}
