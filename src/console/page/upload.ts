import { html } from 'htm/preact'
import { useState } from 'preact/hooks'
import { type ApiError, api, type FaultDetail, type Session } from './api.ts'
import { deploys } from './format.ts'
import { type JsonLines, lineOf, readJsonLines } from './json-lines.ts'
import { useAction } from './state.ts'
import type { DeployResult } from './types.ts'
import { Copy, Empty, Failure, Field, Notice, Page, Submit } from './ui.ts'

interface File {
  readonly name: string
  readonly text: string
  readonly lines: JsonLines
}

interface LineFault extends FaultDetail {
  readonly line: number
}

export function UploadPage({ session }: { session: Session }) {
  const above = html`<a href="#/models">Models</a>`
  if (!deploys(session.role)) {
    return html`<${Page} title="Upload a scorecard" above=${above}>
      <${Empty} title="Your role can't upload"><p>An owner, admin or lead modeler can.</p><//>
    <//>`
  }
  return html`<${Page} title="Upload a scorecard" above=${above}><${Upload} /><//>`
}

function Upload() {
  const [file, setFile] = useState<File | null>(null)
  const [done, setDone] = useState<DeployResult | null>(null)
  const action = useAction()
  const choose = async (event: Event) => {
    const [chosen] = (event.currentTarget as HTMLInputElement).files ?? []
    setDone(null)
    action.clear()
    if (chosen === undefined) return setFile(null)
    const text = await chosen.text()
    setFile({ name: chosen.name, text, lines: readJsonLines(text) })
  }
  // Otherwise choosing the same file again, corrected, has no effect.
  const forget = (event: Event) => {
    ;(event.currentTarget as HTMLInputElement).value = ''
  }
  const submit = (event: Event) => {
    event.preventDefault()
    const form = new FormData(event.currentTarget as HTMLFormElement)
    if (file === null || file.lines.fault !== null) return
    action.run(async () => {
      setDone(null)
      const description = String(form.get('description'))
      const rest = JSON.stringify({
        environment: form.get('environment'),
        auto_deploy: form.get('deploy') !== null,
        ...(description !== '' && { description }),
      })
      // Sends the file unchanged, because parsing and serialising could alter a number.
      const body = `{"spec":${file.text.replace(/^\uFEFF/, '')},${rest.slice(1)}`
      setDone(await api<DeployResult>('POST', 'v1/models/deploy', body))
    })
  }
  const faults = file === null ? [] : faultsOf(file, action.error)
  return html`
    <form class="panel" onSubmit=${submit}>
      <${Field} label="Scorecard" hint="The JSON file from your modeling tool">${(field: object) =>
        html`<input ...${field} type="file" accept=".json,application/json" required onClick=${forget} onChange=${choose} />`}<//>
      <${Field} label="Environment">${(field: object) =>
        html`<select ...${field} name="environment"><option value="staging">Staging: to try it</option><option value="production">Production: to decide</option></select>`}<//>
      <${Field} label="Description (optional)">${(field: object) => html`<input ...${field} name="description" maxlength="10000" />`}<//>
      <label class="choice"><input type="checkbox" name="deploy" checked /> Deploy it as the champion of a new deployment. Otherwise it is only registered, for example to become a challenger.</label>
      ${action.error && faults.length === 0 && html`<${Failure} error=${action.error} />`}
      <div><${Submit} action=${action} busy="Checking and registering …">Upload<//></div>
    </form>
    ${done && html`<${Done} result=${done} />`}
    ${file && faults.length > 0 && html`<${Faults} file=${file} faults=${faults} />`}`
}

function faultsOf({ lines, text }: File, error: ApiError | null): LineFault[] {
  if (lines.fault !== null) return [{ ...lines.fault, path: '' }]
  if (error === null || error.code !== 'invalid_spec' || text === '') return []
  return error.details
    .map((detail) => ({ ...detail, line: lineOf(lines, detail.path) }))
    .sort((a, b) => a.line - b.line)
}

export function Done({ result }: { result: DeployResult }) {
  const { deployment, spec_warnings: warnings = [] } = result
  return html`<${Notice} kind="good">
    <p><strong>${result.name} ${result.version}</strong> is registered${deployment === null ? '.' : ' and answers.'}</p>
    <p><a href=${`#/models/${result.model_id}`}>See the model</a>
      ${deployment && html` · <a href=${`#/deployments/${deployment.slug}`}>See the deployment</a> · <a href=${`#/try/${deployment.slug}`}>Try it</a>`}</p>
    ${deployment && html`<p><code>${deployment.endpoint}</code> <${Copy} text=${deployment.endpoint} label="Copy the address" /></p>`}
    ${warnings.length > 0 && html`<p>Worth a look:</p><ul>${warnings.map(({ path, message }) => html`<li><code>${path}</code> ${message}</li>`)}</ul>`}
  <//>`
}

const LINES_AROUND = 2
const FAULTS_SHOWN_MAX = 100

/** Each fault with its line and the lines around it. */
function Faults({ file, faults }: { file: File; faults: readonly LineFault[] }) {
  const lines = file.text.split('\n')
  const shown = faults.slice(0, FAULTS_SHOWN_MAX)
  const count = faults.length === 1 ? 'one fault' : `${faults.length} faults`
  return html`<section>
    <${Notice} kind="fault"><p><strong>${file.name} has ${count}; nothing was registered.</strong> Correct the file, then choose it again.</p><//>
    <ol class="faults">${shown.map(
      (fault) => html`<li>
        <p><strong>Line ${fault.line}</strong>${fault.path && html` <code>${fault.path}</code>`}: ${fault.message}</p>
        <pre tabindex="0" aria-label=${`Lines around ${fault.line}`}>${around(
          lines,
          fault.line,
        ).map(
          ([number, text]) =>
            html`<span class=${number === fault.line ? 'code-line marked' : 'code-line'}><span class="line-number">${number}</span>${text}</span>`,
        )}</pre>
      </li>`,
    )}</ol>
    ${faults.length > shown.length && html`<p>… and ${faults.length - shown.length} more.</p>`}
  </section>`
}

const LINE_CHARS_MAX = 400

function around(lines: readonly string[], line: number): [number, string][] {
  const first = Math.max(0, line - 1 - LINES_AROUND)
  return lines
    .slice(first, line + LINES_AROUND)
    .map((text, index) => [first + index + 1, `${text.slice(0, LINE_CHARS_MAX)}\n`])
}
