import { html } from 'htm/preact'
import { useState } from 'preact/hooks'
import { api } from './api.ts'
import { type Basis, BasisLine } from './charts.ts'
import { count, index, number, percent } from './format.ts'
import { modelNames } from './names.ts'
import { PERIOD_DEFAULT, PeriodField, periodQuery, periodSpan, ReportLinks } from './periods.ts'
import { useLoaded } from './state.ts'
import type { Comparison, Cutoffs, Deployment, Migration, SwapSet } from './types.ts'
import { Empty, Field, numberHead, Page, Shown, Table } from './ui.ts'

const RULES = {
  same_cutoff: 'Same cut-off',
  same_approval_rate: 'Same approval rate',
  same_bad_rate: 'Same expected bad rate',
  explicit: 'A cut-off of its own',
} as const

/** Whom a challenger would decide differently. */
export function SwapSetPage({ slug }: { slug: string }) {
  const [period, setPeriod] = useState(PERIOD_DEFAULT)
  const loaded = useLoaded(() => challengersOf(slug, periodQuery(period)), [slug, period])
  const above = html`<a href=${`#/deployments/${slug}`}>Deployment</a>`
  return html`<${Page} title="Champion and challengers" above=${above}>
    <div class="section-head">
      <${ReportLinks} slug=${slug} present="swap-set" />
      <${PeriodField} period=${period} onChoose=${setPeriod} />
    </div>
    <${Shown} of=${loaded}>${(challengers: readonly Choosable[]) =>
      challengers.length === 0
        ? html`<${Empty} title="No challengers"><p>None is active, and none has scored in this period. Add a challenger to the deployment: in shadow mode it scores the same applicants, and answers none.</p><//>`
        : html`<${Choice} key=${period} slug=${slug} challengers=${challengers} period=${period} />`}<//>
  <//>`
}

/** A challenger that has scores, or will have some. */
interface Choosable {
  readonly id: string
  readonly name: string
}

/**
 * Active challengers, then those that scored in the period and have ended since: a promoted one is
 * the champion now, and its scores beside the former champion's stay.
 */
async function challengersOf(slug: string, from: string): Promise<readonly Choosable[]> {
  const path = `v1/deployments/${slug}`
  const [{ challengers: active }, { challengers: compared }, names] = await Promise.all([
    api<Deployment>('GET', path),
    api<Comparison>('GET', `${path}/stats/models?${from}`),
    modelNames(),
  ])
  const found = new Map(
    active.map(({ id, model_name, model_version }) => [id, `${model_name} ${model_version}`]),
  )
  for (const { challenger_id: id, model_id: modelId } of compared) {
    if (!found.has(id)) found.set(id, `${names.get(modelId) ?? modelId} (ended)`)
  }
  return [...found].map(([id, name]) => ({ id, name }))
}

interface ChoiceProps {
  readonly slug: string
  readonly challengers: readonly Choosable[]
  readonly period: string
}

function Choice({ slug, challengers, period }: ChoiceProps) {
  const [id, setId] = useState(challengers[0]?.id ?? '')
  const [rule, setRule] = useState<string>('same_cutoff')
  const [cutoff, setCutoff] = useState<number | null>(null)
  const [ownCutoff, setOwnCutoff] = useState<number | null>(null)
  const median = useLoaded(() => medianOf(slug, periodQuery(period)), [slug, period])
  const wanted = cutoff ?? median.data
  const ownWanted = ownCutoff ?? wanted
  const choose = (set: (value: string) => void) => (event: Event) =>
    set((event.currentTarget as HTMLInputElement).value)
  const typed = (set: (value: number | null) => void) =>
    choose((value) => set(value.trim() === '' ? null : Number(value)))
  const isExplicit = rule === 'explicit'
  const own = isExplicit ? `&challenger_cutoff=${ownWanted}` : ''
  return html`<div class="filters">
      <${Field} label="Challenger">${(
        field: object,
      ) => html`<select ...${field} value=${id} onChange=${choose(setId)}>
        ${challengers.map((one) => html`<option value=${one.id}>${one.name}</option>`)}</select>`}<//>
      <${Field} label="Champion's cut-off">${(field: object) => html`<input ...${field} type="number" step="any" value=${wanted ?? ''} onChange=${typed(setCutoff)} />`}<//>
      <${Field} label="Challenger's cut-off by">${(
        field: object,
      ) => html`<select ...${field} value=${rule} onChange=${choose(setRule)}>
        ${Object.entries(RULES).map(([value, name]) => html`<option value=${value}>${name}</option>`)}</select>`}<//>
      ${
        isExplicit &&
        html`<${Field} label="Challenger's own cut-off">${(field: object) => html`<input ...${field} type="number" step="any" value=${ownWanted ?? ''} onChange=${typed(setOwnCutoff)} />`}<//>`
      }
    </div>
    <${Shown} of=${median}>${() =>
      wanted === null
        ? html`<${Empty} title="No applicants in this period"><p>Choose a longer one.</p><//>`
        : html`<${Report} slug=${slug} id=${id} decision=${`cutoff=${wanted}&rule=${rule}${own}`} period=${period} />`}<//>`
}

/**
 * The lower end of the band with the median score of all applicants, as a first cut-off; null
 * without scores.
 */
async function medianOf(slug: string, from: string): Promise<number | null> {
  const { bands, n } = await api<Cutoffs>('GET', `v1/deployments/${slug}/cutoffs?${from}`)
  let below = 0
  for (const band of bands) {
    below += band.n
    if (2 * below >= n) return band.min
  }
  return null
}

interface ReportProps {
  readonly slug: string
  readonly id: string
  /** Cut-offs and rule as a query. */
  readonly decision: string
  readonly period: string
}

function Report({ slug, id, decision, period }: ReportProps) {
  const loaded = useLoaded(async () => {
    const query = `challenger_id=${id}&${periodQuery(period)}`
    const path = `v1/deployments/${slug}`
    // Asked at once, both come from one scan of the log.
    const [swap, migration] = await Promise.all([
      api<SwapSet>('GET', `${path}/swap-set?${decision}&${query}`),
      api<Migration>('GET', `${path}/migration?${query}`),
    ])
    return { swap, migration }
  }, [slug, id, decision, period])
  return html`<${Shown} of=${loaded}>${({
    swap,
    migration,
  }: {
    swap: SwapSet
    migration: Migration
  }) =>
    swap.n === 0
      ? html`<${Empty} title="Nobody was scored by both"><p>The challenger has not scored in this period.</p><//>`
      : html`<${Fields} swap=${swap} period=${period} /><${Grades} migration=${migration} period=${period} />`}<//>`
}

/** Whom a report counts, below its heading. */
function basisOf(n: number, period: string): Basis {
  return { unit: 'applicants scored by both', n, period: periodSpan(period) }
}

/** Below so many swaps the chi-squared distribution of McNemar's test does not fit. */
const SWAPS_MIN = 25

function Fields({ swap, period }: { swap: SwapSet; period: string }) {
  const { cells, mcnemar } = swap
  const rows = [
    ['Both approve', cells.both_approve],
    ['Only the champion approves (swap-out)', cells.swap_out],
    ['Only the challenger approves (swap-in)', cells.swap_in],
    ['Both decline', cells.both_decline],
  ] as const
  const swaps = cells.swap_out.n + cells.swap_in.n
  const tiles: [string, string][] = [
    ['Applicants scored by both', count(swap.n)],
    ['Approved by the champion', percent(swap.approval_rate)],
    ['Approved by the challenger', percent(swap.challenger_approval_rate)],
    ["Challenger's cut-off", number(swap.challenger_cutoff)],
    ['Swaps equal by chance (p)', mcnemar === null ? '–' : index(mcnemar.p_value)],
    ['Enough data?', swaps < SWAPS_MIN ? `no: ${count(swaps)} swaps, ${SWAPS_MIN} needed` : 'yes'],
  ]
  return html`<section><h2>Swap set</h2>
    <${BasisLine} basis=${basisOf(swap.n, period)} />
    <dl class="tiles">${tiles.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>
    <${Table} caption="Swap set" head=${['', numberHead('Applicants'), numberHead('Share'), numberHead('PD by champion'), numberHead('PD by challenger'), numberHead('Expected bads by champion'), numberHead('by challenger')]}>
      ${rows.map(
        ([name, cell]) => html`<tr><th scope="row">${name}</th>
        <td class="number">${count(cell.n)}</td><td class="number">${percent(cell.share)}</td>
        <td class="number">${percent(cell.mean_pd_champion)}</td><td class="number">${percent(cell.mean_pd_challenger)}</td>
        <td class="number">${number(cell.expected_bads_champion)}</td><td class="number">${number(cell.expected_bads_challenger)}</td></tr>`,
      )}
    <//>
    <p class="muted">Bads are expected ones, by the probabilities of each model. The outcome of a swap-in that was declined is not known to anybody.</p>
  </section>`
}

/** Grades of the champion in rows, of the challenger in columns; darker for more applicants. */
function Grades({ migration, period }: { migration: Migration; period: string }) {
  const { cells, stable_share, n } = migration
  const rows = [...new Set(cells.map(({ champion_grade }) => champion_grade))]
  const columns = [...new Set([...rows, ...cells.map(({ challenger_grade }) => challenger_grade)])]
  if (columns.every((grade) => grade === null)) return null
  const found = (from: string | null, to: string | null) =>
    cells.find((one) => one.champion_grade === from && one.challenger_grade === to)
  return html`<section><h2>Migration of grades</h2>
    <${BasisLine} basis=${basisOf(n, period)} />
    <p class="muted">${percent(stable_share)} keep their grade. Rows are the champion's grades, columns the challenger's.</p>
    <${Table} caption="Migration of grades" head=${['', ...columns.map((grade) => numberHead(grade ?? 'none'))]}>
      ${rows.map(
        (from) => html`<tr><th scope="row">${from ?? 'none'}</th>
        ${columns.map((to) => {
          const cell = found(from, to)
          if (cell === undefined)
            return html`<td class="number cell"><span class="muted">0</span></td>`
          const shade = 10 + Math.round(40 * (cell.row_share ?? 0))
          return html`<td class=${`number cell ${from === to ? 'same' : 'moved'}`} style=${{ '--shade': `${shade}%` }}>${count(cell.n)} (${percent(cell.row_share)})</td>`
        })}</tr>`,
      )}
    <//></section>`
}
