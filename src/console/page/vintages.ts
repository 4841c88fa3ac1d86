import { html } from 'htm/preact'
import { api } from './api.ts'
import { NumberChart } from './charts.ts'
import { count, NONE, percent } from './format.ts'
import { between } from './performance-verdict.ts'
import { useLoaded } from './state.ts'
import type { Vintages } from './types.ts'
import { Empty, numberHead, Shown, Table } from './ui.ts'

type Vintage = Vintages['vintages'][number]

/** The newest months of booking: as many as there are colours. */
const CURVES_MAX = 6

/** The share of bad accounts by month of booking and months since. */
export function VintageCurves({ slug, definition }: { slug: string; definition: string }) {
  const path = `v1/deployments/${slug}/performance/vintages?definition=${encodeURIComponent(definition)}`
  const loaded = useLoaded(() => api<Vintages>('GET', path), [path])
  return html`<section><h2>Do newer accounts go bad sooner?</h2>
    <${Shown} of=${loaded}>${({ vintages }: Vintages) =>
      vintages.length === 0
        ? html`<${Empty} title="No booked accounts yet"><p>Send <code>booked_at</code> with decisions or outcomes, and <code>event_date</code> with bad ones.</p><//>`
        : html`<${Curves} vintages=${vintages.slice(-CURVES_MAX)} /><${Cohorts} vintages=${vintages} />`}<//>
  </section>`
}

function Curves({ vintages }: { vintages: readonly Vintage[] }) {
  const months = Math.max(...vintages.map((one) => lastMonthOf(one) + 1))
  if (months < 2) return null
  const curves = vintages.map(({ cohort, values }) => ({
    name: cohort,
    values: values.slice(0, months),
  }))
  const along = Array.from({ length: months }, (_, month) => month)
  const basis = {
    unit: 'percent of the accounts',
    n: vintages.reduce((sum, { n }) => sum + n, 0),
    period: `booked in ${vintages[0]?.cohort} – ${vintages.at(-1)?.cohort}`,
  }
  const summary = `share of bad accounts of ${count(vintages.length)} months of booking`
  return html`<${NumberChart} basis=${basis} title="Bad accounts by months since booking" summary=${summary} curves=${curves} along=${along} format=${percent} alongName="After months" />`
}

/** The last month that any account was observed for; -1 without one. */
function lastMonthOf({ observed }: Vintage): number {
  return observed.findLastIndex((accounts) => accounts > 0)
}

function Cohorts({ vintages }: { vintages: readonly Vintage[] }) {
  return html`<${Table} caption="Vintages" head=${['Booked in', numberHead('Accounts'), numberHead('Observed for'), numberHead('By so many'), numberHead('Bad by then'), numberHead('95 percent interval')]}>
    ${vintages.toReversed().map((one) => {
      const month = lastMonthOf(one)
      const [value = null, low = null, high = null] = [
        one.values[month],
        one.low[month],
        one.high[month],
      ]
      return html`<tr><th scope="row">${one.cohort}</th>
        <td class="number">${count(one.n)}</td>
        <td class="number">${month < 0 ? NONE : `${count(month)} months`}</td>
        <td class="number">${count(one.observed[month] ?? 0)}</td>
        <td class="number">${percent(value)}</td>
        <td class="number">${between(low, high, percent)}</td></tr>`
    })}
  <//>`
}
