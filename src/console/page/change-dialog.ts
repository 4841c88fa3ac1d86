import { html } from 'htm/preact'
import { useState } from 'preact/hooks'
import { api } from './api.ts'
import { Differences, newestOf } from './audit.ts'
import { allNames } from './names.ts'
import { type Change, type Effect, type Inputs, type Plan, planOf } from './plan.ts'
import { useAction, useLoaded } from './state.ts'
import type { AuditRecord, ChangeRequest, Deployment, ListedModel } from './types.ts'
import { Dialog, Failure, Field, Loading, Notice, Submit, Table, When } from './ui.ts'

interface ChangeDialogProps {
  readonly deployment: Deployment
  readonly change: Change
  /** Called after a change, so that the page reloads the deployment. */
  readonly onChanged: () => void
  readonly onClose: () => void
}

/** Dialog for a change: shows its effects, makes it, then shows its record in the audit log. */
export function ChangeDialog({ deployment, change, onChanged, onClose }: ChangeDialogProps) {
  const [inputs, setInputs] = useState<Inputs>(() => firstInputs(change))
  const [record, setRecord] = useState<AuditRecord | null>(null)
  const [waiting, setWaiting] = useState<ChangeRequest | null>(null)
  // The deployment when the dialog opened; the page behind it keeps reloading.
  const [present, setPresent] = useState(deployment)
  const [isOverTaken, setOverTaken] = useState(false)
  const action = useAction()
  const plan = planOf(present, change, inputs)
  const submit = (event: Event) => {
    event.preventDefault()
    const { request } = plan
    if (request === null) return
    action.run(async () => {
      const now = await api<Deployment>('GET', `v1/deployments/${present.slug}`)
      if (now.cache_version !== present.cache_version) {
        setPresent(now)
        setOverTaken(true)
        return
      }
      const answer = await api<object>(request.method, request.path, request.body)
      onChanged()
      if (isChangeRequest(answer)) {
        setWaiting(answer)
        return
      }
      const [newest] = await newestOf(present.slug, 1)
      if (newest === undefined) onClose()
      else setRecord(newest)
    })
  }
  if (waiting !== null) {
    return html`<${Waiting} plan=${plan} request=${waiting} onClose=${onClose} />`
  }
  if (record !== null) return html`<${Done} plan=${plan} record=${record} onClose=${onClose} />`
  return html`<${Dialog} title=${plan.title} onClose=${onClose}>
    <form onSubmit=${submit}>
      ${isOverTaken && html`<${Notice} kind="fault">Somebody else changed the deployment in the meantime. Below are the effects of your change now.<//>`}
      <${InputFields} change=${change} deployment=${present} inputs=${inputs} set=${(more: Partial<Inputs>) => setInputs({ ...inputs, ...more })} />
      <${Effects} effects=${plan.effects} />
      ${plan.notes.map((note) => html`<p class="hint">${note}</p>`)}
      ${plan.fault && html`<${Notice} kind="fault">${plan.fault}<//>`}
      ${action.error && html`<${Failure} error=${action.error} />`}
      <div class="dialog-foot">
        <button type="button" onClick=${onClose}>Cancel</button>
        ${plan.request === null ? html`<button type="submit" class="primary" disabled>${plan.confirm}</button>` : html`<${Submit} action=${action} busy="Changing …">${plan.confirm}<//>`}
      </div>
    </form>
  <//>`
}

function firstInputs(change: Change): Inputs {
  const share = change.kind === 'share' ? String(change.challenger.traffic_pct) : ''
  return { model: null, share, reason: '', isEmergency: false }
}

/** Whether a change was stored as a request, because the deployment requires approval. */
function isChangeRequest(answer: object): answer is ChangeRequest {
  return 'requested_by' in answer
}

function Waiting({
  plan,
  request,
  onClose,
}: {
  plan: Plan
  request: ChangeRequest
  onClose: () => void
}) {
  return html`<${Dialog} title=${plan.title} onClose=${onClose}>
    <${Notice}>Nothing has changed yet: the change waits for another owner or admin.<//>
    <dl class="facts">
      <div><dt>Change request</dt><dd><code>${request.id}</code></dd></div>
      <div><dt>Waits until</dt><dd><${When} at=${request.expires_at} isExact /></dd></div>
    </dl>
    <div class="dialog-foot"><button type="button" class="primary" onClick=${onClose}>Done</button></div>
  <//>`
}

function Effects({ effects }: { effects: readonly Effect[] }) {
  if (effects.length === 0) return null
  return html`<h3>What will change</h3>
    <${Table} caption="What will change" head=${['', 'Now', 'Then']}>
      ${effects.map(({ what, before, after }) => html`<tr><th scope="row">${what}</th><td>${before}</td><td><strong>${after}</strong></td></tr>`)}
    <//>`
}

function Done({ plan, record, onClose }: { plan: Plan; record: AuditRecord; onClose: () => void }) {
  const names = useLoaded(allNames, []).data ?? new Map()
  return html`<${Dialog} title=${plan.title} onClose=${onClose}>
    <${Notice} kind="good">Done. The change is active.<//>
    <h3>Record in the audit log</h3>
    <dl class="facts">
      <div><dt>Record</dt><dd><code>${record.id}</code></dd></div>
      <div><dt>Action</dt><dd>${record.action}</dd></div>
      <div><dt>By</dt><dd>${names.get(record.actor) ?? record.actor}</dd></div>
      <div><dt>When</dt><dd><${When} at=${record.created_at} /></dd></div>
      ${record.reason && html`<div><dt>Reason</dt><dd>${record.reason}</dd></div>`}
      <div><dt>What changed</dt><dd><${Differences} record=${record} names=${names} /></dd></div>
    </dl>
    <div class="dialog-foot"><button type="button" class="primary" onClick=${onClose}>Done</button></div>
  <//>`
}

interface InputFieldsProps {
  readonly change: Change
  readonly deployment: Deployment
  readonly inputs: Inputs
  readonly set: (more: Partial<Inputs>) => void
}

function InputFields({ change, deployment, inputs, set }: InputFieldsProps) {
  const typed = (name: 'share' | 'reason') => (event: Event) =>
    set({ [name]: (event.currentTarget as HTMLInputElement).value })
  const share = () =>
    html`<${Field} label="Share in percent" hint="1 to 50; all challengers together at most 50">${(
      field: object,
    ) =>
      html`<input ...${field} inputmode="decimal" required autocomplete="off" value=${inputs.share} onInput=${typed('share')} />`}<//>`
  if (change.kind === 'add') {
    return html`<${ModelChoice} deployment=${deployment} chosen=${inputs.model} onChoose=${(model: ListedModel | null) => set({ model })} />${share()}`
  }
  if (change.kind === 'share') return share()
  const mayHurry = deployment.require_approval && deployment.emergency_rollback
  if (change.kind === 'rollback' || change.kind === 'promote') {
    const isRollback = change.kind === 'rollback'
    return html`<${Field} label="Reason" hint=${isRollback ? 'Shown in the audit log' : 'Optional; shown in the audit log'}>${(
      field: object,
    ) =>
      html`<textarea ...${field} required=${isRollback} maxlength="10000" rows="3" value=${inputs.reason} onInput=${typed('reason')}></textarea>`}<//>
      ${isRollback && mayHurry && html`<label class="choice"><input type="checkbox" checked=${inputs.isEmergency} onChange=${(event: Event) => set({ isEmergency: (event.currentTarget as HTMLInputElement).checked })} /> This is an emergency: do not wait for approval</label>`}`
  }
  return null
}

interface ModelChoiceProps {
  readonly deployment: Deployment
  readonly chosen: ListedModel | null
  readonly onChoose: (model: ListedModel | null) => void
}

/**
 * The models that can become a challenger: active, in the champion's environment, not in use here.
 */
function ModelChoice({ deployment, chosen, onChoose }: ModelChoiceProps) {
  const { champion_model: champion, challengers } = deployment
  const { data, error, reload } = useLoaded(async () => {
    const { models } = await api<{ models: readonly ListedModel[] }>('GET', 'v1/models')
    const environment = models.find(({ id }) => id === champion.id)?.environment
    const taken = new Set([champion.id, ...challengers.map((one) => one.model_id)])
    return models.filter(
      (model) =>
        model.status === 'active' && model.environment === environment && !taken.has(model.id),
    )
  }, [deployment.slug])
  if (error !== null) return html`<${Failure} error=${error} retry=${reload} />`
  if (data === null) return html`<${Loading} text="Loading models …" />`
  if (data.length === 0) {
    return html`<${Notice}>There is no other active model in this environment. <a href="#/models/new">Upload one</a> without deploying it.<//>`
  }
  const choose = (event: Event) => {
    const { value } = event.currentTarget as HTMLSelectElement
    onChoose(data.find(({ id }) => id === value) ?? null)
  }
  return html`<${Field} label="Model">${(
    field: object,
  ) => html`<select ...${field} required value=${chosen?.id ?? ''} onChange=${choose}>
    <option value="">Choose …</option>
    ${data.map((model) => html`<option value=${model.id}>${model.name} ${model.version}</option>`)}
  </select>`}<//>`
}
