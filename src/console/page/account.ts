import { html } from 'htm/preact'
import { useState } from 'preact/hooks'
import { api } from './api.ts'
import { EndDialog } from './secret-dialogs.ts'
import { useAction, usePaged } from './state.ts'
import type { OwnSession } from './types.ts'
import {
  Badge,
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

const PATH = 'api/auth/sessions'

/** The user's own sessions and password. */
export function AccountPage() {
  const listed = usePaged<OwnSession>(PATH, 'sessions')
  const [ending, setEnding] = useState<OwnSession | null>(null)
  const close = () => {
    setEnding(null)
    listed.reload()
  }
  return html`<${Page} title="Your account">
    <section><h2>Open sessions</h2>
      <p class="muted">End a session that you don't know, and change your password.</p>
      <${Shown} of=${listed}>${(found: readonly OwnSession[]) =>
        html`<${Table} caption="Open sessions" head=${['Started', 'Last renewed', optionalHead('Ends unless renewed'), 'End']}>
          ${found.map((one) => html`<${Row} key=${one.id} session=${one} onEnd=${() => setEnding(one)} />`)}
        <//><${More} of=${listed} />`}<//>
    </section>
    <${Password} onChanged=${listed.reload} />
    ${
      ending !== null &&
      html`<${EndDialog} title="End a session" path=${`${PATH}/${ending.id}`} verb="End it" busy="Ending …" onClose=${close}>
        <p>The session of <${When} at=${ending.started_at} isExact /> can't be renewed any more. Its last access token ends within the hour.</p>
      <//>`
    }
  <//>`
}

function Row({ session, onEnd }: { session: OwnSession; onEnd: () => void }) {
  return html`<tr>
    <th scope="row"><${When} at=${session.started_at} isExact />${session.is_current && html` <${Badge}>this one<//>`}</th>
    <td><${When} at=${session.last_refreshed_at} /></td>
    <td class="optional"><${When} at=${session.expires_at} /></td>
    <td>${
      session.is_current
        ? html`<span class="muted">sign out</span>`
        : html`<button type="button" class="small-button danger" aria-label="End this session" onClick=${onEnd}>End</button>`
    }</td>
  </tr>`
}

function Password({ onChanged }: { onChanged: () => void }) {
  const action = useAction()
  const [isDone, setDone] = useState(false)
  const submit = (event: Event) => {
    event.preventDefault()
    const form = event.currentTarget as HTMLFormElement
    const body = Object.fromEntries(new FormData(form))
    setDone(false)
    action.run(async () => {
      await api('POST', 'api/auth/password', body)
      form.reset()
      setDone(true)
      onChanged()
    })
  }
  return html`<section><h2>Password</h2>
    <form class="panel" aria-label="Password" onSubmit=${submit}>
      <${Field} label="Current password">${(field: object) =>
        html`<input ...${field} name="current_password" type="password" required maxlength="1024" autocomplete="current-password" />`}<//>
      <${Field} label="New password" hint="At least 8 characters. Your other sessions end.">${(
        field: object,
      ) =>
        html`<input ...${field} name="new_password" type="password" required minlength="8" maxlength="1024" autocomplete="new-password" />`}<//>
      ${action.error && html`<${Failure} error=${action.error} />`}
      ${isDone && html`<${Notice} kind="good">Your password is changed. Your other sessions have ended.<//>`}
      <${Submit} action=${action} busy="Changing …">Change the password<//>
    </form>
  </section>`
}
