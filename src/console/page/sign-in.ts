import { html } from 'htm/preact'
import { useState } from 'preact/hooks'
import { signIn } from './api.ts'
import { useAction } from './state.ts'
import { ThemeToggle } from './theme-toggle.ts'
import { Failure, Field, Page, Submit } from './ui.ts'

export function SignIn() {
  const [email, setEmail] = useState('')
  const [password, setPassword] = useState('')
  const action = useAction()
  const submit = (event: Event) => {
    event.preventDefault()
    action.run(() => signIn(email, password))
  }
  const typed = (set: (text: string) => void) => (event: Event) =>
    set((event.currentTarget as HTMLInputElement).value)
  return html`<main class="sign-in">
    <p class="brand">Scoreline</p>
    <${Page} title="Sign in">
      <form onSubmit=${submit}>
        <${Field} label="Email">${(field: object) =>
          html`<input ...${field} type="email" autocomplete="username" required value=${email} onInput=${typed(setEmail)} />`}<//>
        <${Field} label="Password">${(field: object) =>
          html`<input ...${field} type="password" autocomplete="current-password" required value=${password} onInput=${typed(setPassword)} />`}<//>
        ${action.error && html`<${Failure} error=${action.error} />`}
        <${Submit} action=${action} busy="Signing in …">Sign in<//>
      </form>
      <p class="hint">Forgot your password? The operator of the service can set a new one.</p>
    <//>
    <${ThemeToggle} />
  </main>`
}
