import { html } from 'htm/preact'
import { BandChart, type Basis } from './charts.ts'
import { count, index, number, percent } from './format.ts'
import type { Stability } from './types.ts'
import { numberHead, Table } from './ui.ts'

type Bands = Stability['score']['bands']

interface DistributionProps {
  readonly stability: Stability
  readonly basis: Omit<Basis, 'unit'>
}

/** Shares of the score bands, of the applicants and of the development sample. */
export function Distribution({ stability: { score, baseline }, basis }: DistributionProps) {
  const { bands, psi } = score
  if (bands.length === 0) {
    if (baseline === null) return null
    return html`<p class="muted">There is no chart of the scores against the development sample: the sample has counts by bin only.</p>`
  }
  const table = html`<${BandTable} bands=${bands} />`
  const edges = edgesOf(bands)
  if (edges === null) return html`<section><h3>Score by band</h3>${table}</section>`
  const unit = `share of applicants, sample of ${count(baseline?.n ?? 0)}`
  return html`<div class="charts"><${BandChart} title="Score distribution against the development sample" basis=${{ ...basis, unit }}
    summary=${`PSI ${index(psi)} over ${count(bands.length)} bands`} edges=${edges} format=${percent} table=${table}
    curves=${[
      { name: 'Sample', values: bands.map(({ expected_share: share }) => share) },
      { name: 'Now', values: bands.map(({ actual_share: share }) => share) },
    ]} /></div>`
}

/** Ends of all bands; an open one is drawn as wide as its neighbour. Null if all are open. */
function edgesOf(bands: Bands): number[] | null {
  const inner = bands.slice(1).flatMap(({ min }) => min ?? [])
  const [first, second] = inner
  const [last, beforeLast] = [inner.at(-1), inner.at(-2)]
  if (first === undefined || last === undefined) return null
  const low = bands[0]?.min ?? first - ((second ?? first + 1) - first)
  const high = bands.at(-1)?.max ?? last + (last - (beforeLast ?? last - 1))
  return [low, ...inner, high]
}

function BandTable({ bands }: { bands: Bands }) {
  return html`<${Table} caption="Score by band" head=${['Band', numberHead('Sample'), numberHead('Now'), numberHead('Applicants'), numberHead('PSI')]}>
    ${bands.map(
      (band) => html`<tr>
      <th scope="row">${band.min === null ? '' : `${number(band.min)} to `}${band.max === null ? 'the highest' : `below ${number(band.max)}`}</th>
      <td class="number">${percent(band.expected_share)}</td><td class="number">${percent(band.actual_share)}</td>
      <td class="number">${count(band.actual)}</td><td class="number">${index(band.psi)}</td>
    </tr>`,
    )}
  <//>`
}
