import { html } from 'htm/preact'
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { api } from './api.ts'
import { useAction } from './state.ts'
import { Copy, Dialog, Failure, Field, Notice, Submit, When } from './ui.ts'

const DAY_MS = 86_400_000

/** A secret that the service has just made. */
export interface MadeSecret {
  readonly name: string
  readonly secret: string
  /** Until when the secret before it is accepted, if it still is. */
  readonly previousUntil?: string | undefined
}

/** @param what the thing that has the secret, such as `key` */
export function Secret({
  made,
  what,
  onClose,
}: {
  made: MadeSecret
  what: string
  onClose: () => void
}) {
  return html`<${Notice} kind="good">
      <p>The ${what} of “${made.name}” is shown only once: the service stores only its hash.</p>
      ${made.previousUntil && html`<p>The one before it is accepted until <${When} at=${made.previousUntil} isExact />.</p>`}
    <//>
    <p><code class="secret" tabindex="0">${made.secret}</code></p>
    <p><${Copy} text=${made.secret} label=${`Copy the ${what}`} /></p>
    <div class="dialog-foot"><button type="button" class="primary" onClick=${onClose}>I have stored it</button></div>`
}

/** A field for the last day of a secret. */
export function LastDay({ hint }: { hint: string }) {
  const today = new Date().toISOString().slice(0, 10)
  return html`<${Field} label="Last day (UTC)" hint=${hint}>${(field: object) =>
    html`<input ...${field} name="last_day" type="date" min=${today} />`}<//>`
}

/** The end that a form names, as part of a request; nothing without one. */
export function endIn(form: FormData): { expires_at?: string } {
  const day = String(form.get('last_day') ?? '')
  if (day === '') return {}
  return { expires_at: new Date(Date.parse(`${day}T00:00:00Z`) + DAY_MS).toISOString() }
}

const OVERLAPS: readonly (readonly [seconds: number, text: string])[] = [
  [0, 'ends at once'],
  [3_600, 'stays valid for an hour'],
  [86_400, 'stays valid for a day'],
  [604_800, 'stays valid for a week'],
]

/** Replaces a secret by a new one, and shows that. */
export function RotateDialog({
  name,
  what,
  path,
  onClose,
}: {
  name: string
  what: 'key' | 'token'
  /** Path of the thing that has the secret. */
  path: string
  onClose: () => void
}) {
  const [made, setMade] = useState<MadeSecret | null>(null)
  const action = useAction()
  const submit = (event: Event) => {
    event.preventDefault()
    const form = new FormData(event.currentTarget as HTMLFormElement)
    action.run(async () => {
      const body = { overlap_seconds: Number(form.get('overlap')), ...endIn(form) }
      const answer = await api<Record<string, string>>('POST', `${path}/rotate`, body)
      setMade({
        name,
        secret: answer[what] ?? '',
        previousUntil: answer['previous_valid_until'],
      })
    })
  }
  return html`<${Dialog} title=${made === null ? `Rotate ${name}` : `Copy the ${what} now`} onClose=${onClose}>
    ${
      made === null
        ? html`<form onSubmit=${submit}>
            <p>It gets a new ${what}, and keeps everything else.</p>
            <${Field} label=${`The old ${what}`}>${(field: object) =>
              html`<select ...${field} name="overlap">${OVERLAPS.map(
                ([seconds, text]) => html`<option value=${seconds}>${text}</option>`,
              )}</select>`}<//>
            <${LastDay} hint=${`Leave empty to keep the end of the ${what}`} />
            ${action.error && html`<${Failure} error=${action.error} />`}
            <div class="dialog-foot"><button type="button" onClick=${onClose}>Cancel</button><${Submit} action=${action} busy="Rotating …">Rotate<//></div>
          </form>`
        : html`<${Secret} made=${made} what=${what} onClose=${onClose} />`
    }
  <//>`
}

/** Asks once more before something ends for good. */
export function EndDialog({
  title,
  path,
  verb,
  busy,
  onClose,
  children,
}: {
  title: string
  path: string
  verb: string
  busy: string
  onClose: () => void
  children?: ComponentChildren
}) {
  const action = useAction()
  const submit = (event: Event) => {
    event.preventDefault()
    action.run(async () => {
      await api('DELETE', path)
      onClose()
    })
  }
  return html`<${Dialog} title=${title} onClose=${onClose}>
    <form onSubmit=${submit}>
      ${children}
      ${action.error && html`<${Failure} error=${action.error} />`}
      <div class="dialog-foot"><button type="button" onClick=${onClose}>Cancel</button><${Submit} action=${action} busy=${busy} kind="danger">${verb}<//></div>
    </form>
  <//>`
}
