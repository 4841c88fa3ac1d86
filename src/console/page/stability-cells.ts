import { html } from 'htm/preact'
import { useState } from 'preact/hooks'
import { api } from './api.ts'
import { count, dayInUtc, index, percent, sampleSize, signed } from './format.ts'
import { useLoaded } from './state.ts'
import type { FeatureStability, Stability, StabilitySeries } from './types.ts'
import { Field, numberHead, Shown, Table } from './ui.ts'
import { noFeatureVerdict, VerdictBadge } from './verdict.ts'

/** The cells behind the index of a feature. */
export function CellTable({ feature, caption }: { feature: FeatureStability; caption: string }) {
  return html`<${Table} caption=${caption} head=${['Value', numberHead('Points'), numberHead('Sample'), numberHead('Now'), numberHead('Applicants'), numberHead('PSI'), numberHead('Points moved')]}>
    ${feature.cells.map(
      (cell) => html`<tr>
      <th scope="row">${cell.outcome === 'matched' ? (cell.bin?.range ?? cell.bin?.value) : cell.outcome.replaceAll('_', ' ')}</th>
      <td class="number">${signed(cell.points)}</td>
      <td class="number">${cell.expected === null ? html`<span class="muted">unknown</span>` : percent(cell.expected_share)}</td>
      <td class="number">${percent(cell.actual_share)}</td>
      <td class="number">${count(cell.actual)}</td>
      <td class="number">${index(cell.psi)}</td>
      <td class="number">${signed(cell.points_part)}</td>
    </tr>`,
    )}
  <//>`
}

interface IntervalCellsProps {
  readonly slug: string
  readonly series: StabilitySeries
  /** Name of the feature. */
  readonly feature: string
}

/** The cells of one interval of a series, which a user chooses. */
export function IntervalCells({ slug, series, feature }: IntervalCellsProps) {
  const [chosen, setChosen] = useState('')
  const choose = (event: Event) => setChosen((event.currentTarget as HTMLSelectElement).value)
  const { points, interval } = series
  const point = points.find(({ from }) => from === chosen)
  return html`<div class="filters">
      <${Field} label=${`Cells of one ${interval} (UTC)`}>${(
        field: object,
      ) => html`<select ...${field} value=${chosen} onChange=${choose}>
        <option value="">None</option>
        ${points.toReversed().map(({ from, n }) => html`<option value=${from}>${dayInUtc(Date.parse(from))}, ${sampleSize(n)}</option>`)}
      </select>`}<//>
    </div>
    ${point !== undefined && html`<${OneInterval} slug=${slug} series=${series} point=${point} feature=${feature} />`}`
}

interface OneIntervalProps extends IntervalCellsProps {
  readonly point: StabilitySeries['points'][number]
}

function OneInterval({ slug, series, point, feature }: OneIntervalProps) {
  const { from, to } = point
  const loaded = useLoaded(() => {
    const levels = `watch=${series.watch}&act=${series.act}`
    const query = `model=${series.model_id}&from=${from}&to=${to}&${levels}`
    return api<Stability>('GET', `v1/deployments/${slug}/stability?${query}`)
  }, [slug, from, to, series.model_id])
  return html`<${Shown} of=${loaded}>${(stability: Stability) => {
    const found = stability.features.find(({ name }) => name === feature)
    if (found === undefined) return null
    const day = dayInUtc(Date.parse(from))
    return html`<p>${feature}, ${series.interval} from ${day} UTC: <${VerdictBadge} verdict=${found.verdict} without=${noFeatureVerdict(stability)} /> PSI ${index(found.csi_psi)}, by chance up to ${index(found.cv_95)} <span class="muted small">${sampleSize(found.n_compared)}</span></p>
      <${CellTable} feature=${found} caption=${`Cells of ${feature} from ${day}`} />`
  }}<//>`
}
