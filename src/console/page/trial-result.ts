import { html } from 'htm/preact'
import { NONE, number, percent, signed } from './format.ts'
import type { Applicant } from './trial-form.ts'
import type { Feature, Model, ScoreResult, Warning } from './types.ts'
import { Notice, numberHead, optionalHead, Table } from './ui.ts'

interface TrialResultProps {
  readonly result: ScoreResult
  /** That answered. */
  readonly model: Model
  readonly applicant: Applicant
}

/** A score, and how each feature moved it. */
export function TrialResult({ result, model, applicant }: TrialResultProps) {
  const { shadow_scores: shadows = [] } = result
  return html`<section class="panel" aria-label="Result">
    <h2 id="trial-result" tabindex="-1">Result</h2>
    <dl class="tiles">
      <div><dt>Score</dt><dd class="big">${number(result.score)}</dd></div>
      <div><dt>Grade</dt><dd class="big">${result.risk_grade ?? NONE}</dd></div>
      <div><dt>Probability of default</dt><dd class="big">${percent(result.pd)}</dd></div>
      <div><dt>Answered by</dt><dd>${result.model_name} ${result.model_version}</dd></div>
      <div><dt>Request</dt><dd><code>${result.request_id}</code></dd></div>
    </dl>
    ${result.warnings.length > 0 && html`<${Notice}><p>The service warns:</p><ul>${result.warnings.map((one) => html`<li>${warningText(one)}</li>`)}</ul><//>`}
    ${
      shadows.length > 0 &&
      html`<h3>Challengers, silently</h3><${Table} caption="Shadow scores" head=${['Version', numberHead('Score'), 'Grade', numberHead('PD')]}>
      ${shadows.map((one) => html`<tr><th scope="row">${one.version}</th><td class="number">${number(one.score)} <span class="muted">(${signed(one.score - result.score)})</span></td><td>${one.risk_grade ?? NONE}</td><td class="number">${percent(one.pd)}</td></tr>`)}
    <//>`
    }
    <h3>How each feature moved the score</h3>
    <${Waterfall} result=${result} model=${model} applicant=${applicant} />
  </section>`
}

function warningText(warning: Warning): string {
  return typeof warning === 'string' ? warning : warning.message
}

/** From the base points to the score, one feature after the other. */
function Waterfall({ result, model, applicant }: TrialResultProps) {
  const features = new Map(model.spec.features.map((feature) => [feature.name, feature]))
  const steps = Object.entries(result.contributions)
  const base = model.spec.base_points
  let reached = base
  const rows = steps.map(([name, points]) => {
    const from = reached
    reached += points
    return { name, points, from, to: reached, feature: features.get(name) }
  })
  const all = [base, ...rows.map(({ to }) => to)]
  const [least, most] = [Math.min(...all), Math.max(...all)]
  const at = (value: number) => (most === least ? 0 : (100 * (value - least)) / (most - least))
  return html`<${Table} caption="Points of each feature" head=${['Feature', 'Value', numberHead('Points'), optionalHead('Worst … best', 'number'), optionalHead('From base points to score')]}>
    <tr><th scope="row">Base points</th><td></td><td class="number">${number(base)}</td><td class="optional"></td><td class="bar-cell optional" aria-hidden="true"><${Step} from=${at(base)} to=${at(base)} kind="base" /></td></tr>
    ${rows.map(
      ({ name, points, from, to, feature }) => html`<tr>
      <th scope="row">${name}</th>
      <td class="value">${applicant[name] ?? html`<span class="muted">missing</span>`}</td>
      <td class="number">${signed(points)}</td>
      <td class="number muted optional">${feature === undefined ? NONE : spanOf(feature)}</td>
      <td class="bar-cell optional" aria-hidden="true"><${Step} from=${at(from)} to=${at(to)} kind=${points < 0 ? 'less' : 'more'} /></td>
    </tr>`,
    )}
    <tr class="total"><th scope="row">Score</th><td></td><td class="number">${number(result.score)}</td><td class="optional"></td><td class="bar-cell optional" aria-hidden="true"><${Step} from=${at(reached)} to=${at(reached)} kind="base" /></td></tr>
  <//>`
}

function Step({ from, to, kind }: { from: number; to: number; kind: string }) {
  const style = { left: `${Math.min(from, to)}%`, width: `${Math.abs(to - from)}%` }
  return html`<span class="step"><span class=${kind} style=${style}></span></span>`
}

function spanOf({ bins }: Feature): string {
  let [least, most] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (const { points } of bins) {
    least = Math.min(least, points)
    most = Math.max(most, points)
  }
  return `${signed(least)} … ${signed(most)}`
}
