import { html } from 'htm/preact'
import { useState } from 'preact/hooks'
import { Activity } from './activity.ts'
import { api, type Session } from './api.ts'
import { AuditTrail } from './audit.ts'
import { ChangeDialog } from './change-dialog.ts'
import { WaitingChanges } from './change-requests.ts'
import { manages, pct } from './format.ts'
import { Health } from './health.ts'
import { ReportLinks } from './periods.ts'
import type { Change } from './plan.ts'
import { championPct, ShareBar } from './shares.ts'
import { useLoaded } from './state.ts'
import type { Deployment } from './types.ts'
import { Badge, Copy, Empty, numberHead, optionalHead, Page, Shown, Table, When } from './ui.ts'

/** Reload interval of a visible page. */
const DEPLOYMENT_MS = 10_000

export function DeploymentPage({ slug, session }: { slug: string; session: Session }) {
  const loaded = useLoaded(() => api<Deployment>('GET', `v1/deployments/${slug}`), [slug], {
    everyMs: DEPLOYMENT_MS,
  })
  const [change, setChange] = useState<Change | null>(null)
  const [changes, setChanges] = useState(0)
  const changed = () => {
    setChanges((n) => n + 1)
    loaded.reload()
  }
  const deployment = loaded.data
  const onChange = manages(session.role) ? setChange : null
  const above = html`<a href="#/deployments">Deployments</a>`
  const actions =
    deployment &&
    html`<${ReportLinks} slug=${slug} present="" /><a class="button" href=${`#/performance/${slug}`}>Performance</a><a class="button" href=${`#/try/${slug}`}>Try it</a>`
  return html`<${Page} title=${deployment?.name ?? 'Deployment'} above=${above} actions=${actions}>
    <${Shown} of=${loaded}>${(found: Deployment) => html`
      <${WaitingChanges} deployment=${found} session=${session} round=${changes} onDecided=${changed} />
      <${Health} deployment=${found} />
      <${Traffic} deployment=${found} onChange=${onChange} />
      <${Activity} deployment=${found} />
      ${onChange && html`<${AuditTrail} key=${changes} subject=${slug} />`}
      ${change && html`<${ChangeDialog} deployment=${found} change=${change} onChanged=${changed} onClose=${() => setChange(null)} />`}
    `}<//>
  <//>`
}

type Asking = ((change: Change) => void) | null

/** The share of each model, and the buttons to change it. */
function Traffic({ deployment, onChange }: { deployment: Deployment; onChange: Asking }) {
  const {
    champion_model: champion,
    previous_champion_model: previous,
    challengers,
    shadow_mode: isShadow,
  } = deployment
  const endpoint = new URL(`v1/score/${deployment.slug}`, document.baseURI).href
  return html`<section>
    <div class="section-head">
      <h2>Traffic</h2>
      <div class="actions">
        <${Badge} kind=${deployment.is_active ? 'good' : 'off'}>${deployment.is_active ? 'active' : 'inactive'}<//>
        <${Badge} kind=${isShadow ? 'shadow' : 'plain'}>${isShadow ? 'shadow mode' : 'live split'}<//>
        ${deployment.strict_mode && html`<${Badge}>strict mode<//>`}
        ${deployment.require_approval && html`<${Badge}>needs approval<//>`}
      </div>
    </div>
    <${ShareBar} deployment=${deployment} />
    <${Table} caption="Models of this deployment" head=${['Model', numberHead('Answers'), optionalHead('Since'), ...(onChange ? ['Change'] : [])]}>
      <tr>
        <th scope="row"><span class="key series-0"></span><a href=${`#/models/${champion.id}`}>${champion.name} ${champion.version}</a> <${Badge}>champion<//></th>
        <td class="number">${pct(championPct(deployment))}</td><td class="optional"></td>
        ${onChange && html`<td>${previous && html`<${Ask} text="Roll back" name=${`Roll back to ${previous.name} ${previous.version}`} kind="danger" ask=${() => onChange({ kind: 'rollback' })} />`}</td>`}
      </tr>
      ${challengers.map((challenger, index) => {
        const name = `${challenger.model_name} ${challenger.model_version}`
        return html`<tr key=${challenger.id}>
          <th scope="row"><span class=${`key series-${index + 1}`}></span><a href=${`#/models/${challenger.model_id}`}>${name}</a></th>
          <td class="number">${isShadow ? html`none <span class="muted">(${pct(challenger.traffic_pct)} when live)</span>` : pct(challenger.traffic_pct)}</td>
          <td class="optional"><${When} at=${challenger.added_at} /></td>
          ${
            onChange &&
            html`<td class="row-actions">
            <${Ask} text="Promote" name=${`Promote ${name}`} ask=${() => onChange({ kind: 'promote', challenger })} />
            <${Ask} text="Change share" name=${`Change share of ${name}`} ask=${() => onChange({ kind: 'share', challenger })} />
            <${Ask} text="Remove" name=${`Remove ${name}`} kind="danger" ask=${() => onChange({ kind: 'remove', challenger })} />
          </td>`
          }
        </tr>`
      })}
    <//>
    ${challengers.length === 0 && html`<${Empty} title="No challengers"><p>${onChange ? 'Add one to compare another model on the same applicants.' : 'An owner or admin can add one.'}</p><//>`}
    ${
      onChange &&
      html`<div class="actions">
      <button type="button" class="primary" onClick=${() => onChange({ kind: 'add' })}>Add a challenger</button>
      <button type="button" onClick=${() => onChange({ kind: 'shadow' })}>${isShadow ? 'Switch to a live split' : 'Switch shadow mode on'}</button>
      <button type="button" onClick=${() => onChange({ kind: 'strict' })}>${deployment.strict_mode ? 'Make it lenient' : 'Make it strict'}</button>
      <button type="button" onClick=${() => onChange({ kind: 'approval' })}>${deployment.require_approval ? 'Require approval no longer' : 'Require approval'}</button>
      <button type="button" onClick=${() => onChange({ kind: 'switch' })}>${deployment.is_active ? 'Switch off' : 'Switch on'}</button>
    </div>`
    }
    <p class="endpoint"><span class="muted">Scores at</span> <code>${endpoint}</code> <${Copy} text=${endpoint} label="Copy the address" /></p>
  </section>`
}

function Ask({
  text,
  name,
  kind = '',
  ask,
}: {
  text: string
  name: string
  kind?: string
  ask: () => void
}) {
  return html`<button type="button" class=${`small-button ${kind}`} aria-label=${name} onClick=${ask}>${text}</button> `
}
