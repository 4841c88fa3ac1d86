import { html } from 'htm/preact'
import { useState } from 'preact/hooks'
import { type Basis, TimeChart } from './charts.ts'
import { count, dayInUtc, index, sampleSize } from './format.ts'
import type { Mark } from './marks.ts'
import { IntervalCells } from './stability-cells.ts'
import type { FeatureStability, StabilitySeries } from './types.ts'
import { Field, numberHead, Table } from './ui.ts'
import { verdictName } from './verdict.ts'

/** Features in the chart until a user chooses one. */
const CHARTED = 3

type Point = StabilitySeries['points'][number]

interface OverTimeProps {
  readonly slug: string
  /** Most moved first. */
  readonly features: readonly FeatureStability[]
  readonly series: StabilitySeries
  readonly marks: readonly Mark[]
  readonly basis: Omit<Basis, 'unit'>
}

/** The indices, the mean score and the number of applicants, interval by interval. */
export function OverTime({ slug, features, series, marks, basis }: OverTimeProps) {
  const [chosen, setChosen] = useState('')
  const { points, interval } = series
  const last = points.at(-1)
  if (last === undefined || points.length < 2) {
    return html`<p class="muted">A curve over time needs applicants of at least two ${interval}s.</p>`
  }
  const judged = features.filter(({ csi_psi }) => csi_psi !== null)
  const charted =
    chosen === '' ? judged.slice(0, CHARTED) : judged.filter(({ name }) => name === chosen)
  const curves = curvesOf(points, charted)
  const along = points.map(({ from }) => Date.parse(from) / 1000)
  const time = { along, end: Date.parse(last.to) / 1000, marks }
  const of = (unit: string) => ({ ...basis, unit, isUtc: true })
  const levels = [
    { name: 'moderate', value: series.watch },
    { name: 'major', value: series.act },
  ]
  const choose = (event: Event) => setChosen((event.currentTarget as HTMLSelectElement).value)
  const cellsOf = charted[0]?.name
  return html`${
    judged.length > 0 &&
    html`<div class="filters"><${Field} label="Feature over time">${(
      field: object,
    ) => html`<select ...${field} value=${chosen} onChange=${choose}>
      <option value="">The ${count(Math.min(CHARTED, judged.length))} most moved</option>
      ${judged.map(({ name }) => html`<option value=${name}>${name}</option>`)}
    </select>`}<//></div>`
  }
  <div class="charts">
    ${
      curves.length > 0 &&
      html`<div><${TimeChart} title=${`PSI by ${interval}`} ...${time} format=${index} levels=${levels} basis=${of('PSI')}
        summary=${`the features are ${charted.map(({ name }) => name).join(', ')}`} curves=${curves}
        table=${html`<${IndexTable} series=${series} names=${charted.map(({ name }) => name)} />`} />
        ${curves.some(({ doubtful }) => doubtful.includes(true)) && html`<p class="muted small">A hollow point has too few applicants for a verdict: chance alone reaches “moderate” there.</p>`}</div>`
    }
    <${TimeChart} title=${`Mean score by ${interval}`} ...${time} basis=${of('points')}
      summary=${`${points.length} ${interval}s`} curves=${[{ name: 'Mean score', values: points.map(({ score }) => score.mean) }]} />
    <${TimeChart} title=${`Applicants by ${interval}`} shape="bars" ...${time} basis=${of('applicants')}
      summary=${`${points.length} ${interval}s`} curves=${[{ name: 'Applicants', values: points.map(({ n }) => n) }]} />
  </div>
  ${cellsOf !== undefined && html`<${IntervalCells} key=${interval} slug=${slug} series=${series} feature=${cellsOf} />`}`
}

/** Curves of the score, if the sample has bands of scores, and of features. */
function curvesOf(points: readonly Point[], features: readonly FeatureStability[]) {
  const curve = (name: string, read: (point: Point) => IndexOfPoint | undefined) => ({
    name,
    values: points.map((point) => read(point)?.psi ?? null),
    doubtful: points.map((point) => read(point)?.verdict === 'insufficient_data'),
  })
  const ofScore = curve('Score', ({ score, n }) => ({ ...score, n }))
  const hasScore = ofScore.values.some((value) => value !== null)
  const ofFeatures = features.map(({ name }) => curve(name, (point) => indexOf(point, name)))
  return [...(hasScore ? [ofScore] : []), ...ofFeatures]
}

interface IndexOfPoint {
  readonly n: number
  readonly psi: number | null
  readonly verdict: Point['score']['verdict']
}

function indexOf(point: Point, name: string): IndexOfPoint | undefined {
  const found = point.features.find((one) => one.name === name)
  return found && { n: found.n_compared, psi: found.csi_psi, verdict: found.verdict }
}

/** Each index with its verdict and number of applicants. */
function IndexTable({ series, names }: { series: StabilitySeries; names: readonly string[] }) {
  const { points, interval } = series
  const text = (found: IndexOfPoint | undefined) =>
    found === undefined || found.psi === null
      ? '–'
      : `${index(found.psi)}, ${verdictName(found.verdict)}, ${sampleSize(found.n)}`
  return html`<${Table} caption=${`PSI by ${interval}`} head=${['From (UTC)', numberHead('Applicants'), 'Score', ...names]}>
    ${points.map(
      (point) => html`<tr><th scope="row">${dayInUtc(Date.parse(point.from))}</th>
      <td class="number">${count(point.n)}</td>
      <td>${text({ ...point.score, n: point.n })}</td>
      ${names.map((name) => html`<td>${text(indexOf(point, name))}</td>`)}</tr>`,
    )}
  <//>`
}
