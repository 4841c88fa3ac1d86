import { html } from 'htm/preact'
import { NONE, number, percent, signed } from './format.ts'
import { ReasonList } from './reason-list.ts'
import type { Applicant } from './trial-form.ts'
import type { Model, ScoreResult, Warning } from './types.ts'
import { Notice, numberHead, Table } from './ui.ts'
import { Waterfall, type WaterfallStep } from './waterfall.ts'

interface TrialResultProps {
  readonly result: ScoreResult
  /** The model that answered. */
  readonly model: Model
  readonly applicant: Applicant
}

/** A score and the effect of each feature on it. */
export function TrialResult({ result, model, applicant }: TrialResultProps) {
  const { shadow_scores: shadows = [] } = result
  return html`<section class="panel" aria-label="Result">
    <h2 id="trial-result" tabindex="-1">Result</h2>
    <dl class="tiles">
      <div><dt>Score</dt><dd class="big">${number(result.score)}</dd></div>
      <div><dt>Grade</dt><dd class="big">${result.risk_grade ?? NONE}</dd></div>
      <div><dt>Probability of default</dt><dd class="big">${percent(result.pd)}</dd></div>
      <div><dt>Answered by</dt><dd>${result.model_name} ${result.model_version}</dd></div>
      <div><dt>Request</dt><dd><a href=${`#/scores/${result.request_id}`}><code>${result.request_id}</code></a></dd></div>
    </dl>
    ${result.warnings.length > 0 && html`<${Notice}><p>Warnings:</p><ul>${result.warnings.map((one) => html`<li>${warningText(one)}</li>`)}</ul><//>`}
    ${
      shadows.length > 0 &&
      html`<h3>Challengers, silently</h3><${Table} caption="Shadow scores" head=${['Version', numberHead('Score'), 'Grade', numberHead('PD')]}>
      ${shadows.map((one) => html`<tr><th scope="row">${one.version}</th><td class="number">${number(one.score)} <span class="muted">(${signed(one.score - result.score)})</span></td><td>${one.risk_grade ?? NONE}</td><td class="number">${percent(one.pd)}</td></tr>`)}
    <//>`
    }
    ${
      result.reasons !== undefined &&
      html`<h3>Reasons</h3><${ReasonList} reasons=${result.reasons} method=${result.reason_method ?? null}
        isTruncated=${result.reasons_truncated === true} keyFactors=${result.key_factors ?? []} />`
    }
    <h3>How each feature moved the score</h3>
    <${Waterfall} base=${model.spec.base_points} score=${result.score} detail="Value" steps=${stepsOf({ result, model, applicant })} />
  </section>`
}

function warningText(warning: Warning): string {
  return typeof warning === 'string' ? warning.replace(/^no_features: /, '') : warning.message
}

function stepsOf({ result, model, applicant }: TrialResultProps): WaterfallStep[] {
  const features = new Map(model.spec.features.map((feature) => [feature.name, feature]))
  return Object.entries(result.contributions).map(([name, points]) => ({
    name,
    points,
    detail: applicant[name] ?? html`<span class="muted">missing</span>`,
    feature: features.get(name),
  }))
}
