import { html } from 'htm/preact'
import { api } from './api.ts'
import { ExplanationPanel } from './explanation.ts'
import { count, milliseconds, NONE, number, percent } from './format.ts'
import { nameOf } from './scores.ts'
import { useLoaded } from './state.ts'
import type { LoggedFeature, LoggedResult, LoggedScore, Model } from './types.ts'
import { Badge, Copy, Empty, Page, Shown, When } from './ui.ts'
import { Waterfall } from './waterfall.ts'

interface ScorePageProps {
  readonly requestId: string
  /** Index of the record in a batch. */
  readonly record: number
}

/** One score as it was answered, with every model and the points of each feature. */
export function ScorePage({ requestId, record }: ScorePageProps) {
  // Without an index, an empty batch is found, too.
  const query = record === 0 ? 'limit=1' : `record=${record}`
  const loaded = useLoaded(
    () => api<LoggedScore>('GET', `v1/scores/${encodeURIComponent(requestId)}?${query}`),
    [requestId, record],
  )
  return html`<${Page} title="Score" above=${html`<a href="#/scores">Scores</a>`}>
    <${Shown} of=${loaded}>${(found: LoggedScore) => html`
      <${Facts} score=${found} />
      ${found.is_batch && html`<${Pager} score=${found} record=${record} />`}
      ${
        found.records.length === 0
          ? html`<${Empty} title="The batch has no records"><p>It was sent empty.</p><//>`
          : found.records[0]?.results.map(
              (result) =>
                html`<${Result} key=${`${result.model_id} ${result.challenger_id}`} result=${result} score=${found} record=${record} />`,
            )
      }
    `}<//>
  <//>`
}

function Facts({ score }: { score: LoggedScore }) {
  const { deployment_id: deploymentId, key_id: keyId, request_id: requestId } = score
  const names = useLoaded(
    async () => ({
      deployment: await nameOf('v1/deployments', 'deployments', deploymentId),
      key: await nameOf('v1/keys', 'keys', keyId),
    }),
    [deploymentId, keyId],
  )
  return html`<dl class="facts wide">
    <div><dt>Scored</dt><dd><${When} at=${score.scored_at} isExact /></dd></div>
    <div><dt>Deployment</dt><dd><a href=${`#/deployments/${deploymentId}`}>${names.data?.deployment ?? deploymentId}</a></dd></div>
    <div><dt>Asked by key</dt><dd title=${keyId}>${names.data?.key ?? keyId}</dd></div>
    <div><dt>Reference</dt><dd>${score.reference ?? score.records[0]?.id ?? NONE}</dd></div>
    <div><dt>Latency</dt><dd>${milliseconds(score.latency_ms)}${score.is_batch ? ' for the batch' : ''}</dd></div>
    ${score.bucket !== null && html`<div><dt>Bucket</dt><dd>${count(score.bucket)} of 10,000</dd></div>`}
    <div><dt>State of the deployment</dt><dd>${count(score.cache_version)}</dd></div>
  </dl>
  <p class="endpoint"><span class="muted">Request</span> <code>${requestId}</code> <${Copy} text=${requestId} label="Copy the request id" /></p>`
}

function Pager({ score, record }: { score: LoggedScore; record: number }) {
  const { request_id: requestId, total } = score
  const to = (index: number, text: string) =>
    index >= 0 && index < total
      ? html`<a class="button" href=${`#/scores/${requestId}/${index}`}>${text}</a>`
      : html`<span class="muted">${text}</span>`
  if (total === 0) return null
  return html`<nav class="actions" aria-label="Records of the batch">
    ${to(record - 1, 'Previous')}
    <span>Record ${count(record + 1)} of ${count(total)}</span>
    ${to(record + 1, 'Next')}
  </nav>`
}

interface ResultProps {
  readonly result: LoggedResult
  readonly score: LoggedScore
  readonly record: number
}

function Result({ result, score: logged, record }: ResultProps) {
  const model = useLoaded(
    () => api<Model>('GET', `v1/models/${result.model_id}`),
    [result.model_id],
  )
  const features = new Map(model.data?.spec.features.map((one) => [one.name, one]))
  const { score, base_points: base } = result
  const title = `${result.model_name} ${result.model_version}`
  return html`<section class="panel" aria-label=${title}>
    <h2><a href=${`#/models/${result.model_id}`}>${title}</a> <${Badge}>${result.role}<//> ${result.served && html`<${Badge} kind="good">answered<//>`}</h2>
    ${
      score === null || base === null
        ? html`<p class="muted">The challenger failed to score this applicant; the answer came from the champion.</p>`
        : html`<dl class="tiles">
        <div><dt>Score</dt><dd class="big">${number(score)}</dd></div>
        <div><dt>Grade</dt><dd class="big">${result.risk_grade ?? NONE}</dd></div>
        <div><dt>Probability of default</dt><dd class="big">${percent(result.pd)}</dd></div>
      </dl>
      <${Waterfall} caption=${`Points of each feature in ${title}`} base=${base} score=${score} detail="Bin" steps=${result.features.map(
        (one) => ({
          name: one.name,
          points: one.points,
          detail: html`<${Bin} logged=${one} />`,
          feature: features.get(one.name),
        }),
      )} />
      <p class="small muted">Specification SHA-256 <code>${result.spec_sha256}</code></p>`
    }
  </section>
  ${
    result.served &&
    score !== null &&
    model.data !== null &&
    html`<${ExplanationPanel} requestId=${logged.request_id} record=${record} scoredAt=${logged.scored_at} spec=${model.data.spec} />`
  }`
}

const OUTCOMES: Readonly<Record<string, string>> = {
  missing: 'missing',
  unseen_category: 'unseen category',
  no_bin: 'in no bin',
  not_a_number: 'not a number',
}

/** The matched bin; for a value without one, why. */
function Bin({ logged: { outcome, bin } }: { logged: LoggedFeature }) {
  const text = bin === null ? null : (bin.label ?? bin.range ?? categories(bin.value ?? ''))
  if (outcome === 'matched') return html`${text}`
  const why = OUTCOMES[outcome ?? ''] ?? 'no value that a bin matches'
  return html`<span class="muted">${why}</span>${text !== null && text !== 'Missing' && html` ${text}`}`
}

/** Long lists of categories are cut: the model's page shows them all. */
function categories(value: string): string {
  const names = value.split('%,%')
  const shown = names.slice(0, 5).join(', ')
  return names.length > 5 ? `${shown} and ${names.length - 5} more` : shown
}
