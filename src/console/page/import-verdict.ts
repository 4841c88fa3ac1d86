import { html } from 'htm/preact'
import { CertificateTable, Verdict } from './certificate.ts'
import { count, number, percent, signed } from './format.ts'
import { Card } from './model.ts'
import type { Action } from './state.ts'
import type { ImportDifference, ImportNote, ImportResult } from './types.ts'
import { Failure, Field, Notice, numberHead, Submit, Table } from './ui.ts'
import { Done } from './upload.ts'

interface ImportVerdictProps {
  readonly result: ImportResult
  readonly action: Action
  readonly onRegister: (target: object) => void
}

/** Result of an import: the verdict first, then the evidence. */
export function ImportVerdict({ result, action, onRegister }: ImportVerdictProps) {
  const { tool, spec, faults, parity, differences, conversions, registered } = result
  const { spec_warnings: warnings = [] } = result
  const isFit = spec !== null && parity?.agrees !== false
  return html`<section class="panel" aria-label="Verdict">
    <h2 id="import-verdict" tabindex="-1">Verdict</h2>
    ${faults.length > 0 && html`<${Faults} tool=${tool} faults=${faults} />`}
    ${spec !== null && parity === null && html`<${Notice}><p><strong>The card can be imported. Nothing proves yet that it scores as ${tool}.</strong></p><p>Choose a sample with the scores that ${tool} gave, then check again.</p><//>`}
    ${parity && html`<${Verdict} certificate=${parity} /><${CertificateTable} certificate=${parity} />`}
    ${differences.length > 0 && html`<${Differences} differences=${differences} />`}
    ${registered === null ? isFit && html`<${Register} action=${action} onRegister=${onRegister} />` : html`<${Done} result=${registered} />`}
    <${Notes} title="Differences between the specification and the file" notes=${conversions} />
    <${Notes} title="Worth a look" notes=${warnings} />
    ${spec !== null && html`<details><summary>The scorecard: ${spec.features.length} features</summary><${Card} spec=${spec} /></details>`}
  </section>`
}

function Faults({ tool, faults }: { tool: string | null; faults: readonly ImportNote[] }) {
  const what = tool === null ? 'The file' : `The card of ${tool}`
  return html`<${Notice} kind="fault">
    <p><strong>${what} can't be imported yet.</strong> Correct what is listed, then check again.</p>
    <${NoteList} notes=${faults} />
  <//>`
}

/** Shows only the first faults, because a sample may have one in each row. */
const NOTES_SHOWN_MAX = 100

function NoteList({ notes }: { notes: readonly ImportNote[] }) {
  const more = notes.length - NOTES_SHOWN_MAX
  return html`<ul>
    ${notes.slice(0, NOTES_SHOWN_MAX).map(({ path, message }) => html`<li><code>${path}</code> ${message}</li>`)}
    ${more > 0 && html`<li>… and ${count(more)} more</li>`}
  </ul>`
}

function Notes({ title, notes }: { title: string; notes: readonly ImportNote[] }) {
  if (notes.length === 0) return null
  return html`<details><summary>${title}: ${count(notes.length)}</summary>
    <${NoteList} notes=${notes} />
  </details>`
}

/** The first rows that differ, with the features that cause the difference. */
function Differences({ differences }: { differences: readonly ImportDifference[] }) {
  return html`<h3>The first rows that differ</h3>
    <${Table} caption="Rows that differ" head=${['Row', numberHead('Tool'), numberHead('Engine'), numberHead('Difference'), numberHead('PD, tool'), numberHead('PD, engine'), 'By feature']}>
      ${differences.map(
        (one) => html`<tr>
        <th scope="row">${one.path}${one.id !== null && ` (${one.id})`}</th>
        <td class="number">${one.expected_score}</td>
        <td class="number">${one.actual_score}</td>
        <td class="number">${signed(one.actual_score - one.expected_score)}</td>
        <td class="number">${percent(one.expected_pd)}</td>
        <td class="number">${percent(one.actual_pd)}</td>
        <td><ul class="plain">${one.features.map(
          ({ feature, bin, expected_points: expected, actual_points: actual }) =>
            html`<li>${feature} in ${bin ?? 'no bin'}: ${expected === null ? '' : `${number(expected)} in the tool, `}${number(actual)}${expected === null ? '' : ' here'}</li>`,
        )}</ul></td>
      </tr>`,
      )}
    <//>`
}

function Register({
  action,
  onRegister,
}: {
  action: Action
  onRegister: (target: object) => void
}) {
  const submit = (event: Event) => {
    event.preventDefault()
    const form = new FormData(event.currentTarget as HTMLFormElement)
    const description = String(form.get('description'))
    onRegister({
      environment: form.get('environment'),
      auto_deploy: form.get('deploy') !== null,
      ...(description !== '' && { description }),
    })
  }
  return html`<form onSubmit=${submit}>
    <h3>Register it</h3>
    <div class="fields">
      <${Field} label="Environment">${(field: object) =>
        html`<select ...${field} name="environment"><option value="staging">Staging: to try it</option><option value="production">Production: to decide</option></select>`}<//>
      <${Field} label="Description (optional)">${(field: object) => html`<input ...${field} name="description" maxlength="10000" />`}<//>
    </div>
    <label class="choice"><input type="checkbox" name="deploy" /> Deploy it: it becomes the champion of a new deployment.</label>
    ${action.error && html`<${Failure} error=${action.error} />`}
    <div><${Submit} action=${action} busy="Registering …">Register<//></div>
  </form>`
}
