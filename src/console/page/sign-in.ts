import { html } from 'htm/preact'
import { useState } from 'preact/hooks'
import { request, type SignInMethods, signIn, startSignOn } from './api.ts'
import { type SignOnFault, signOnFaultText } from './contract.ts'
import { useAction, useLoaded } from './state.ts'
import { ThemeToggle } from './theme-toggle.ts'
import { Failure, Field, Notice, Page, Shown, Submit } from './ui.ts'

export function SignIn() {
  const [fault] = useState(takeFault)
  const methods = useLoaded(() => request('GET', 'console/methods') as Promise<SignInMethods>, [])
  return html`<main class="sign-in">
    <p class="brand">Scoreline</p>
    <${Page} title="Sign in">
      ${fault !== null && html`<${SignOnRefused} fault=${fault} />`}
      <${Shown} of=${methods}>${(found: SignInMethods) =>
        found.sign_on
          ? html`<${SignOn} /><${Passwords} isForAll=${found.password} />`
          : html`<${PasswordForm} />`}<//>
    <//>
    <${ThemeToggle} />
  </main>`
}

/** Why the last sign-on was refused. */
export function SignOnRefused({ fault }: { fault: SignOnFault }) {
  return html`<${Notice} kind="fault"><p>${signOnFaultText(fault)}</p><//>`
}

/** The reason in the address, which loses it: a reload must not show it again. */
function takeFault(): SignOnFault | null {
  const reason = /^#\/sign-in\/(\w+)$/.exec(location.hash)?.[1]
  if (reason === undefined) return null
  history.replaceState(null, '', location.pathname + location.search)
  return reason
}

function SignOn() {
  const action = useAction()
  const start = () => action.run(startSignOn)
  return html`${action.error && html`<${Failure} error=${action.error} />`}
    <p><button type="button" class="primary" onClick=${start} aria-disabled=${action.isBusy}>Sign in with your organisation</button></p>`
}

/** @param isForAll else the service accepts the password of one owner only */
function Passwords({ isForAll }: { isForAll: boolean }) {
  return html`<details>
    <summary>${isForAll ? 'Sign in with a password' : 'The identity provider is away?'}</summary>
    ${!isForAll && html`<p class="hint">Only the emergency owner can sign in with a password.</p>`}
    <${PasswordForm} />
  </details>`
}

function PasswordForm() {
  const [email, setEmail] = useState('')
  const [password, setPassword] = useState('')
  const action = useAction()
  const submit = (event: Event) => {
    event.preventDefault()
    action.run(() => signIn(email, password))
  }
  const typed = (set: (text: string) => void) => (event: Event) =>
    set((event.currentTarget as HTMLInputElement).value)
  return html`<form onSubmit=${submit}>
      <${Field} label="Email">${(field: object) =>
        html`<input ...${field} type="email" autocomplete="username" required value=${email} onInput=${typed(setEmail)} />`}<//>
      <${Field} label="Password">${(field: object) =>
        html`<input ...${field} type="password" autocomplete="current-password" required value=${password} onInput=${typed(setPassword)} />`}<//>
      ${action.error && html`<${Failure} error=${action.error} />`}
      <${Submit} action=${action} busy="Signing in …">Sign in<//>
    </form>
    <p class="hint">Forgot your password? The operator of the service can set a new one.</p>`
}
