import { html } from 'htm/preact'
import { api, type Session } from './api.ts'
import { waitingByDeployment } from './change-requests.ts'
import { deploys, pct } from './format.ts'
import { championPct, ShareBar } from './shares.ts'
import { type Paged, useLoaded, usePaged } from './state.ts'
import type { Deployment, ListedDeployment } from './types.ts'
import { Badge, Empty, Failure, Loading, More, Page, Shown, Table, When } from './ui.ts'

export function DeploymentsPage({ session }: { session: Session }) {
  const listed = usePaged<ListedDeployment>('v1/deployments', 'deployments')
  const waiting = useLoaded(waitingByDeployment, [], { everyMs: WAITING_MS }).data ?? NONE_WAITING
  const actions =
    deploys(session.role) && html`<a class="button primary" href="#/models/new">Deploy a model</a>`
  return html`<${Page} title="Deployments" actions=${actions}>
    <${Shown} of=${listed}>${(found: readonly ListedDeployment[]) =>
      found.length === 0
        ? html`<${None} mayDeploy=${deploys(session.role)} />`
        : html`<${List} found=${found} listed=${listed} waiting=${waiting} />`}<//>
  <//>`
}

/** Reload interval of what waits for approval. */
const WAITING_MS = 30_000
const NONE_WAITING: ReadonlyMap<string, number> = new Map()

function None({ mayDeploy }: { mayDeploy: boolean }) {
  return html`<${Empty} title="Nothing is deployed yet">
    <p>${
      mayDeploy
        ? html`A deployment needs a scorecard: <a href="#/models/new">upload one</a>.`
        : 'An owner, admin or lead modeler can upload a scorecard and deploy it.'
    }</p>
  <//>`
}

function List({
  found,
  listed,
  waiting,
}: {
  found: readonly ListedDeployment[]
  listed: Paged<ListedDeployment>
  waiting: ReadonlyMap<string, number>
}) {
  return html`<${Table} caption="Deployments"
      head=${['Deployment', 'Champion', 'Challengers', 'Traffic', 'Status', 'Created']}>
      ${found.map((one) => html`<${Row} key=${one.id} listed=${one} waiting=${waiting.get(one.id) ?? 0} />`)}
    <//>
    <${More} of=${listed} />`
}

/** The list has no challengers, so each row loads its own. */
function Row({ listed, waiting }: { listed: ListedDeployment; waiting: number }) {
  const { data, error } = useLoaded(
    () => api<Deployment>('GET', `v1/deployments/${listed.slug}`),
    [listed.slug],
  )
  const challengers = () => {
    if (error !== null) return html`<${Failure} error=${error} />`
    if (data === null) return html`<${Loading} text="…" />`
    if (data.challengers.length === 0) return html`<span class="muted">none</span>`
    return html`<ul class="plain">${data.challengers.map(
      (one) =>
        html`<li>${one.model_name} ${one.model_version} <span class="muted">${pct(one.traffic_pct)}</span></li>`,
    )}</ul>`
  }
  return html`<tr>
    <th scope="row"><a href=${`#/deployments/${listed.slug}`}>${listed.name}</a></th>
    <td>${listed.champion_model.name} ${listed.champion_model.version}
      ${data && html` <span class="muted">${pct(championPct(data))}</span>`}</td>
    <td>${challengers()}</td>
    <td>${data && html`<${ShareBar} deployment=${data} />`}</td>
    <td>
      <${Badge} kind=${listed.is_active ? 'good' : 'off'}>${listed.is_active ? 'active' : 'inactive'}<//>
      ${data?.strict_mode && html` <${Badge}>strict<//>`}
      ${waiting > 0 && html` <${Badge} kind="staging">${waiting} waiting for approval<//>`}
      ${data?.shadow_mode && html` <${Badge} kind="shadow">shadow<//>`}
    </td>
    <td><${When} at=${listed.created_at} /></td>
  </tr>`
}
