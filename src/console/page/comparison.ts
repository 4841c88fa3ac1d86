import { html } from 'htm/preact'
import { type Basis, BasisLine, HistogramChart, TimeChart } from './charts.ts'
import { count, milliseconds, number, percent, signed, span } from './format.ts'
import type { Mark } from './marks.ts'
import type { Names } from './names.ts'
import type { ComparedChallenger, ComparedModel, Comparison, Deployment } from './types.ts'
import { Badge, numberHead, Table, When } from './ui.ts'

interface ComparisonViewProps {
  readonly comparison: Comparison
  readonly deployment: Deployment
  readonly names: Names
  readonly marks: readonly Mark[]
}

/** The models of a deployment side by side, and each challenger beside the champion. */
export function ComparisonView({ comparison, deployment, names, marks }: ComparisonViewProps) {
  const { applicants, models, challengers, first_at: firstAt, last_at: lastAt } = comparison
  const nameOf = (id: string) => names.get(id) ?? id
  const present = new Set(deployment.challengers.map(({ id }) => id))
  const drawn = models.flatMap((model) =>
    model.scores === null ? [] : [{ name: nameOf(model.model_id), histogram: model.scores }],
  )
  return html`<section><h2>By model</h2>
    <p class="muted">All ${count(applicants)} applicants of this time range, from <${When} at=${firstAt} /> to <${When} at=${lastAt} />.</p>
    <${Table} caption="Models side by side" head=${['Model', 'Role', numberHead('Answered'), numberHead('Scored'), numberHead('Average score'), numberHead('Average PD'), numberHead('Latency p50'), numberHead('p95')]}>
      ${models.map(
        (model) => html`<tr>
        <th scope="row">${nameOf(model.model_id)}</th><td>${model.role}</td>
        <td class="number">${count(model.served)} <span class="muted">(${percent(model.served / applicants)})</span></td>
        <td class="number">${count(model.scored)}</td>
        <td class="number">${number(model.avg_score)}</td>
        <td class="number">${percent(model.avg_pd)}</td>
        <td class="number">${milliseconds(model.p50_latency_ms)}</td>
        <td class="number">${milliseconds(model.p95_latency_ms)}</td>
      </tr>`,
      )}
    <//>
    <div class="charts">
      <${HistogramChart} title="Scores, by model" basis=${basisOf(comparison)} summary=${models.map((model) => `${nameOf(model.model_id)} ${number(model.avg_score)} on average`).join(', ')} histograms=${drawn} />
      <${ServedChart} models=${models} comparison=${comparison} nameOf=${nameOf} marks=${marks} />
    </div>
  </section>
  ${
    challengers.length > 0 &&
    html`<section><h2>Challengers compared with the champion</h2>
    ${challengers.map((one) => html`<${ChallengerView} key=${`${one.challenger_id} ${one.champion_model_id}`} compared=${one} isPresent=${present.has(one.challenger_id)} nameOf=${nameOf} basis=${{ ...basisOf(comparison), n: one.compared }} />`)}
  </section>`
  }`
}

function basisOf({ applicants, first_at: firstAt, last_at: lastAt }: Comparison): Basis {
  const period =
    firstAt === null || lastAt === null ? '–' : span(Date.parse(firstAt), Date.parse(lastAt))
  return { unit: 'applicants', n: applicants, period }
}

interface ServedChartProps {
  readonly models: readonly ComparedModel[]
  readonly comparison: Comparison
  readonly nameOf: (id: string) => string
  readonly marks: readonly Mark[]
}

function ServedChart({ models, comparison, nameOf, marks }: ServedChartProps) {
  const { first_at: firstAt, last_at: lastAt } = comparison
  const slices = models[0]?.served_by_slice.length ?? 0
  if (firstAt === null || lastAt === null || firstAt === lastAt) return null
  const [firstSec, lastSec] = [Date.parse(firstAt) / 1000, Date.parse(lastAt) / 1000]
  const along = Array.from(
    { length: slices },
    (_, slice) => firstSec + (slice * (lastSec - firstSec)) / slices,
  )
  const curves = models
    .filter(({ served }) => served > 0)
    .map((model) => ({ name: nameOf(model.model_id), values: model.served_by_slice }))
  return html`<${TimeChart} title="Applicants answered, by model" basis=${basisOf(comparison)} along=${along} end=${lastSec} marks=${marks} curves=${curves} format=${(value: number | null) => (value === null ? '–' : count(value))}
    summary=${curves.map(({ name, values }) => `${name} ${count(values.reduce((sum, one) => sum + one, 0))}`).join(', ')} />`
}

interface ChallengerViewProps {
  readonly compared: ComparedChallenger
  readonly isPresent: boolean
  readonly nameOf: (id: string) => string
  readonly basis: Basis
}

function ChallengerView({ compared, isPresent, nameOf, basis }: ChallengerViewProps) {
  const name = nameOf(compared.model_id)
  const champion = nameOf(compared.champion_model_id)
  const moved = compared.grades.filter((one) => one.champion !== one.challenger)
  const movedCount = moved.reduce((sum, { applicants }) => sum + applicants, 0)
  const facts: [string, string][] = [
    ['Applicants', count(compared.compared)],
    ['Average difference', signed(compared.avg_difference)],
    ['90 percent within', `${signed(compared.p5_difference)} … ${signed(compared.p95_difference)}`],
    ['Median', signed(compared.p50_difference)],
    [
      'Other grade',
      `${count(movedCount)} (${percent(compared.compared === 0 ? null : movedCount / compared.compared)})`,
    ],
    ...(compared.failed > 0 ? ([['Failed', count(compared.failed)]] as [string, string][]) : []),
  ]
  return html`<article class="card">
    <h3>${name} <span class="muted">compared with ${champion}</span> ${!isPresent && html`<${Badge} kind="off">ended<//>`}</h3>
    <dl class="tiles">${facts.map(([term, value]) => html`<div><dt>${term}</dt><dd>${value}</dd></div>`)}</dl>
    <div class="charts">
      ${compared.differences && html`<${HistogramChart} title=${`Score of ${name} minus that of ${champion}`} basis=${{ ...basis, unit: 'applicants by points' }} summary=${`${signed(compared.avg_difference)} on average`} histograms=${[{ name: 'Applicants', histogram: compared.differences }]} />`}
      <${Migration} compared=${compared} name=${name} champion=${champion} basis=${basis} />
    </div>
  </article>`
}

/** Number of applicants for each pair of grades. */
function Migration({
  compared,
  name,
  champion,
  basis,
}: {
  basis: Basis
  compared: ComparedChallenger
  name: string
  champion: string
}) {
  const { grades } = compared
  const all = [...new Set(grades.flatMap((one) => [one.champion, one.challenger]))].sort(byName)
  if (all.every((grade) => grade === null)) return null
  const most = Math.max(...grades.map(({ applicants }) => applicants))
  const found = (from: string | null, to: string | null) =>
    grades.find((one) => one.champion === from && one.challenger === to)?.applicants ?? 0
  return html`<figure class="chart"><figcaption>Grades: ${champion} in rows, ${name} in columns</figcaption>
    <${BasisLine} basis=${basis} />
    <${Table} caption=${`Grade migration from ${champion} to ${name}`} head=${['', ...all.map((grade) => numberHead(grade ?? 'none'))]}>
      ${all.map(
        (from) => html`<tr><th scope="row">${from ?? 'none'}</th>
        ${all.map((to) => {
          const applicants = found(from, to)
          const shade = applicants === 0 ? 0 : 10 + Math.round((40 * applicants) / most)
          return html`<td class=${`number cell ${from === to ? 'same' : 'moved'}`} style=${{ '--shade': `${shade}%` }}>${applicants === 0 ? html`<span class="muted">0</span>` : count(applicants)}</td>`
        })}</tr>`,
      )}
    <//></figure>`
}

/** Sorts by name, applicants without a grade last. */
function byName(one: string | null, other: string | null): number {
  if (one === null || other === null) return one === other ? 0 : one === null ? 1 : -1
  return one < other ? -1 : 1
}
