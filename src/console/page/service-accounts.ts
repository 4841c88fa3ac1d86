import { html } from 'htm/preact'
import { useState } from 'preact/hooks'
import { api, type Session } from './api.ts'
import { ROLE_NAMES, ROLES_BY_RANK } from './format.ts'
import { allNames, type Names } from './names.ts'
import {
  EndDialog,
  endIn,
  LastDay,
  type MadeSecret,
  RotateDialog,
  Secret,
} from './secret-dialogs.ts'
import { useAction, useLoaded, usePaged } from './state.ts'
import type { IssuedServiceAccount, ListedServiceAccount, Role } from './types.ts'
import {
  Dialog,
  Empty,
  Failure,
  Field,
  More,
  optionalHead,
  Page,
  Shown,
  Submit,
  Table,
  When,
} from './ui.ts'

type Account = ListedServiceAccount
type Request = { kind: 'create' } | { kind: 'rotate' | 'revoke'; account: Account }

const PATH = 'v1/service-accounts'
const NO_NAMES: Names = new Map()

/** Programs that manage with a role. */
export function ServiceAccountsPage({ session }: { session: Session }) {
  const listed = usePaged<Account>(PATH, 'service_accounts')
  const names = useLoaded(allNames, []).data ?? NO_NAMES
  const [request, setRequest] = useState<Request | null>(null)
  const close = () => {
    setRequest(null)
    listed.reload()
  }
  const actions = html`<button type="button" class="primary" onClick=${() => setRequest({ kind: 'create' })}>Create a service account</button>`
  const head = [
    'Name',
    'Role',
    optionalHead('Begins with'),
    'Ends',
    'Last used',
    optionalHead('Created by'),
    'Change',
  ]
  return html`<${Page} title="Service accounts" actions=${actions}>
    <p class="muted">A pipeline or notebook manages with a token of its own, and without a person’s password. It stays when its maker leaves.</p>
    <${Shown} of=${listed}>${(found: readonly Account[]) =>
      found.length === 0
        ? html`<${Empty} title="There are no service accounts"><p>Create one for each program that deploys or reads.</p><//>`
        : html`<${Table} caption="Service accounts" head=${head}>
            ${found.map((account) => html`<${Row} key=${account.id} account=${account} names=${names} onRequest=${setRequest} />`)}
          <//><${More} of=${listed} />`}<//>
    ${request?.kind === 'create' && html`<${CreateDialog} session=${session} onClose=${close} />`}
    ${request?.kind === 'rotate' && html`<${RotateDialog} name=${request.account.name} what="token" path=${`${PATH}/${request.account.id}`} onClose=${close} />`}
    ${
      request?.kind === 'revoke' &&
      html`<${EndDialog} title=${`Revoke ${request.account.name}`} path=${`${PATH}/${request.account.id}`} verb="Revoke" busy="Revoking …" onClose=${close}>
      <p>Every request with <code>${request.account.prefix}…</code> will be rejected. This can't be undone.</p>
      <p>It was last used: <${When} at=${request.account.last_used_at} />.</p>
    <//>`
    }
  <//>`
}

function Row({
  account,
  names,
  onRequest,
}: {
  account: Account
  names: Names
  onRequest: (request: Request) => void
}) {
  const maker = names.get(account.created_by)
  const button = (kind: 'rotate' | 'revoke', text: string) =>
    html`<button type="button" class=${`small-button${kind === 'revoke' ? ' danger' : ''}`} aria-label=${`${text} ${account.name}`} onClick=${() => onRequest({ kind, account })}>${text}</button> `
  return html`<tr>
    <th scope="row">${account.name}</th>
    <td>${ROLE_NAMES[account.role]}</td>
    <td class="optional"><code>${account.prefix}…</code></td>
    <td><${When} at=${account.expires_at} /></td>
    <td><${When} at=${account.last_used_at} /></td>
    <td class="optional">${maker ?? html`<code>${account.created_by}</code>`}</td>
    <td>${button('rotate', 'Rotate')}${button('revoke', 'Revoke')}</td>
  </tr>`
}

function CreateDialog({ session, onClose }: { session: Session; onClose: () => void }) {
  const [made, setMade] = useState<MadeSecret | null>(null)
  const action = useAction()
  const roles: readonly Role[] = ROLES_BY_RANK.slice(ROLES_BY_RANK.indexOf(session.role) + 1)
  const submit = (event: Event) => {
    event.preventDefault()
    const form = new FormData(event.currentTarget as HTMLFormElement)
    action.run(async () => {
      const body = { name: form.get('name'), role: form.get('role'), ...endIn(form) }
      const { name, token } = await api<IssuedServiceAccount>('POST', PATH, body)
      setMade({ name, secret: token })
    })
  }
  return html`<${Dialog} title=${made === null ? 'Create a service account' : 'Copy the token now'} onClose=${onClose}>
    ${
      made === null
        ? html`<form onSubmit=${submit}>
            <${Field} label="Name" hint="For example the pipeline that uses it">${(field: object) =>
              html`<input ...${field} name="name" required maxlength="255" autocomplete="off" />`}<//>
            <${Field} label="Role" hint="Only roles below your own">${(field: object) =>
              html`<select ...${field} name="role">${roles.map((role) => html`<option value=${role}>${ROLE_NAMES[role]}</option>`)}</select>`}<//>
            <${LastDay} hint="At most 366 days ahead; empty: in 90 days" />
            ${action.error && html`<${Failure} error=${action.error} />`}
            <div class="dialog-foot"><button type="button" onClick=${onClose}>Cancel</button><${Submit} action=${action} busy="Creating …">Create<//></div>
          </form>`
        : html`<${Secret} made=${made} what="token" onClose=${onClose} />`
    }
  <//>`
}
