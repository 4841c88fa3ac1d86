import { html } from 'htm/preact'
import { useState } from 'preact/hooks'
import { api } from './api.ts'
import { count } from './format.ts'
import { type Action, go, useAction, useLoaded, usePaged } from './state.ts'
import type { IssuedWebhook, Webhook, WebhookDelivery } from './types.ts'
import {
  Badge,
  Dialog,
  Empty,
  Failure,
  Field,
  More,
  Notice,
  numberHead,
  optionalHead,
  Page,
  Shown,
  Submit,
  Table,
  When,
} from './ui.ts'
import { Secret, WebhookState } from './webhooks.ts'

const RELOAD_MS = 10_000

/** A webhook with its deliveries. */
export function WebhookPage({ id }: { id: string }) {
  const path = `v1/webhooks/${id}`
  const loaded = useLoaded(() => api<Webhook>('GET', path), [id], { everyMs: RELOAD_MS })
  const [state, setState] = useState('')
  const filter = state === '' ? '' : `?state=${state}`
  const listed = usePaged<WebhookDelivery>(`${path}/deliveries${filter}`, 'deliveries')
  const [dialog, setDialog] = useState<'rotate' | 'delete' | null>(null)
  const action = useAction()
  const reload = () => {
    loaded.reload()
    listed.reload()
  }
  const post = (end: string) =>
    action.run(async () => {
      await api('POST', `${path}${end}`)
      reload()
    })
  const rotated = () => {
    setDialog(null)
    reload()
  }
  const above = html`<a href="#/webhooks">Webhooks</a>`
  return html`<${Page} title="Webhook" above=${above}>
    <${Shown} of=${loaded}>${(webhook: Webhook) => html`
      <${Settings} webhook=${webhook} action=${action} post=${post} onChanged=${reload} onDialog=${setDialog} />
      ${action.error && html`<${Failure} error=${action.error} />`}
      <section>
        <div class="section-head"><h2>Deliveries</h2>
          <${Field} label="State">${(
            field: object,
          ) => html`<select ...${field} value=${state} onChange=${(event: Event) => setState((event.currentTarget as HTMLSelectElement).value)}>
            <option value="">all</option><option value="waiting">waiting</option><option value="delivered">delivered</option><option value="dead">dead</option>
          </select>`}<//>
        </div>
        <${Shown} of=${listed}>${(found: readonly WebhookDelivery[]) =>
          found.length === 0
            ? html`<${Empty} title="There are no deliveries"><p>Send a test event to see one here.</p><//>`
            : html`<${Deliveries} found=${found} mayReplay=${webhook.is_active} onReplay=${(delivery: string) => post(`/deliveries/${delivery}/replay`)} /><${More} of=${listed} />`}<//>
      </section>
      ${dialog === 'rotate' && html`<${RotateDialog} path=${path} onClose=${rotated} />`}
      ${dialog === 'delete' && html`<${DeleteDialog} webhook=${webhook} onClose=${() => setDialog(null)} />`}
    `}<//>
  <//>`
}

interface SettingsProps {
  readonly webhook: Webhook
  readonly action: Action
  readonly post: (end: string) => void
  readonly onChanged: () => void
  readonly onDialog: (dialog: 'rotate' | 'delete') => void
}

function Settings({ webhook, action, post, onChanged, onDialog }: SettingsProps) {
  const isActive = webhook.is_active
  const toggle = () =>
    action.run(async () => {
      await api('PATCH', `v1/webhooks/${webhook.id}`, { is_active: !isActive })
      onChanged()
    })
  return html`<section>
    <dl class="facts">
      <div><dt>Address</dt><dd class="subject">${webhook.url}</dd></div>
      ${webhook.description && html`<div><dt>Description</dt><dd>${webhook.description}</dd></div>`}
      <div><dt>Events</dt><dd>${webhook.types === null ? 'all' : webhook.types.join(', ')}</dd></div>
      <div><dt>State</dt><dd><${WebhookState} webhook=${webhook} /></dd></div>
      ${webhook.missed_events > 0 && html`<div><dt>Missed events</dt><dd>${count(webhook.missed_events)}</dd></div>`}
      ${webhook.previous_valid_until && html`<div><dt>Old secret signs until</dt><dd><${When} at=${webhook.previous_valid_until} isExact /></dd></div>`}
    </dl>
    <div class="actions">
      ${
        isActive &&
        html`<button type="button" class="primary" aria-disabled=${action.isBusy} onClick=${() => post('/test')}>Send a test event</button>
      <button type="button" aria-disabled=${action.isBusy} onClick=${() => post('/replay')}>Send all dead events again</button>`
      }
      <button type="button" onClick=${toggle}>${isActive ? 'Switch off' : 'Switch on'}</button>
      <button type="button" onClick=${() => onDialog('rotate')}>Rotate the secret</button>
      <button type="button" class="danger" onClick=${() => onDialog('delete')}>Delete</button>
    </div>
  </section>`
}

const KINDS = { waiting: 'plain', delivered: 'good', dead: 'fault' } as const

function Deliveries({
  found,
  mayReplay,
  onReplay,
}: {
  found: readonly WebhookDelivery[]
  mayReplay: boolean
  onReplay: (id: string) => void
}) {
  const head = [
    ...['Event', 'State', numberHead('Attempts'), 'Last attempt', 'Next attempt'],
    ...[optionalHead('Created'), ...(mayReplay ? ['Replay'] : [])],
  ]
  return html`<${Table} caption="Deliveries" head=${head}>
    ${found.map(
      (one) => html`<tr key=${one.id}>
        <th scope="row">${one.type}<br /><code class="small">${one.event_id}</code></th>
        <td><${Badge} kind=${KINDS[one.state]}>${one.state}<//></td>
        <td class="number">${one.attempts}</td>
        <td><${When} at=${one.last_attempt_at} />${one.last_error && html`<br /><span class="muted">${one.last_error}</span>`}</td>
        <td>${one.next_attempt_at === null ? html`<span class="muted">none</span>` : html`<${When} at=${one.next_attempt_at} />`}</td>
        <td class="optional"><${When} at=${one.created_at} /></td>
        ${mayReplay && html`<td><button type="button" class="small-button" aria-label=${`Send again: ${one.type} ${one.event_id}`} onClick=${() => onReplay(one.id)}>Send again</button></td>`}
      </tr>`,
    )}
  <//>`
}

function RotateDialog({ path, onClose }: { path: string; onClose: () => void }) {
  const [made, setMade] = useState<IssuedWebhook | null>(null)
  const action = useAction()
  const submit = (event: Event) => {
    event.preventDefault()
    const hours = Number(new FormData(event.currentTarget as HTMLFormElement).get('hours'))
    action.run(async () => {
      const body = { overlap_seconds: hours * 3_600 }
      setMade(await api<IssuedWebhook>('POST', `${path}/rotate`, body))
    })
  }
  return html`<${Dialog} title=${made === null ? 'Rotate the secret' : 'Copy the secret now'} onClose=${onClose}>
    ${
      made === null
        ? html`<form onSubmit=${submit}>
      <${Field} label="The old secret signs, too, for" hint="Until the receiver knows the new one">${(
        field: object,
      ) =>
        html`<select ...${field} name="hours"><option value="0">no time</option><option value="1">an hour</option><option value="24" selected>a day</option></select>`}<//>
      ${action.error && html`<${Failure} error=${action.error} />`}
      <div class="dialog-foot"><button type="button" onClick=${onClose}>Cancel</button><${Submit} action=${action} busy="Rotating …">Rotate<//></div>
    </form>`
        : html`<${Secret} secret=${made.secret} onClose=${onClose} />`
    }
  <//>`
}

function DeleteDialog({ webhook, onClose }: { webhook: Webhook; onClose: () => void }) {
  const action = useAction()
  const submit = (event: Event) => {
    event.preventDefault()
    action.run(async () => {
      await api('DELETE', `v1/webhooks/${webhook.id}`)
      go('webhooks')
    })
  }
  return html`<${Dialog} title="Delete the webhook" onClose=${onClose}>
    <form onSubmit=${submit}>
      <${Notice}>Its deliveries are removed, too, also those that wait. This can't be undone.<//>
      <p class="subject">${webhook.url}</p>
      ${action.error && html`<${Failure} error=${action.error} />`}
      <div class="dialog-foot"><button type="button" onClick=${onClose}>Cancel</button><${Submit} action=${action} busy="Deleting …" kind="danger">Delete<//></div>
    </form>
  <//>`
}
