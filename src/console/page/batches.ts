import { html } from 'htm/preact'
import { useEffect } from 'preact/hooks'
import { api, type Session } from './api.ts'
import { Download } from './download.ts'
import { count, deploys } from './format.ts'
import { useAction, useLoaded, usePaged } from './state.ts'
import type { Batch, ListedDeployment } from './types.ts'
import {
  Badge,
  Empty,
  Failure,
  Field,
  More,
  numberHead,
  optionalHead,
  Page,
  Shown,
  Submit,
  Table,
  When,
} from './ui.ts'

const EVERY_MS = 2_000
const TYPES: Readonly<Record<string, string>> = {
  csv: 'text/csv',
  ndjson: 'application/x-ndjson',
  jsonl: 'application/x-ndjson',
  parquet: 'application/vnd.apache.parquet',
}
const BADGES: Readonly<Record<string, string>> = {
  queued: 'plain',
  running: 'plain',
  done: 'good',
  failed: 'fault',
  cancelled: 'off',
}

/** Files that are scored: sending one, how far they are, and their results. */
export function BatchesPage({ session }: { session: Session }) {
  if (!deploys(session.role)) {
    return html`<${Page} title="Batches">
      <${Empty} title="Your role can't score files"><p>An owner, admin or lead modeler can.</p><//>
    <//>`
  }
  return html`<${Page} title="Batches"><${Batches} /><//>`
}

function Batches() {
  const listed = usePaged<Batch>('v1/batches', 'batches')
  const isOpen = listed.data?.some(({ finished_at: end }) => end === null) ?? false
  useEffect(() => {
    if (!isOpen) return
    const timer = setInterval(listed.reload, EVERY_MS)
    return () => clearInterval(timer)
  }, [isOpen, listed.reload])
  return html`<p class="muted">A batch scores a file of applicants with one state of a deployment. Every applicant is in the score log and in the statistics, as if a server had sent them.</p>
    <${Upload} onSent=${listed.reload} />
    <section><h2>Files</h2>
      <${Shown} of=${listed}>${(found: readonly Batch[]) =>
        found.length === 0
          ? html`<${Empty} title="No file was scored yet"><p>Send one above. Results are kept for some days after the end.</p><//>`
          : html`<${Table} caption="Batches" head=${['Batch', 'State', 'Progress', numberHead('Scored'), numberHead('Errors'), optionalHead('Created'), 'Files']}>
              ${found.map((batch) => html`<${Row} key=${batch.id} batch=${batch} onChange=${listed.reload} />`)}
            <//><${More} of=${listed} />`}<//>
    </section>`
}

function Upload({ onSent }: { onSent: () => void }) {
  const action = useAction()
  const deployments = useLoaded(
    () => api<{ deployments: ListedDeployment[] }>('GET', 'v1/deployments'),
    [],
  )
  const submit = (event: Event) => {
    event.preventDefault()
    const form = new FormData(event.currentTarget as HTMLFormElement)
    const file = form.get('file')
    if (!(file instanceof File)) return
    action.run(async () => {
      const ending = file.name.slice(file.name.lastIndexOf('.') + 1).toLowerCase()
      const type = TYPES[ending] ?? 'text/csv'
      const query = new URLSearchParams({
        deployment: String(form.get('deployment')),
        results: String(form.get('results')),
      })
      const idField = String(form.get('id_field'))
      if (idField !== '') query.set('id_field', idField)
      if (form.get('contributions') !== null) query.set('include_contributions', 'true')
      await api<Batch>('POST', `v1/batches/upload?${query}`, file, type)
      onSent()
    })
  }
  return html`<section><h2>Score a file</h2>
    <${Shown} of=${deployments}>${({ deployments: found }: { deployments: ListedDeployment[] }) =>
      found.length === 0
        ? html`<${Empty} title="There is no deployment yet"><p>Deploy a scorecard first.</p><//>`
        : html`<form class="panel" onSubmit=${submit}>
            <${Field} label="Deployment">${(field: object) =>
              html`<select ...${field} name="deployment" required>${found.map(({ slug, name }) => html`<option value=${slug}>${name} (${slug})</option>`)}</select>`}<//>
            <${Field} label="Applicants" hint="CSV with a header of feature names, NDJSON, or Parquet">${(
              field: object,
            ) =>
              html`<input ...${field} name="file" type="file" accept=".csv,.ndjson,.jsonl,.parquet" required />`}<//>
            <${Field} label="Column of the reference" hint="Optional; id when left out">${(
              field: object,
            ) => html`<input ...${field} name="id_field" maxlength="200" autocomplete="off" />`}<//>
            <${Field} label="Results as">${(field: object) =>
              html`<select ...${field} name="results"><option value="csv">CSV</option><option value="ndjson">NDJSON</option><option value="parquet">Parquet</option></select>`}<//>
            <label class="choice"><input type="checkbox" name="contributions" /> With the points of each feature</label>
            ${action.error && html`<${Failure} error=${action.error} />`}
            <div><${Submit} action=${action} busy="Sending …">Score the file<//></div>
          </form>`}<//>
  </section>`
}

function Row({ batch, onChange }: { batch: Batch; onChange: () => void }) {
  const { id, status, counts, results, message } = batch
  const action = useAction()
  const cancel = () =>
    action.run(async () => {
      await api<Batch>('POST', `v1/batches/${id}/cancel`)
      onChange()
    })
  const isOpen = batch.finished_at === null
  return html`<tr>
    <th scope="row" class="subject"><code>${id}</code><br /><span class="muted">${batch.input.path ?? `a file of ${count(batch.input.bytes)} bytes`}</span></th>
    <td><${Badge} kind=${BADGES[status] ?? 'plain'}>${status}<//>${message && html`<br /><span class="muted">${message}</span>`}</td>
    <td><${Progress} batch=${batch} /></td>
    <td class="number">${count(counts.scored)}</td>
    <td class="number">${count(counts.errors)}</td>
    <td class="optional"><${When} at=${batch.created_at} /></td>
    <td>${
      isOpen
        ? html`<button type="button" onClick=${cancel} aria-disabled=${action.isBusy} aria-label=${`Cancel the batch ${id}`}>Cancel</button>`
        : html`<div class="actions">
            ${results.parts > 0 && html`<${Download} path=${`v1/batches/${id}/results`} name=${`${id}.${results.format}`} text="Results" />`}
            ${counts.errors > 0 && html`<${Download} path=${`v1/batches/${id}/errors`} name=${`${id}-errors.ndjson`} text="Errors" />`}
          </div>`
    }${action.error && html`<${Failure} error=${action.error} />`}</td>
  </tr>`
}

function Progress({ batch }: { batch: Batch }) {
  const { id, status, progress } = batch
  const { done, total } = progress
  const label = `Progress of the batch ${id}`
  if (status === 'done')
    return html`<progress aria-label=${label} max="1" value="1">100 %</progress>`
  if (total === 0) return html`<span class="muted">${status === 'queued' ? 'waits' : '–'}</span>`
  return html`<progress aria-label=${label} max=${total} value=${done}>${count(done)} of ${count(total)}</progress>`
}
