import { html } from 'htm/preact'
import { api, type Session } from './api.ts'
import { count, deploys, NONE, number, percent, signed } from './format.ts'
import { OutcomeUpload } from './outcome-upload.ts'
import { go, useLoaded } from './state.ts'
import type { OutcomeDefinition, Performance } from './types.ts'
import { Badge, Empty, Field, numberHead, Page, Shown, Table } from './ui.ts'

interface PerformancePageProps {
  readonly slug: string
  readonly definition: string | null
  readonly session: Session
}

/** Whether the card of a deployment is still good, where it is wrong, and how sure that is. */
export function PerformancePage({ slug, definition, session }: PerformancePageProps) {
  const definitions = useLoaded(
    () => api<{ outcome_definitions: OutcomeDefinition[] }>('GET', 'v1/outcome-definitions'),
    [],
  )
  const above = html`<a href=${`#/deployments/${slug}`}>Deployment</a>`
  return html`<${Page} title="Performance" above=${above}>
    <${Shown} of=${definitions}>${({
      outcome_definitions: all,
    }: {
      outcome_definitions: OutcomeDefinition[]
    }) => {
      const chosen = all.find(({ id }) => id === definition) ?? all[0]
      if (chosen === undefined) {
        return html`<${Empty} title="No outcomes yet"><p>Define what counts as bad with <code>PUT /v1/outcome-definitions/{id}</code>, then send outcomes.</p><//>`
      }
      const choose = (event: Event) =>
        go(`performance/${slug}/${(event.currentTarget as HTMLSelectElement).value}`)
      return html`
        <${Field} label="Definition" hint=${chosen.bad_rule_text}>${(field: object) =>
          html`<select ...${field} onChange=${choose}>${all.map(
            ({ id, label }) =>
              html`<option value=${id} selected=${id === chosen.id}>${label} (${id})</option>`,
          )}</select>`}<//>
        <${Report} key=${chosen.id} slug=${slug} definition=${chosen.id} />`
    }}<//>
    ${deploys(session.role) && html`<${OutcomeUpload} />`}
  <//>`
}

function Report({ slug, definition }: { slug: string; definition: string }) {
  const path = `v1/deployments/${slug}/performance?definition=${encodeURIComponent(definition)}`
  const loaded = useLoaded(() => api<Performance>('GET', path), [path])
  return html`<${Shown} of=${loaded}>${(found: Performance) => html`
    <${Verdict} found=${found} />
    <${Grades} found=${found} />
    <${Bins} found=${found} />
    <${Challengers} found=${found} />
  `}<//>`
}

const between = (low: number | null, high: number | null, show: (value: number) => string) =>
  low === null || high === null ? 'no interval' : `${show(low)} … ${show(high)}`

/** Is the card still good, and how sure is that? */
function Verdict({ found }: { found: Performance }) {
  const { coverage, expected } = found
  const decimals = (value: number | null) => (value === null ? NONE : value.toFixed(3))
  const facts: [string, string, string][] = [
    ['Gini', decimals(found.gini), between(found.gini_low, found.gini_high, decimals)],
    ['AUC', decimals(found.auc), between(found.auc_low, found.auc_high, decimals)],
    ['KS', decimals(found.ks), found.ks_score === null ? '' : `at ${number(found.ks_score)}`],
    [
      'Bad',
      count(found.bad),
      `${percent(found.n === 0 ? null : found.bad / found.n)} of ${count(found.n)}`,
    ],
    [
      'Known',
      percent(coverage.scored === 0 ? null : found.n / coverage.scored),
      `of ${count(coverage.scored)} scored`,
    ],
    ['Mature', count(coverage.mature), `of ${count(coverage.matched)} with an outcome`],
  ]
  return html`<section><h2>Is the card still good?</h2>
    ${found.n === 0 && html`<${Empty} title="No good or bad outcome yet"><p>The figures below need outcomes of this definition.</p><//>`}
    <dl class="tiles">${facts.map(
      ([term, value, note]) =>
        html`<div><dt>${term}</dt><dd>${value} <span class="muted small">${note}</span></dd></div>`,
    )}</dl>
    <p class="muted">Intervals of 95 percent, by DeLong. For ${count(expected.n)} applicants without an outcome the card itself expects ${number(expected.expected_bads)} bad ones and an AUC of ${decimals(expected.auc)}: no outcome is behind that.</p>
  </section>`
}

const LIGHTS = { green: 'good', amber: 'shadow', red: 'off' } as const
const LIGHT_NAMES = { green: 'fits', amber: 'watch', red: 'too low' } as const

/** Where is it wrong: grades whose probability does not fit. */
function Grades({ found }: { found: Performance }) {
  const { grades, hosmer_lemeshow: test } = found.calibration
  if (grades.length === 0) return null
  return html`<section><h2>Do its probabilities fit?</h2>
    <${Table} caption="Calibration by grade" head=${['Grade', numberHead('Applicants'), numberHead('Bad'), numberHead('Expected'), numberHead('Observed'), numberHead('95 percent interval'), 'Probability']}>
      ${grades.map(
        (one) => html`<tr><th scope="row">${one.grade ?? 'none'}</th>
        <td class="number">${count(one.n)}</td><td class="number">${count(one.bad)}</td>
        <td class="number">${percent(one.mean_pd)}</td><td class="number">${percent(one.bad_rate)}</td>
        <td class="number">${between(one.bad_rate_low, one.bad_rate_high, percent)}</td>
        <td>${one.light && html`<${Badge} kind=${LIGHTS[one.light]}>${LIGHT_NAMES[one.light]}<//>`}</td></tr>`,
      )}
    <//>
    ${test && html`<p class="muted">Hosmer-Lemeshow ${number(test.chi2)} with ${test.df} degrees of freedom, p = ${test.p_value.toFixed(3)}.</p>`}
  </section>`
}

const BINS_SHOWN_MAX = 12
const STRIKING_Z = 2

/** Where is it wrong: bins with other bad rates than their applicants' probabilities. */
function Bins({ found }: { found: Performance }) {
  const bins = found.features
    .flatMap(({ name, bins: own }) => own.map((bin) => ({ name, ...bin })))
    .filter(({ z }) => z !== null)
    .sort((a, b) => Math.abs(b.z ?? 0) - Math.abs(a.z ?? 0))
    .slice(0, BINS_SHOWN_MAX)
  if (bins.length === 0) return null
  return html`<section><h2>Where is it wrong?</h2>
    <p class="muted">Bins by the distance of their bad applicants from what the card expected. Beyond ${STRIKING_Z} deviations their points may be stale.</p>
    <${Table} caption="Bins that fit least" head=${['Feature', 'Bin', numberHead('Points'), numberHead('Applicants'), numberHead('Bad rate'), numberHead('Deviations'), '']}>
      ${bins.map(
        (one) => html`<tr><th scope="row">${one.name}</th>
        <td>${one.bin?.label ?? one.bin?.range ?? one.bin?.value ?? one.outcome}</td>
        <td class="number">${number(one.points)}</td><td class="number">${count(one.n)}</td>
        <td class="number">${percent(one.bad_rate)}</td><td class="number">${signed(one.z)}</td>
        <td>${Math.abs(one.z ?? 0) > STRIKING_Z && html`<${Badge} kind="off">${(one.z ?? 0) > 0 ? 'worse' : 'better'}<//>`}</td></tr>`,
      )}
    <//>
  </section>`
}

function Challengers({ found }: { found: Performance }) {
  if (found.paired.length === 0) return null
  return html`<section><h2>Would a challenger be better?</h2>
    <${Table} caption="Challengers on the same applicants" head=${['Challenger', numberHead('Applicants'), numberHead('AUC'), numberHead('Difference'), numberHead('p')]}>
      ${found.paired.map(
        (
          one,
        ) => html`<tr><th scope="row"><a href=${`#/models/${one.model_id}`}>${one.model_id}</a></th>
        <td class="number">${count(one.n)}</td><td class="number">${one.auc?.toFixed(3) ?? NONE}</td>
        <td class="number">${one.auc_difference?.toFixed(4) ?? NONE}</td>
        <td class="number">${one.p_value?.toFixed(3) ?? NONE}</td></tr>`,
      )}
    <//>
  </section>`
}
