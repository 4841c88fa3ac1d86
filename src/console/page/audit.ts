import { html } from 'htm/preact'
import { api } from './api.ts'
import { isCertificate, verdictText } from './certificate-text.ts'
import { Download } from './download.ts'
import { allNames, type Names } from './names.ts'
import { useLoaded, usePaged } from './state.ts'
import type { AuditRecord } from './types.ts'
import { Empty, More, Page, Shown, Table, When } from './ui.ts'

export function AuditLogPage({ subject }: { subject: string | null }) {
  const query = subject === null ? '' : `?subject=${subject}`
  const listed = usePaged<AuditRecord>(`v1/audit-log${query}`, 'records')
  const above = subject !== null && html`<a href="#/audit">Audit log</a>`
  const actions =
    subject === null &&
    html`<${Download} path="v1/audit-log/export" name="audit-log.ndjson" text="Export as NDJSON" />`
  return html`<${Page} title=${subject === null ? 'Audit log' : `Audit log of ${subject}`} above=${above} actions=${actions}>
    <${Shown} of=${listed}>${(found: readonly AuditRecord[]) =>
      found.length === 0
        ? html`<${Empty} title="There are no changes yet"><p>This page lists every change to models, deployments, keys and members.</p><//>`
        : html`<${Records} records=${found} /><${More} of=${listed} />`}<//>
  <//>`
}

/** The latest changes of one object. */
export function AuditTrail({ subject }: { subject: string }) {
  const loaded = useLoaded(() => newestOf(subject, 5), [subject])
  return html`<section><h2>Changes</h2>
    <${Shown} of=${loaded}>${(records: readonly AuditRecord[]) =>
      records.length === 0
        ? html`<p class="muted">None yet.</p>`
        : html`<${Records} records=${records} isOfOne />
          <p><a href=${`#/audit/${subject}`}>All changes</a></p>`}<//>
  </section>`
}

export async function newestOf(subject: string, limit: number): Promise<readonly AuditRecord[]> {
  const path = `v1/audit-log?subject=${subject}&limit=${limit}`
  return (await api<{ records: readonly AuditRecord[] }>('GET', path)).records
}

const NO_NAMES: Names = new Map()

/** @param isOfOne leaves out the subject, because it is the same in all rows */
function Records({
  records,
  isOfOne = false,
}: {
  records: readonly AuditRecord[]
  isOfOne?: boolean
}) {
  const names = useLoaded(allNames, []).data ?? NO_NAMES
  const head = ['When', 'Action', ...(isOfOne ? [] : ['Subject']), 'By', 'What changed', 'Reason']
  return html`<${Table} caption="Audit records" head=${head}>
    ${records.map(
      (record) => html`<tr key=${record.id}>
      <td><${When} at=${record.created_at} /></td>
      <td>${record.action.replace('.', ': ').replaceAll('_', ' ')}</td>
      ${!isOfOne && html`<td class="subject"><a href=${`#/audit/${record.subject}`}><${Named} id=${record.subject} names=${names} /></a></td>`}
      <td class="subject"><${Named} id=${record.actor} names=${names} /></td>
      <td><${Differences} record=${record} names=${names} /></td>
      <td class="reason">${record.reason}</td>
    </tr>`,
    )}
  <//>`
}

/** Shows the name of an object, or its id if it has no name or no longer exists. */
function Named({ id, names }: { id: string; names: Names }) {
  const name = names.get(id)
  return name === undefined ? html`<code>${id}</code>` : html`<span title=${id}>${name}</span>`
}

/** The fields whose values differ; all fields of a new object. */
export function Differences({ record, names = NO_NAMES }: { record: AuditRecord; names?: Names }) {
  const before: Record<string, unknown> = record.before ?? {}
  const after: Record<string, unknown> = record.after ?? {}
  const fields = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  const changed = fields.filter(
    (field) => JSON.stringify(before[field]) !== JSON.stringify(after[field]),
  )
  if (changed.length === 0) return html`<span class="muted">–</span>`
  return html`<ul class="differences">${changed.map(
    (
      field,
    ) => html`<li><span class="muted">${field.replace(/_id$/, '').replaceAll('_', ' ')}</span>${' '}
      ${Object.hasOwn(before, field) && html`<del>${textOf(before[field], names)}</del> → `}
      ${Object.hasOwn(after, field) ? html`<ins>${textOf(after[field], names)}</ins>` : 'gone'}</li>`,
  )}</ul>`
}

function textOf(value: unknown, names: Names): string {
  if (value === null) return 'none'
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (Array.isArray(value))
    return value.length === 0 ? 'none' : value.map((one) => textOf(one, names)).join('; ')
  if (typeof value !== 'object') return names.get(String(value)) ?? String(value)
  if (isCertificate(value)) return verdictText(value)
  // A challenger's share is enough: its buckets follow from it.
  const { model_id: model, traffic_pct: share } = value as {
    model_id?: string
    traffic_pct?: number
  }
  return model === undefined ? JSON.stringify(value) : `${names.get(model) ?? model} ${share} %`
}
