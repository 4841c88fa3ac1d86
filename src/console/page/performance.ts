import { html } from 'htm/preact'
import { useState } from 'preact/hooks'
import { api, type Session } from './api.ts'
import { count, deploys, NONE, number, percent } from './format.ts'
import { modelNames } from './names.ts'
import { OutcomeUpload } from './outcome-upload.ts'
import { Bands, Bins, Challengers, Gains, Grades } from './performance-figures.ts'
import { between, decimals, verdictsOf } from './performance-verdict.ts'
import { PeriodField, periodQuery, periodSpan } from './periods.ts'
import { go, useLoaded } from './state.ts'
import type { OutcomeDefinition, Performance } from './types.ts'
import { Badge, Empty, Field, numberHead, Page, Shown, Table } from './ui.ts'
import { VintageCurves } from './vintages.ts'

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
      return html`<${Chosen} key=${chosen.id} slug=${slug} chosen=${chosen} all=${all} />`
    }}<//>
    ${deploys(session.role) && html`<${OutcomeUpload} />`}
  <//>`
}

interface ChosenProps {
  readonly slug: string
  readonly chosen: OutcomeDefinition
  readonly all: readonly OutcomeDefinition[]
}

/** The report of a definition, over the period that is chosen. */
function Chosen({ slug, chosen, all }: ChosenProps) {
  const [period, setPeriod] = useState('all')
  const [development, setDevelopment] = useState('')
  const choose = (event: Event) =>
    go(`performance/${slug}/${(event.currentTarget as HTMLSelectElement).value}`)
  const change = (event: Event) => setDevelopment((event.currentTarget as HTMLInputElement).value)
  const parts = [
    `definition=${encodeURIComponent(chosen.id)}`,
    periodQuery(period),
    development === '' ? '' : `development_auc=${development}`,
  ]
  const hint = `${chosen.bad_rule_text}, within ${chosen.window_months} months`
  return html`
    <div class="actions">
      <${Field} label="Definition" hint=${hint}>${(field: object) =>
        html`<select ...${field} onChange=${choose}>${all.map(
          ({ id, label }) =>
            html`<option value=${id} selected=${id === chosen.id}>${label} (${id})</option>`,
        )}</select>`}<//>
      <${PeriodField} period=${period} onChoose=${setPeriod} />
      <${Field} label="AUC at development (optional)" hint="To see whether it has fallen since">${(
        field: object,
      ) =>
        html`<input ...${field} type="number" min="0" max="1" step="any" value=${development} onChange=${change} />`}<//>
    </div>
    <${Report} slug=${slug} period=${period} query=${parts.filter((part) => part !== '').join('&')} />
    <${VintageCurves} slug=${slug} definition=${chosen.id} />`
}

function Report({ slug, query, period }: { slug: string; query: string; period: string }) {
  const path = `v1/deployments/${slug}/performance?${query}`
  const loaded = useLoaded(
    async () => ({ found: await api<Performance>('GET', path), names: await modelNames() }),
    [path],
  )
  return html`<${Shown} of=${loaded}>${({
    found,
    names,
  }: {
    found: Performance
    names: ReadonlyMap<string, string>
  }) => html`
    <${Verdict} found=${found} />
    <${Coverage} found=${found} />
    <${Grades} found=${found} />
    <${Bands} found=${found} period=${periodSpan(period)} />
    <${Bins} found=${found} />
    <${Gains} found=${found} />
    <${Challengers} found=${found} names=${names} />
  `}<//>`
}

/** Is the card still good, and how sure is that? */
function Verdict({ found }: { found: Performance }) {
  const { coverage, expected } = found
  const facts: [string, string, string][] = [
    ['Gini', decimals(found.gini), between(found.gini_low, found.gini_high, decimals)],
    ['AUC', decimals(found.auc), between(found.auc_low, found.auc_high, decimals)],
    ['KS', decimals(found.ks), between(found.ks_low, found.ks_high, decimals)],
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
    ${
      found.n > 0 &&
      html`<${Table} caption="Answers" head=${['Question', 'Answer', 'Because']}>
        ${verdictsOf(found).map(
          ({ question, kind, answer, because }) => html`<tr><th scope="row">${question}</th>
            <td><${Badge} kind=${kind}>${answer}<//></td><td>${because}</td></tr>`,
        )}
      <//>`
    }
    <dl class="tiles">${facts.map(
      ([term, value, note]) =>
        html`<div><dt>${term}</dt><dd>${value} <span class="muted small">${note}</span></dd></div>`,
    )}</dl>
    <p class="muted">Intervals of 95 percent. For ${count(expected.n)} applicants without an outcome the card itself expects ${number(expected.expected_bads)} bad ones and an AUC of ${decimals(expected.auc)}: no outcome is behind that.</p>
  </section>`
}

const COVERAGE_NAMES = {
  scored: 'Scored',
  approved: 'Approved',
  booked: 'Booked',
  matched: 'With an outcome',
  mature: 'Mature',
  good: 'Good',
  bad: 'Bad',
  indeterminate: 'Indeterminate',
  excluded: 'Excluded',
} as const

/** How many of the scored have a decision or an outcome. */
function Coverage({ found: { coverage } }: { found: Performance }) {
  const names = Object.entries(COVERAGE_NAMES) as [keyof typeof COVERAGE_NAMES, string][]
  return html`<section><h2>How much is known?</h2>
    <p class="muted">Figures of few are figures of few. Rejected applicants have no outcome, and none is invented; an outcome that is not mature counts, and can still turn bad.</p>
    <${Table} caption="Coverage" head=${['Applicants', numberHead('Number'), numberHead('Of the scored')]}>
      ${names.map(
        ([key, name]) => html`<tr><th scope="row">${name}</th>
        <td class="number">${count(coverage[key])}</td>
        <td class="number">${coverage.scored === 0 ? NONE : percent(coverage[key] / coverage.scored)}</td></tr>`,
      )}
    <//>
  </section>`
}
