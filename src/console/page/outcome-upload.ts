import { html } from 'htm/preact'
import { useState } from 'preact/hooks'
import { api } from './api.ts'
import { count } from './format.ts'
import { useAction } from './state.ts'
import type { OutcomeImport } from './types.ts'
import { Failure, Field, Notice, Submit } from './ui.ts'

const EVERY_MS = 1_000
const FAULTS_SHOWN_MAX = 20

/** Uploads a CSV file of outcomes and follows its progress. */
export function OutcomeUpload() {
  const action = useAction()
  const [found, setFound] = useState<OutcomeImport | null>(null)
  const submit = (event: Event) => {
    event.preventDefault()
    const form = new FormData(event.currentTarget as HTMLFormElement)
    const file = form.get('file')
    if (!(file instanceof File)) return
    action.run(async () => {
      setFound(null)
      const text = await file.text()
      const { id } = await api<{ id: string }>('POST', 'v1/outcomes/imports', text, 'text/csv')
      for (;;) {
        const progress = await api<OutcomeImport>('GET', `v1/outcomes/imports/${id}`)
        setFound(progress)
        if (progress.status !== 'running') return
        await new Promise((resolve) => setTimeout(resolve, EVERY_MS))
      }
    })
  }
  return html`<section><h2>Upload outcomes</h2>
    <form class="panel" onSubmit=${submit}>
      <${Field} label="Outcomes" hint="A CSV file with a header, such as deployment, reference, kind, definition, outcome, as_of">${(
        field: object,
      ) => html`<input ...${field} name="file" type="file" accept=".csv,text/csv" required />`}<//>
      ${action.error && html`<${Failure} error=${action.error} />`}
      <div><${Submit} action=${action} busy="Working it off …">Upload<//></div>
    </form>
    ${found && html`<${Progress} found=${found} />`}
  </section>`
}

function Progress({ found }: { found: OutcomeImport }) {
  const { status, lines, counts, errors } = found
  const kind = status === 'failed' || counts.invalid > 0 ? 'fault' : 'good'
  return html`<${Notice} kind=${kind}>
    <p><strong>${status === 'running' ? 'Working' : status === 'done' ? 'Done' : 'Failed'}:</strong>
      ${' '}${count(lines)} lines; ${count(counts.accepted)} accepted, ${count(counts.unchanged)} unchanged, ${count(counts.revised)} revised,
      ${' '}${count(counts.unmatched)} without a known score, ${count(counts.ambiguous)} ambiguous, ${count(counts.invalid)} invalid.</p>
    ${errors.length > 0 && html`<ul>${errors.slice(0, FAULTS_SHOWN_MAX).map(({ line, message }) => html`<li>Line ${line}: ${message}</li>`)}</ul>`}
  <//>`
}
