import { html } from 'htm/preact'
import { useState } from 'preact/hooks'
import type { Session } from './api.ts'
import { deploys } from './format.ts'
import { usePaged } from './state.ts'
import type { ListedModel } from './types.ts'
import { Badge, Empty, EnvironmentBadge, Field, More, Page, Shown, Table, When } from './ui.ts'

export function ModelsPage({ session }: { session: Session }) {
  const [environment, setEnvironment] = useState('')
  const [status, setStatus] = useState('')
  const query = new URLSearchParams({
    ...(environment !== '' && { environment }),
    ...(status !== '' && { status }),
  }).toString()
  const listed = usePaged<ListedModel>(`v1/models${query && `?${query}`}`, 'models')
  const actions = html`
    ${session.role !== 'viewer' && html`<a class="button" href="#/models/backtest">Backtest a card</a>`}
    ${
      deploys(session.role) &&
      html`<a class="button primary" href="#/models/new">Upload a scorecard</a>
      <a class="button" href="#/models/import">Import a tool's card</a>`
    }`
  const chosen = (set: (value: string) => void) => (event: Event) =>
    set((event.currentTarget as HTMLSelectElement).value)
  return html`<${Page} title="Models" actions=${actions}>
    <div class="filters">
      <${Field} label="Environment">${(
        field: object,
      ) => html`<select ...${field} value=${environment} onChange=${chosen(setEnvironment)}>
        <option value="">All</option><option value="production">Production</option><option value="staging">Staging</option>
      </select>`}<//>
      <${Field} label="Status">${(
        field: object,
      ) => html`<select ...${field} value=${status} onChange=${chosen(setStatus)}>
        <option value="">All</option><option value="active">Active</option><option value="archived">Archived</option>
      </select>`}<//>
    </div>
    <${Shown} of=${listed}>${(found: readonly ListedModel[]) =>
      found.length === 0
        ? html`<${None} isFiltered=${query !== ''} mayUpload=${deploys(session.role)} />`
        : html`<${Table} caption="Models" head=${['Model', 'Version', 'Environment', 'Status', 'Description', 'Registered']}>
            ${found.map((model) => html`<${Row} key=${model.id} model=${model} />`)}
          <//><${More} of=${listed} />`}<//>
  <//>`
}

function Row({ model }: { model: ListedModel }) {
  return html`<tr>
    <th scope="row"><a href=${`#/models/${model.id}`}>${model.name}</a></th>
    <td>${model.version}</td>
    <td><${EnvironmentBadge} name=${model.environment} /></td>
    <td><${Badge} kind=${model.status === 'active' ? 'good' : 'off'}>${model.status}<//></td>
    <td>${model.description}</td>
    <td><${When} at=${model.created_at} /></td>
  </tr>`
}

function None({ isFiltered, mayUpload }: { isFiltered: boolean; mayUpload: boolean }) {
  if (isFiltered)
    return html`<${Empty} title="No model matches"><p>Choose another environment or status.</p><//>`
  return html`<${Empty} title="There are no models yet">
    <p>${
      mayUpload
        ? html`<a href="#/models/new">Upload a scorecard</a> that your modeling tool exported, or <a href="#/models/import">import the card of another tool</a>.`
        : 'An owner, admin or lead modeler can upload a scorecard.'
    }</p>
  <//>`
}
