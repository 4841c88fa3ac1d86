import { html } from 'htm/preact'
import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import type { ApiError } from './api.ts'
import { when, whenExactly } from './format.ts'
import type { Action, Loaded, Paged } from './state.ts'

interface WithChildren {
  readonly children?: ComponentChildren
}

/** A page. Its heading takes the focus, so that screen readers announce the page. */
export function Page({
  title,
  above,
  actions,
  children,
}: WithChildren & { title: string; above?: ComponentChildren; actions?: ComponentChildren }) {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    document.title = `${title} · Scoreline`
  }, [title])
  useEffect(() => heading.current?.focus(), [])
  return html`<header class="page-head">
      <div>
        ${above && html`<p class="above">${above}</p>`}
        <h1 tabindex="-1" ref=${heading}>${title}</h1>
      </div>
      ${actions && html`<div class="actions">${actions}</div>`}
    </header>
    ${children}`
}

/** Shows loaded data, the loading state or the error. */
export function Shown<T>({
  of: loaded,
  children,
}: {
  of: Loaded<T>
  children: (data: T) => ComponentChildren
}) {
  return html`${loaded.error && html`<${Failure} error=${loaded.error} retry=${loaded.reload} />`}
  ${loaded.data === null ? loaded.error === null && html`<${Loading} />` : children(loaded.data)}`
}

export function Loading({ text = 'Loading …' }: { text?: string }) {
  return html`<p class="loading" role="status"><span class="spinner" aria-hidden="true"></span>${text}</p>`
}

export function Failure({ error, retry }: { error: ApiError; retry?: () => void }) {
  return html`<div class="notice fault" role="alert">
    <p>${error.message}</p>
    ${
      error.details.length > 0 &&
      html`<ul>${error.details.map(({ path, message }) => html`<li><code>${path}</code> ${message}</li>`)}</ul>`
    }
    ${error.requestId && html`<p class="small">Code <code>${error.code}</code>, request <code>${error.requestId}</code></p>`}
    ${retry && html`<button type="button" onClick=${retry}>Try again</button>`}
  </div>`
}

/** An empty state that says what to do. */
export function Empty({ title, children }: WithChildren & { title: string }) {
  return html`<div class="empty"><p class="empty-title">${title}</p>${children}</div>`
}

export function Notice({
  kind = 'info',
  children,
}: WithChildren & { kind?: 'info' | 'good' | 'fault' }) {
  return html`<div class="notice ${kind}" role="status">${children}</div>`
}

export function Badge({ kind = 'plain', children }: WithChildren & { kind?: string }) {
  return html`<span class="badge ${kind}">${children}</span>`
}

export function EnvironmentBadge({ name }: { name: string | null }) {
  return html`<${Badge} kind=${name ?? 'plain'}>${name ?? 'both environments'}<//>`
}

/** A table that scrolls on narrow pages, also by keyboard. */
export function Table({
  caption,
  head,
  children,
}: WithChildren & {
  caption: string
  head: readonly (string | Head)[]
}) {
  return html`<div class="scroll" role="region" aria-label=${caption} tabindex="0">
    <table>
      <caption class="unseen">${caption}</caption>
      <thead><tr>${head.map((cell) =>
        cell === ''
          ? html`<td></td>`
          : typeof cell === 'string'
            ? html`<th scope="col">${cell}</th>`
            : html`<th scope="col" class=${cell.kind}>${cell.text}</th>`,
      )}</tr></thead>
      <tbody>${children}</tbody>
    </table>
  </div>`
}

/** A column head with the class of its cells, for columns that are not plain text. */
interface Head {
  readonly text: string
  readonly kind: string
}

export function numberHead(text: string): Head {
  return { text, kind: 'number' }
}

/** Head of a column that narrow windows hide; its cells need the same class. */
export function optionalHead(text: string, kind = ''): Head {
  return { text, kind: `${kind} optional` }
}

/** A native dialog: it holds the focus, and Escape closes it. */
export function Dialog({
  title,
  onClose,
  children,
}: WithChildren & { title: string; onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    const opener = document.activeElement
    dialog.current?.showModal()
    return () => {
      if (opener instanceof HTMLElement) opener.focus()
    }
  }, [])
  return html`<dialog ref=${dialog} aria-labelledby=${id} onClose=${onClose}>
    <div class="dialog-head">
      <h2 id=${id}>${title}</h2>
      <button type="button" class="quiet" aria-label="Close" onClick=${() => dialog.current?.close()}>✕</button>
    </div>
    ${children}
  </dialog>`
}

/** A label with its control; `children` receives the control's attributes. */
export function Field({
  label,
  hint,
  children,
}: {
  label: string
  hint?: string
  children: (attributes: { id: string; 'aria-describedby'?: string }) => ComponentChildren
}) {
  const id = useId()
  const described = hint === undefined ? { id } : { id, 'aria-describedby': `${id}-hint` }
  return html`<div class="field">
    <label for=${id}>${label}</label>
    ${children(described)}
    ${hint && html`<p class="hint" id=${`${id}-hint`}>${hint}</p>`}
  </div>`
}

/** The submit button of a form; it shows when the action is busy. */
export function Submit({
  action,
  busy,
  kind = 'primary',
  children,
}: WithChildren & { action: Action; busy: string; kind?: string }) {
  return html`<button type="submit" class=${kind} aria-disabled=${action.isBusy} aria-busy=${action.isBusy}>
    ${action.isBusy ? html`<span class="spinner" aria-hidden="true"></span>${busy}` : children}
  </button>`
}

export function Copy({ text, label }: { text: string; label: string }) {
  const [state, setState] = useState<'' | 'copied' | 'failed'>('')
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text)
      setState('copied')
    } catch {
      // Only secure origins and localhost may write to the clipboard.
      setState('failed')
    }
    setTimeout(() => setState(''), 3_000)
  }
  return html`<button type="button" class="small-button" onClick=${copy}>${label}</button>
    <span role="status" class="small">${
      { '': '', copied: ' Copied', failed: ' Select it and copy it by hand' }[state]
    }</span>`
}

export function When({ at, isExact = false }: { at: string | null; isExact?: boolean }) {
  if (at === null) return html`<span class="muted">never</span>`
  return html`<time datetime=${at} title=${whenExactly(at)}>${isExact ? whenExactly(at) : when(at)}</time>`
}

export function More<T>({ of: paged }: { of: Paged<T> }) {
  if (!paged.hasMore) return null
  return html`<p><button type="button" onClick=${paged.more} aria-disabled=${paged.isLoading}>
    ${paged.isLoading ? 'Loading …' : 'Show more'}
  </button></p>`
}
