import { html } from 'htm/preact'
import { useState } from 'preact/hooks'
import { api, type Session } from './api.ts'
import { count, manages, NONE, number, pct, percent } from './format.ts'
import { allNames, modelNames, type Names } from './names.ts'
import { useAction, useLoaded } from './state.ts'
import type { ChangeRequest, ChangeRequestDetail, Deployment, RequestedState } from './types.ts'
import { Badge, Dialog, Failure, Field, Loading, numberHead, Submit, Table, When } from './ui.ts'

const WAITING_PATH = 'v1/change-requests?state=waiting'
const LISTED_MAX = 200

/** How many changes wait, by deployment; up to 200 in all. */
export async function waitingByDeployment(): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>()
  for (const { deployment_id: id } of await waitingChanges(`&limit=${LISTED_MAX}`)) {
    counts.set(id, (counts.get(id) ?? 0) + 1)
  }
  return counts
}

async function waitingChanges(filter: string): Promise<readonly ChangeRequest[]> {
  const path = `${WAITING_PATH}${filter}`
  return (await api<{ change_requests: readonly ChangeRequest[] }>('GET', path)).change_requests
}

interface WaitingChangesProps {
  readonly deployment: Deployment
  readonly session: Session
  /** Rises with each change of the page, so that this part is loaded again. */
  readonly round: number
  readonly onDecided: () => void
}

const WAITING_MS = 15_000

/** Changes of a deployment that wait for a second person; nothing if none does. */
export function WaitingChanges({ deployment, session, round, onDecided }: WaitingChangesProps) {
  const { data, error, reload } = useLoaded(
    () => waitingChanges(`&deployment=${deployment.id}`),
    [deployment.id],
    { everyMs: WAITING_MS, also: round },
  )
  const names = useLoaded(manages(session.role) ? allNames : modelNames, []).data ?? new Map()
  const [shown, setShown] = useState<ChangeRequest | null>(null)
  if (error !== null) return html`<${Failure} error=${error} retry=${reload} />`
  const dialog =
    shown &&
    html`<${RequestDialog} request=${shown} names=${names} session=${session} onDecided=${onDecided} onClose=${() => setShown(null)} />`
  if (data === null || data.length === 0) return dialog
  return html`<section>
    <div class="section-head">
      <h2>Waiting for approval</h2>
      <div class="actions"><${Badge} kind="staging">${data.length} waiting<//></div>
    </div>
    <${Table} caption="Changes that wait for approval" head=${['Change', 'What will change', 'Asked by', 'Waits until', 'Decision']}>
      ${data.map(
        (request) => html`<tr key=${request.id}>
          <th scope="row">${titleOf(request)}</th>
          <td><${Changes} request=${request} names=${names} /></td>
          <td class="subject">${names.get(request.requested_by) ?? html`<code>${request.requested_by}</code>`}</td>
          <td><${When} at=${request.expires_at} /></td>
          <td><button type="button" class="small-button" aria-label=${`Look at it: ${titleOf(request)}`} onClick=${() => setShown(request)}>Look at it</button></td>
        </tr>`,
      )}
    <//>
    ${dialog}
  </section>`
}

function titleOf({ action }: ChangeRequest): string {
  const text = action.replaceAll('_', ' ')
  return text.charAt(0).toUpperCase() + text.slice(1)
}

function Changes({ request, names }: { request: ChangeRequest; names: Names }) {
  const [was, willBe] = [described(request.before, names), described(request.after, names)]
  const changed = [...new Set([...was.keys(), ...willBe.keys()])].filter(
    (what) => was.get(what) !== willBe.get(what),
  )
  return html`<ul class="differences">${changed.map(
    (what) => html`<li><span class="muted">${what}</span>${' '}
      <del>${was.get(what) ?? 'none'}</del> → <ins>${willBe.get(what) ?? 'none'}</ins></li>`,
  )}</ul>`
}

function described(state: RequestedState, names: Names): Map<string, string> {
  const nameOf = (id: string | null) => (id === null ? 'none' : (names.get(id) ?? id))
  return new Map([
    ['deployment', state.is_active ? 'answers' : 'answers 404'],
    ['champion', nameOf(state.champion_model_id)],
    ['challengers', state.shadow_mode ? 'score silently' : 'answer for their shares'],
    ['missing or unknown features', state.strict_mode ? 'rejected' : 'scored by defaults'],
    ['changes', state.require_approval ? 'need approval' : 'are made at once'],
    ['emergency rollback', state.emergency_rollback ? 'does not wait' : 'waits'],
    ...state.challengers.map(
      ({ model_id: id, traffic_pct: share }) =>
        [`challenger ${nameOf(id)}`, pct(share)] as [string, string],
    ),
  ])
}

interface RequestDialogProps {
  readonly request: ChangeRequest
  readonly names: Names
  readonly session: Session
  readonly onDecided: () => void
  readonly onClose: () => void
}

/** A request with its effects, and the decision on it. */
function RequestDialog({ request, names, session, onDecided, onClose }: RequestDialogProps) {
  const loaded = useLoaded(
    () => api<ChangeRequestDetail>('GET', `v1/change-requests/${request.id}`),
    [request.id],
  )
  const [comment, setComment] = useState('')
  const action = useAction()
  const decide = (decision: 'approve' | 'decline') => (event: Event) => {
    event.preventDefault()
    action.run(async () => {
      const text = comment.trim()
      const body = text === '' ? {} : { comment: text }
      await api('POST', `v1/change-requests/${request.id}/${decision}`, body)
      onDecided()
      onClose()
    })
  }
  const isOwn = request.requested_by === session.userId
  const mayDecide = manages(session.role) && !isOwn
  return html`<${Dialog} title=${titleOf(request)} onClose=${onClose}>
    <form onSubmit=${decide('approve')}>
      ${request.reason && html`<p>Reason: ${request.reason}</p>`}
      <h3>What will change</h3>
      <${Changes} request=${request} names=${names} />
      ${loaded.error && html`<${Failure} error=${loaded.error} retry=${loaded.reload} />`}
      ${loaded.data === null ? html`<${Loading} text="Looking at recent applicants …" />` : html`<${Effects} request=${loaded.data} names=${names} />`}
      ${isOwn && html`<p class="hint">You asked for this change: another owner or admin decides.</p>`}
      ${
        mayDecide &&
        html`<${Field} label="Comment" hint="Shown in the audit log">${(field: object) =>
          html`<textarea ...${field} maxlength="10000" rows="2" value=${comment} onInput=${(event: Event) => setComment((event.currentTarget as HTMLTextAreaElement).value)}></textarea>`}<//>`
      }
      ${action.error && html`<${Failure} error=${action.error} />`}
      <div class="dialog-foot">
        <button type="button" onClick=${onClose}>Close</button>
        ${
          mayDecide &&
          html`<button type="button" class="danger" aria-disabled=${action.isBusy} onClick=${decide('decline')}>Decline</button>
          <${Submit} action=${action} busy="Deciding …">Approve<//>`
        }
      </div>
    </form>
  <//>`
}

/** Points of a bin that has none in one of the models. */
const points = (value: number | null) => (value === null ? 'no such bin' : number(value))
const BINS_SHOWN = 50

function Effects({ request, names }: { request: ChangeRequestDetail; names: Names }) {
  const { shares, models, affected } = request.difference
  const bins = models?.points.slice(0, BINS_SHOWN) ?? []
  return html`
    <h3>Who answers</h3>
    <${Table} caption="Shares of the models" head=${['Model', numberHead('Now'), numberHead('Then')]}>
      ${shares.map(
        (share) => html`<tr><th scope="row">${names.get(share.model_id) ?? share.model_id}</th>
        <td class="number">${pct(share.before_pct)}</td><td class="number">${pct(share.after_pct)}</td></tr>`,
      )}
    <//>
    <h3>Who is affected</h3>
    <p>${affectedText(affected)}</p>
    ${
      models &&
      html`<h3>Points that differ</h3>
      <${Table} caption="Points by bin" head=${['Feature', 'Bin', numberHead('Now'), numberHead('Then')]}>
        <tr><th scope="row">base points</th><td>${NONE}</td><td class="number">${number(models.base_points.before)}</td><td class="number">${number(models.base_points.after)}</td></tr>
        ${bins.map(
          (bin) => html`<tr><th scope="row">${bin.feature}</th><td>${bin.bin}</td>
          <td class="number">${points(bin.before)}</td><td class="number">${points(bin.after)}</td></tr>`,
        )}
      <//>
      ${(models.points_truncated || models.points.length > bins.length) && html`<p class="hint">More bins differ than this list shows.</p>`}`
    }`
}

function affectedText(affected: ChangeRequestDetail['difference']['affected']): string {
  if (affected === null) return 'The log does not tell, or no score changes.'
  const { n, changed, undecided, share, is_complete: isComplete } = affected
  if (n === 0) return 'Nobody was scored by the present champion in the last 30 days.'
  const period = isComplete ? 'of the last 30 days' : 'that were scored last'
  const open = undecided === 0 ? '' : ` For ${count(undecided)} the logged bins do not tell.`
  return `Of ${count(n)} applicants ${period}, ${count(changed)} would have another score.${open} With the shares above, the answers of ${percent(share)} change.`
}
