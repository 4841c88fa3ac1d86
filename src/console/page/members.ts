import { html } from 'htm/preact'
import { useState } from 'preact/hooks'
import { api, type Session } from './api.ts'
import { Download } from './download.ts'
import { ROLE_NAMES, ROLES_BY_RANK } from './format.ts'
import { useAction, usePaged } from './state.ts'
import type { Member, Role } from './types.ts'
import {
  Dialog,
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

type Request = { kind: 'add' } | { kind: 'role' | 'remove'; member: Member }

export function MembersPage({ session }: { session: Session }) {
  const listed = usePaged<Member>('v1/members', 'members')
  const [request, setRequest] = useState<Request | null>(null)
  const close = () => {
    setRequest(null)
    listed.reload()
  }
  const actions = html`<${Download} path="v1/access-review" name="access-review.csv" text="Access review as CSV" /> <button type="button" class="primary" onClick=${() => setRequest({ kind: 'add' })}>Add a member</button>`
  return html`<${Page} title="Members" actions=${actions}>
    <${Shown} of=${listed}>${(found: readonly Member[]) => html`
      <${Table} caption="Members" head=${['Email', 'Role', optionalHead('Since'), 'Last sign-in', 'Change']}>
        ${found.map((member) => html`<${Row} key=${member.id} member=${member} session=${session} onRequest=${setRequest} />`)}
      <//><${More} of=${listed} />`}<//>
    ${request?.kind === 'add' && html`<${AddDialog} session=${session} onClose=${close} />`}
    ${request?.kind === 'role' && html`<${RoleDialog} member=${request.member} session=${session} onClose=${close} />`}
    ${request?.kind === 'remove' && html`<${RemoveDialog} member=${request.member} onClose=${close} />`}
  <//>`
}

/** The roles that a member with this role may grant, change or remove. */
function rolesUpTo(role: Role): Role[] {
  return ROLES_BY_RANK.slice(ROLES_BY_RANK.indexOf(role))
}

function Row({
  member,
  session,
  onRequest,
}: {
  member: Member
  session: Session
  onRequest: (request: Request) => void
}) {
  const mayChange = rolesUpTo(session.role).includes(member.role)
  const button = (kind: 'role' | 'remove', text: string, name: string) =>
    html`<button type="button" class=${`small-button${kind === 'remove' ? ' danger' : ''}`} aria-label=${`${name} ${member.email}`} onClick=${() => onRequest({ kind, member })}>${text}</button> `
  return html`<tr>
    <th scope="row">${member.email}${member.id === session.userId && html` <span class="badge">you</span>`}</th>
    <td>${ROLE_NAMES[member.role]}</td>
    <td class="optional"><${When} at=${member.created_at} /></td>
    <td><${When} at=${member.last_sign_in_at} /></td>
    <td>${mayChange ? html`${button('role', 'Change role', 'Change role of')}${button('remove', 'Remove', 'Remove')}` : html`<span class="muted">needs an owner</span>`}</td>
  </tr>`
}

const ROLE_MEANINGS: Readonly<Record<Role, string>> = {
  owner: 'manages everything, including quotas of keys',
  admin: 'manages deployments, models, keys, members',
  lead_modeler: 'uploads and deploys models',
  modeler: 'read only',
  viewer: 'read only',
}

function RoleChoice({ session, value }: { session: Session; value: Role }) {
  return html`<${Field} label="Role">${(field: object) => html`<select ...${field} name="role">
    ${rolesUpTo(session.role).map((role) => html`<option value=${role} selected=${role === value}>${ROLE_NAMES[role]}: ${ROLE_MEANINGS[role]}</option>`)}
  </select>`}<//>`
}

function AddDialog({ session, onClose }: { session: Session; onClose: () => void }) {
  const action = useAction()
  const submit = (event: Event) => {
    event.preventDefault()
    const body = Object.fromEntries(new FormData(event.currentTarget as HTMLFormElement))
    action.run(async () => {
      await api('POST', 'v1/members', body)
      onClose()
    })
  }
  return html`<${Dialog} title="Add a member" onClose=${onClose}>
    <form onSubmit=${submit}>
      <${Field} label="Email">${(field: object) => html`<input ...${field} name="email" type="email" required autocomplete="off" />`}<//>
      <${Field} label="First password" hint="At least 8 characters. Give it to them yourself: no email is sent.">${(
        field: object,
      ) =>
        html`<input ...${field} name="password" type="password" required minlength="8" maxlength="1024" autocomplete="new-password" />`}<//>
      <${RoleChoice} session=${session} value="viewer" />
      ${action.error && html`<${Failure} error=${action.error} />`}
      <div class="dialog-foot"><button type="button" onClick=${onClose}>Cancel</button><${Submit} action=${action} busy="Adding …">Add<//></div>
    </form>
  <//>`
}

function RoleDialog({
  member,
  session,
  onClose,
}: {
  member: Member
  session: Session
  onClose: () => void
}) {
  const action = useAction()
  const submit = (event: Event) => {
    event.preventDefault()
    const role = new FormData(event.currentTarget as HTMLFormElement).get('role')
    action.run(async () => {
      await api('PATCH', `v1/members/${member.id}`, { role })
      onClose()
    })
  }
  return html`<${Dialog} title=${`Role of ${member.email}`} onClose=${onClose}>
    <form onSubmit=${submit}>
      <p>Now: ${ROLE_NAMES[member.role]}. The new role takes effect within a minute.</p>
      <${RoleChoice} session=${session} value=${member.role} />
      ${action.error && html`<${Failure} error=${action.error} />`}
      <div class="dialog-foot"><button type="button" onClick=${onClose}>Cancel</button><${Submit} action=${action} busy="Saving …">Save<//></div>
    </form>
  <//>`
}

function RemoveDialog({ member, onClose }: { member: Member; onClose: () => void }) {
  const action = useAction()
  const submit = (event: Event) => {
    event.preventDefault()
    action.run(async () => {
      await api('DELETE', `v1/members/${member.id}`)
      onClose()
    })
  }
  return html`<${Dialog} title=${`Remove ${member.email}`} onClose=${onClose}>
    <form onSubmit=${submit}>
      <p>${member.email} can no longer sign in. Their sessions end within a minute. Keys that they created stay active.</p>
      ${action.error && html`<${Failure} error=${action.error} />`}
      <div class="dialog-foot"><button type="button" onClick=${onClose}>Cancel</button><${Submit} action=${action} busy="Removing …" kind="danger">Remove<//></div>
    </form>
  <//>`
}
