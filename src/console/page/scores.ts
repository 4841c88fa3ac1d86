import { html } from 'htm/preact'
import { api } from './api.ts'
import { manages, number, percent } from './format.ts'
import { LogExport } from './log-export.ts'
import { go, type Paged, usePaged, useSession } from './state.ts'
import type { FoundScore } from './types.ts'
import { Empty, Field, More, numberHead, Page, Shown, Table, When } from './ui.ts'

/** Finds scores by request id or by reference, and exports the log. */
export function ScoresPage({ reference }: { reference: string | null }) {
  const session = useSession()
  return html`<${Page} title="Scores">
    <${Finder} key=${reference} text=${reference ?? ''} />
    ${
      reference === null
        ? html`<${Empty} title="Which score?"><p>The log keeps every answer. Enter the id of a request, or the reference of an application: what the caller sent as <code>X-Reference-Id</code>, or the <code>id</code> of a record in a batch.</p><//>`
        : html`<${Found} key=${reference} reference=${reference} />`
    }
    ${reference === null && session !== null && manages(session.role) && html`<${LogExport} />`}
  <//>`
}

export function Finder({ text }: { text: string }) {
  const find = (event: Event) => {
    event.preventDefault()
    const wanted = String(new FormData(event.currentTarget as HTMLFormElement).get('wanted')).trim()
    if (wanted === '') return
    go(wanted.startsWith('req_') ? `scores/${wanted}` : `scores/find/${encodeURIComponent(wanted)}`)
  }
  return html`<form class="inline finder" role="search" onSubmit=${find}>
    <${Field} label="Request id or reference">${(field: object) =>
      html`<input ...${field} name="wanted" type="search" autocomplete="off" required value=${text} />`}<//>
    <button type="submit" class="primary">Find</button>
  </form>`
}

function Found({ reference }: { reference: string }) {
  const path = `v1/scores?reference=${encodeURIComponent(reference)}`
  const paged: Paged<FoundScore> = usePaged(path, 'scores')
  return html`<section><h2>Scores of ${reference}</h2>
    <${Shown} of=${paged}>${(scores: readonly FoundScore[]) =>
      scores.length === 0
        ? html`<${Empty} title="No score has this reference"><p>Check its spelling. A score appears within two seconds of its answer.</p><//>`
        : html`<${Table} caption="Scores" head=${['When', 'Deployment', 'Version', numberHead('Score'), 'Grade', numberHead('PD'), 'Request']}>
          ${scores.map(
            (one) => html`<tr key=${`${one.request_id} ${one.record_index}`}>
            <td><${When} at=${one.scored_at} isExact /></td>
            <td><a href=${`#/deployments/${one.deployment_id}`}><code>${one.deployment_id}</code></a></td>
            <td>${one.model_version}</td>
            <td class="number">${number(one.score)}</td>
            <td>${one.risk_grade ?? '–'}</td>
            <td class="number">${percent(one.pd)}</td>
            <td><a href=${`#/scores/${one.request_id}/${one.record_index}`}><code>${one.request_id}</code></a></td>
          </tr>`,
          )}
        <//>`}<//>
    <${More} of=${paged} />
  </section>`
}

/** Name of a deployment or an API key; its id if it is not there any more. */
export async function nameOf(path: string, property: string, id: string): Promise<string> {
  const list = (await api<Record<string, readonly { id: string; name: string }[]>>('GET', path))[
    property
  ]
  return list?.find((one) => one.id === id)?.name ?? id
}
