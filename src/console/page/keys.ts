import { html } from 'htm/preact'
import { useState } from 'preact/hooks'
import { api, type Session } from './api.ts'
import { count, manages } from './format.ts'
import { EndDialog, endIn, LastDay, RotateDialog, Secret } from './secret-dialogs.ts'
import { type Action, useAction, usePaged } from './state.ts'
import type { CreatedKey, ListedKey } from './types.ts'
import {
  Dialog,
  Empty,
  EnvironmentBadge,
  Failure,
  Field,
  More,
  numberHead,
  optionalHead,
  Page,
  Shown,
  Submit,
  Table,
  When,
} from './ui.ts'

type Request = { kind: 'create' } | { kind: 'rotate' | 'revoke'; listed: ListedKey }

export function KeysPage({ session }: { session: Session }) {
  const listed = usePaged<ListedKey>('v1/keys', 'keys')
  const [dialog, setDialog] = useState<Request | null>(null)
  const mayManage = manages(session.role)
  const close = () => {
    setDialog(null)
    listed.reload()
  }
  const actions =
    mayManage &&
    html`<button type="button" class="primary" onClick=${() => setDialog({ kind: 'create' })}>Create a key</button>`
  const head = [
    'Name',
    optionalHead('Begins with'),
    optionalHead('Scopes'),
    'Environment',
    numberHead('Quota per minute'),
    'Ends',
    optionalHead('From'),
    'Last used',
    ...(mayManage ? ['Change'] : []),
  ]
  return html`<${Page} title="API keys" actions=${actions}>
    <p class="muted">Servers score with a key. To replace its secret, rotate it: both secrets are accepted while the servers change over.</p>
    <${Shown} of=${listed}>${(found: readonly ListedKey[]) =>
      found.length === 0
        ? html`<${Empty} title="There are no keys yet"><p>${mayManage ? 'Create one for each server that scores.' : 'An owner or admin can create one.'}</p><//>`
        : html`<${Table} caption="API keys" head=${head}>
            ${found.map((key) => html`<${Row} key=${key.id} listed=${key} onRequest=${mayManage ? setDialog : null} />`)}
          <//><${More} of=${listed} />`}<//>
    ${dialog?.kind === 'create' && html`<${CreateDialog} session=${session} onClose=${close} />`}
    ${dialog?.kind === 'rotate' && html`<${RotateDialog} name=${dialog.listed.name} what="key" path=${`v1/keys/${dialog.listed.id}`} onClose=${close} />`}
    ${
      dialog?.kind === 'revoke' &&
      html`<${EndDialog} title=${`Revoke ${dialog.listed.name}`} path=${`v1/keys/${dialog.listed.id}`} verb="Revoke" busy="Revoking …" onClose=${close}>
      <p>Every request with <code>${dialog.listed.prefix}…</code> will be rejected. This can't be undone.</p>
      <p>It was last used: <${When} at=${dialog.listed.last_used_at} />.</p>
    <//>`
    }
  <//>`
}

function Row({
  listed,
  onRequest,
}: {
  listed: ListedKey
  onRequest: ((request: Request) => void) | null
}) {
  const button = (kind: 'rotate' | 'revoke', text: string) =>
    html`<button type="button" class=${`small-button${kind === 'revoke' ? ' danger' : ''}`} aria-label=${`${text} ${listed.name}`} onClick=${() => onRequest?.({ kind, listed })}>${text}</button> `
  const quota = listed.rate_limit_per_minute
  return html`<tr>
    <th scope="row">${listed.name}</th>
    <td class="optional"><code>${listed.prefix}…</code></td>
    <td class="optional">${listed.scopes.join(', ')}</td>
    <td><${EnvironmentBadge} name=${listed.environment} /></td>
    <td class="number">${quota === undefined ? html`<span class="muted">default</span>` : count(quota)}</td>
    <td>${listed.expires_at === null ? html`<span class="muted">never</span>` : html`<${When} at=${listed.expires_at} />`}</td>
    <td class="optional">${listed.allowed_addresses?.join(', ') ?? html`<span class="muted">anywhere</span>`}</td>
    <td><${When} at=${listed.last_used_at} /></td>
    ${onRequest && html`<td>${button('rotate', 'Rotate')}${button('revoke', 'Revoke')}</td>`}
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
    const addresses = String(form.get('addresses'))
      .split(/[\s,]+/)
      .filter(Boolean)
    action.run(async () => {
      const body = {
        name: String(form.get('name')),
        scopes: form.getAll('scope').map(String),
        ...(environment !== '' && { environment }),
        ...(quota !== '' && { rate_limit_per_minute: Number(quota) }),
        ...(addresses.length > 0 && { allowed_addresses: addresses }),
        ...endIn(form),
      }
      setMade(await api<CreatedKey>('POST', 'v1/keys', body))
    })
  }
  return html`<${Dialog} title=${made === null ? 'Create a key' : 'Copy the key now'} onClose=${onClose}>
    ${
      made === null
        ? html`<${CreateForm} action=${action} isOwner=${session.role === 'owner'} onSubmit=${submit} onClose=${onClose} />`
        : html`<${Secret} made=${{ name: made.name, secret: made.key }} what="key" onClose=${onClose} />`
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
    <${LastDay} hint="Leave empty for a key that does not end" />
    <${Field} label="Accepted from" hint="Addresses and CIDRs, with commas; empty: from anywhere">${(
      field: object,
    ) => html`<input ...${field} name="addresses" autocomplete="off" />`}<//>
    ${action.error && html`<${Failure} error=${action.error} />`}
    <div class="dialog-foot">
      <button type="button" onClick=${onClose}>Cancel</button>
      <${Submit} action=${action} busy="Creating …">Create<//>
    </div>
  </form>`
}
