import { html } from 'htm/preact'
import { useState } from 'preact/hooks'
import { api, type Session } from './api.ts'
import { count, manages } from './format.ts'
import { type Action, useAction, usePaged } from './state.ts'
import type { CreatedKey, ListedKey } from './types.ts'
import {
  Copy,
  Dialog,
  Empty,
  EnvironmentBadge,
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

export function KeysPage({ session }: { session: Session }) {
  const listed = usePaged<ListedKey>('v1/keys', 'keys')
  const [dialog, setDialog] = useState<'create' | ListedKey | null>(null)
  const mayManage = manages(session.role)
  const close = () => {
    setDialog(null)
    listed.reload()
  }
  const actions =
    mayManage &&
    html`<button type="button" class="primary" onClick=${() => setDialog('create')}>Create a key</button>`
  const head = [
    'Name',
    optionalHead('Begins with'),
    optionalHead('Scopes'),
    'Environment',
    numberHead('Quota per minute'),
    'Last used',
    optionalHead('Created'),
    ...(mayManage ? ['Revoke'] : []),
  ]
  return html`<${Page} title="API keys" actions=${actions}>
    <p class="muted">Servers score with a key. Keys do not expire. To replace one, create the new key before you revoke the old one.</p>
    <${Shown} of=${listed}>${(found: readonly ListedKey[]) =>
      found.length === 0
        ? html`<${Empty} title="There are no keys yet"><p>${mayManage ? 'Create one for each server that scores.' : 'An owner or admin can create one.'}</p><//>`
        : html`<${Table} caption="API keys" head=${head}>
            ${found.map((key) => html`<${Row} key=${key.id} listed=${key} onRevoke=${mayManage ? () => setDialog(key) : null} />`)}
          <//><${More} of=${listed} />`}<//>
    ${dialog === 'create' && html`<${CreateDialog} session=${session} onClose=${close} />`}
    ${dialog !== null && dialog !== 'create' && html`<${RevokeDialog} listed=${dialog} onClose=${close} />`}
  <//>`
}

function Row({ listed, onRevoke }: { listed: ListedKey; onRevoke: (() => void) | null }) {
  const quota = listed.rate_limit_per_minute
  return html`<tr>
    <th scope="row">${listed.name}</th>
    <td class="optional"><code>${listed.prefix}…</code></td>
    <td class="optional">${listed.scopes.join(', ')}</td>
    <td><${EnvironmentBadge} name=${listed.environment} /></td>
    <td class="number">${quota === undefined ? html`<span class="muted">default</span>` : count(quota)}</td>
    <td><${When} at=${listed.last_used_at} /></td>
    <td class="optional"><${When} at=${listed.created_at} /></td>
    ${onRevoke && html`<td><button type="button" class="small-button danger" aria-label=${`Revoke ${listed.name}`} onClick=${onRevoke}>Revoke</button></td>`}
  </tr>`
}

function CreateDialog({ session, onClose }: { session: Session; onClose: () => void }) {
  const [made, setMade] = useState<CreatedKey | null>(null)
  const action = useAction()
  const submit = (event: Event) => {
    event.preventDefault()
    const form = new FormData(event.currentTarget as HTMLFormElement)
    const environment = String(form.get('environment'))
    const quota = String(form.get('quota') ?? '')
    action.run(async () => {
      const body = {
        name: String(form.get('name')),
        scopes: form.getAll('scope').map(String),
        ...(environment !== '' && { environment }),
        ...(quota !== '' && { rate_limit_per_minute: Number(quota) }),
      }
      setMade(await api<CreatedKey>('POST', 'v1/keys', body))
    })
  }
  return html`<${Dialog} title=${made === null ? 'Create a key' : 'Copy the key now'} onClose=${onClose}>
    ${
      made === null
        ? html`<${CreateForm} action=${action} isOwner=${session.role === 'owner'} onSubmit=${submit} onClose=${onClose} />`
        : html`<${Secret} made=${made} onClose=${onClose} />`
    }
  <//>`
}

function CreateForm(props: {
  action: Action
  isOwner: boolean
  onSubmit: (event: Event) => void
  onClose: () => void
}) {
  const { action, isOwner, onSubmit, onClose } = props
  return html`<form onSubmit=${onSubmit}>
    <${Field} label="Name" hint="For example the server that uses it">${(field: object) =>
      html`<input ...${field} name="name" required maxlength="255" autocomplete="off" />`}<//>
    <fieldset><legend>Scopes</legend>
      <label class="choice"><input type="checkbox" name="scope" value="score" checked /> score applicants</label>
      <label class="choice"><input type="checkbox" name="scope" value="read" /> read the statistics of deployments</label>
    </fieldset>
    <${Field} label="Environment" hint="A key for one environment sees only deployments of that environment">${(
      field: object,
    ) =>
      html`<select ...${field} name="environment"><option value="production">Production</option><option value="staging">Staging</option><option value="">Both</option></select>`}<//>
    ${
      isOwner &&
      html`<${Field} label="Quota, requests in any minute" hint="Leave empty for the default of the service">${(
        field: object,
      ) =>
        html`<input ...${field} name="quota" type="number" inputmode="numeric" min="1" max="1000000" step="1" />`}<//>`
    }
    ${action.error && html`<${Failure} error=${action.error} />`}
    <div class="dialog-foot">
      <button type="button" onClick=${onClose}>Cancel</button>
      <${Submit} action=${action} busy="Creating …">Create<//>
    </div>
  </form>`
}

function Secret({ made, onClose }: { made: CreatedKey; onClose: () => void }) {
  return html`<${Notice} kind="good">
      <p>The key “${made.name}” is shown only once: the service stores only its hash.</p>
    <//>
    <p><code class="secret" tabindex="0">${made.key}</code></p>
    <p><${Copy} text=${made.key} label="Copy the key" /></p>
    <div class="dialog-foot"><button type="button" class="primary" onClick=${onClose}>I have stored it</button></div>`
}

function RevokeDialog({ listed, onClose }: { listed: ListedKey; onClose: () => void }) {
  const action = useAction()
  const submit = (event: Event) => {
    event.preventDefault()
    action.run(async () => {
      await api('DELETE', `v1/keys/${listed.id}`)
      onClose()
    })
  }
  return html`<${Dialog} title=${`Revoke ${listed.name}`} onClose=${onClose}>
    <form onSubmit=${submit}>
      <p>Every request with <code>${listed.prefix}…</code> will be rejected. This can't be undone.</p>
      <p>It was last used: <${When} at=${listed.last_used_at} />.</p>
      ${action.error && html`<${Failure} error=${action.error} />`}
      <div class="dialog-foot">
        <button type="button" onClick=${onClose}>Cancel</button>
        <${Submit} action=${action} busy="Revoking …" kind="danger">Revoke<//>
      </div>
    </form>
  <//>`
}
