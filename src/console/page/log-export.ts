import { html } from 'htm/preact'
import { apiFile } from './api.ts'
import { save } from './download.ts'
import { useAction } from './state.ts'
import { Failure, Field, Submit } from './ui.ts'

const DAY_MS = 86_400_000
const FORMATS: Readonly<Record<string, string>> = {
  csv: 'CSV',
  ndjson: 'NDJSON',
  parquet: 'Parquet',
}

/** Exports the log of whole days of UTC as a file. */
export function LogExport() {
  const action = useAction()
  const submit = (event: Event) => {
    event.preventDefault()
    const form = new FormData(event.currentTarget as HTMLFormElement)
    const [first, last, format] = ['first', 'last', 'format'].map((name) => String(form.get(name)))
    action.run(async () => {
      const from = new Date(`${first}T00:00:00Z`).toISOString()
      const to = new Date(Date.parse(`${last}T00:00:00Z`) + DAY_MS).toISOString()
      const file = await apiFile(`v1/log/export?format=${format}&from=${from}&to=${to}`)
      save(file, `score-log-${first}-to-${last}.${format}`)
    })
  }
  const today = new Date().toISOString().slice(0, 10)
  const day = (name: string) => (field: object) =>
    html`<input ...${field} name=${name} type="date" required value=${today} max=${today} />`
  return html`<section><h2>Export</h2>
    <form class="inline" aria-label="Export" onSubmit=${submit}>
      <${Field} label="First day (UTC)">${day('first')}<//>
      <${Field} label="Last day (UTC)">${day('last')}<//>
      <${Field} label="Format">${(field: object) =>
        html`<select ...${field} name="format">
          ${Object.entries(FORMATS).map(([value, name]) => html`<option value=${value}>${name}</option>`)}
        </select>`}<//>
      <${Submit} action=${action} busy="Exporting …">Export<//>
    </form>
    ${action.error && html`<${Failure} error=${action.error} />`}
  </section>`
}
