import { html } from 'htm/preact'
import { useState } from 'preact/hooks'
import { api } from './api.ts'
import { EVENT_TYPES } from './contract.ts'
import { useAction, usePaged } from './state.ts'
import type { IssuedWebhook, Webhook } from './types.ts'
import {
  Badge,
  Copy,
  Dialog,
  Empty,
  Failure,
  Field,
  More,
  Notice,
  optionalHead,
  Page,
  Shown,
  Submit,
  Table,
  When,
} from './ui.ts'

export function WebhooksPage() {
  const listed = usePaged<Webhook>('v1/webhooks', 'webhooks')
  const [isCreating, setCreating] = useState(false)
  const close = () => {
    setCreating(false)
    listed.reload()
  }
  const actions = html`<button type="button" class="primary" onClick=${() => setCreating(true)}>Create a webhook</button>`
  return html`<${Page} title="Webhooks" actions=${actions}>
    <p class="muted">The service sends what happens to these addresses, signed, and tries for a day if one does not answer.</p>
    <${Shown} of=${listed}>${(found: readonly Webhook[]) =>
      found.length === 0
        ? html`<${Empty} title="There are no webhooks yet"><p>Create one to hear of promotions, approvals and expiring keys.</p><//>`
        : html`<${Table} caption="Webhooks" head=${['Address', 'Events', 'State', optionalHead('Created')]}>
            ${found.map((webhook) => html`<${Row} key=${webhook.id} webhook=${webhook} />`)}
          <//><${More} of=${listed} />`}<//>
    ${isCreating && html`<${CreateDialog} onClose=${close} />`}
  <//>`
}

function Row({ webhook }: { webhook: Webhook }) {
  return html`<tr>
    <th scope="row" class="subject"><a href=${`#/webhooks/${webhook.id}`}>${webhook.url}</a>${webhook.description && html`<br /><span class="muted">${webhook.description}</span>`}</th>
    <td>${webhook.types === null ? 'all' : webhook.types.join(', ')}</td>
    <td><${WebhookState} webhook=${webhook} /></td>
    <td class="optional"><${When} at=${webhook.created_at} /></td>
  </tr>`
}

/** How a webhook is doing, in badges. */
export function WebhookState({ webhook }: { webhook: Webhook }) {
  const { is_active: isActive, failing_since: since, is_full: isFull } = webhook
  if (!isActive) return html`<${Badge} kind="off">inactive<//>`
  if (since === null && !isFull) return html`<${Badge} kind="good">active<//>`
  return html`${since && html`<${Badge} kind="fault">fails<//> <span class="muted">since <${When} at=${since} /></span>`}
    ${isFull && html` <${Badge} kind="fault">full<//>`}`
}

function CreateDialog({ onClose }: { onClose: () => void }) {
  const [made, setMade] = useState<IssuedWebhook | null>(null)
  const action = useAction()
  const submit = (event: Event) => {
    event.preventDefault()
    const form = new FormData(event.currentTarget as HTMLFormElement)
    const types = form.getAll('type').map(String)
    const description = String(form.get('description'))
    action.run(async () => {
      const body = {
        url: String(form.get('url')),
        types: types.length === 0 ? null : types,
        ...(description !== '' && { description }),
      }
      setMade(await api<IssuedWebhook>('POST', 'v1/webhooks', body))
    })
  }
  if (made !== null) {
    return html`<${Dialog} title="Copy the secret now" onClose=${onClose}><${Secret} secret=${made.secret} onClose=${onClose} /><//>`
  }
  return html`<${Dialog} title="Create a webhook" onClose=${onClose}>
    <form onSubmit=${submit}>
      <${Field} label="Address" hint="https, and reachable from the Internet">${(field: object) =>
        html`<input ...${field} name="url" type="url" required maxlength="2048" autocomplete="off" placeholder="https://" />`}<//>
      <${Field} label="Description" hint="Optional">${(field: object) =>
        html`<input ...${field} name="description" maxlength="255" autocomplete="off" />`}<//>
      <fieldset><legend>Events; none chosen means all</legend>
        ${EVENT_TYPES.map((type) => html`<label class="choice"><input type="checkbox" name="type" value=${type} /> ${type}</label>`)}
      </fieldset>
      ${action.error && html`<${Failure} error=${action.error} />`}
      <div class="dialog-foot"><button type="button" onClick=${onClose}>Cancel</button><${Submit} action=${action} busy="Creating …">Create<//></div>
    </form>
  <//>`
}

/** A secret that is shown once. */
export function Secret({ secret, onClose }: { secret: string; onClose: () => void }) {
  return html`<${Notice} kind="good"><p>The secret is shown only once. The receiver verifies signatures with it.</p><//>
    <p><code class="secret" tabindex="0">${secret}</code></p>
    <p><${Copy} text=${secret} label="Copy the secret" /></p>
    <div class="dialog-foot"><button type="button" class="primary" onClick=${onClose}>I have stored it</button></div>`
}
