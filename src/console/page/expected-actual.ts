import { html } from 'htm/preact'
import { useState } from 'preact/hooks'
import { api } from './api.ts'
import { TimeChart } from './charts.ts'
import { count, percent } from './format.ts'
import type { Mark } from './marks.ts'
import { useLoaded } from './state.ts'
import type { OutcomeDefinition, Performance } from './types.ts'
import { Empty, numberHead, Shown, Table } from './ui.ts'

/** Each month is a report of its own, so they are few. */
const MONTHS = 6

interface Month {
  readonly fromMs: number
  readonly toMs: number
}

interface MonthFound {
  readonly atSec: number
  readonly endSec: number
  readonly n: number
  readonly bad: number
  readonly expected: number | null
  readonly observed: number | null
}

/** Mean probability and observed bad rate by month. It loads when a user opens it. */
export function ExpectedActual({ slug, marks }: { slug: string; marks: readonly Mark[] }) {
  const [isOpen, setOpen] = useState(false)
  const toggle = (event: Event) => setOpen((event.currentTarget as HTMLDetailsElement).open)
  return html`<details class="panel" onToggle=${toggle}>
    <summary>Expected and observed bad rate by month</summary>
    ${isOpen && html`<${Months} slug=${slug} marks=${marks} />`}
  </details>`
}

function Months({ slug, marks }: { slug: string; marks: readonly Mark[] }) {
  const loaded = useLoaded(() => monthsOf(slug), [slug])
  return html`<${Shown} of=${loaded}>${({ definition, months }: Found) => {
    if (definition === null) {
      return html`<${Empty} title="No outcomes yet"><p>Define what counts as bad with <code>PUT /v1/outcome-definitions/{id}</code>, then send outcomes.</p><//>`
    }
    if (months.length === 0) {
      return html`<${Empty} title="No outcomes in the last ${MONTHS} months"><p>No applicant of these months has a good or bad outcome of “${definition.label}”.</p><//>`
    }
    return html`<${Chart} months=${months} marks=${marks} label=${definition.label} />`
  }}<//>`
}

interface Found {
  readonly definition: OutcomeDefinition | null
  readonly months: readonly MonthFound[]
}

/** The last months of the first definition, without those that have no outcome. */
async function monthsOf(slug: string): Promise<Found> {
  const path = 'v1/outcome-definitions'
  const { outcome_definitions: all } = await api<{ outcome_definitions: OutcomeDefinition[] }>(
    'GET',
    path,
  )
  const [definition = null] = all
  if (definition === null) return { definition, months: [] }
  const months: MonthFound[] = []
  for (const { fromMs, toMs } of lastMonths(Date.now())) {
    const [from, to] = [fromMs, toMs].map((ms) => new Date(ms).toISOString())
    const query = `definition=${encodeURIComponent(definition.id)}&from=${from}&to=${to}`
    const found = await api<Performance>('GET', `v1/deployments/${slug}/performance?${query}`)
    if (found.n > 0) months.push(monthOf(found, { fromMs, toMs }))
  }
  return { definition, months }
}

function lastMonths(nowMs: number): Month[] {
  const now = new Date(nowMs)
  const startOf = (back: number) => Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back)
  return Array.from({ length: MONTHS }, (_, index) => {
    const back = MONTHS - 1 - index
    return { fromMs: startOf(back), toMs: startOf(back - 1) }
  })
}

/** The mean probability follows from those of the grades. */
function monthOf({ n, bad, calibration }: Performance, { fromMs, toMs }: Month): MonthFound {
  const known = calibration.grades.filter(({ mean_pd }) => mean_pd !== null)
  const counted = known.reduce((sum, grade) => sum + grade.n, 0)
  const expected = known.reduce((sum, grade) => sum + grade.n * (grade.mean_pd ?? 0), 0)
  return {
    atSec: fromMs / 1000,
    endSec: toMs / 1000,
    n,
    bad,
    expected: counted === 0 ? null : expected / counted,
    observed: n === 0 ? null : bad / n,
  }
}

const MONTH = new Intl.DateTimeFormat('en-GB', { month: 'long', year: 'numeric', timeZone: 'UTC' })

function Chart({
  months,
  marks,
  label,
}: {
  months: readonly MonthFound[]
  marks: readonly Mark[]
  label: string
}) {
  const n = months.reduce((sum, one) => sum + one.n, 0)
  const period = [months[0], months.at(-1)].map((one) => MONTH.format((one?.atSec ?? 0) * 1000))
  const curves = [
    { name: 'Expected', values: months.map(({ expected }) => expected) },
    { name: 'Observed', values: months.map(({ observed }) => observed) },
  ]
  return html`<p class="muted">Applicants with a good or bad outcome of “${label}”, by the month of their score. Expected is the mean probability of the champion of today.</p>
    ${
      months.length === 1
        ? html`<p class="muted">All outcomes are of one month; a curve needs two.</p>`
        : html`<${TimeChart} title="Bad rate by month" basis=${{ unit: 'percent of the applicants', n, period: period.join(' – '), isUtc: true }} along=${months.map(({ atSec }) => atSec)} end=${months.at(-1)?.endSec} curves=${curves} marks=${marks} format=${percent}
        summary=${`${count(n)} applicants in ${months.length} months`} />`
    }
    <${Table} caption="Expected and observed by month" head=${['Month', numberHead('Applicants'), numberHead('Bad'), numberHead('Expected'), numberHead('Observed')]}>
      ${months.map(
        (one) => html`<tr><th scope="row">${MONTH.format(one.atSec * 1000)}</th>
        <td class="number">${count(one.n)}</td><td class="number">${count(one.bad)}</td>
        <td class="number">${percent(one.expected)}</td><td class="number">${percent(one.observed)}</td></tr>`,
      )}
    <//>`
}
