import { html } from 'htm/preact'
import { type Basis, HistogramChart } from './charts.ts'
import { count, number, percent } from './format.ts'
import { between, decimals } from './performance-verdict.ts'
import type { BacktestResult, SwapCell } from './types.ts'
import { Badge, Empty, numberHead, Table } from './ui.ts'

/** What a candidate card would have done. */
export function BacktestResultView({
  result,
  period,
}: {
  result: BacktestResult
  /** From when to when. */
  period: string
}) {
  const { n, exact_share: exactShare, scores, psi, features, swap_set: swapSet } = result
  if (n === 0) {
    return html`<${Empty} title="No applicants"><p>The deployment scored nobody in this period.</p><//>`
  }
  const mean = rangeText(scores.mean_low, scores.mean_high, number)
  return html`<section>
    <h2>Result</h2>
    <dl class="facts">
      <div><dt>Applicants</dt><dd>${count(n)}</dd></div>
      <div><dt>Exact scores</dt><dd>${percent(exactShare)}</dd></div>
      <div><dt>Mean score</dt><dd>${mean}</dd></div>
      <div><dt>PSI against the served scores</dt><dd>${number(psi.psi)}</dd></div>
    </dl>
    ${result.dedupe === 'last' && html`<p class="muted">Of several scores of one application the last counts.</p>`}
    ${swapSet && html`<${Swaps} of=${swapSet} />`}
    ${result.performance && html`<${Known} of=${result.performance} />`}
    <${Features} of=${features} />
    <${Scores} bands=${scores.bands} basis=${{ unit: 'applicants', n, period }} />
  </section>`
}

/** How well the candidate tells good from bad, where both are known. */
function Known({ of }: { of: NonNullable<BacktestResult['performance']> }) {
  const { coverage } = of
  const facts: [string, string, string][] = [
    ['Gini', decimals(of.gini), between(of.gini_low, of.gini_high, decimals)],
    ['AUC', decimals(of.auc), between(of.auc_low, of.auc_high, decimals)],
    ['KS', decimals(of.ks), between(of.ks_low, of.ks_high, decimals)],
    ['Brier score', of.brier === null ? '–' : of.brier.toFixed(4), ''],
    ['Good and bad', count(of.n), `${count(of.bad)} bad, of ${count(coverage.scored)} applicants`],
  ]
  return html`<h2>Against known outcomes</h2>
    <dl class="tiles">${facts.map(
      ([term, value, note]) =>
        html`<div><dt>${term}</dt><dd>${value} <span class="muted small">${note}</span></dd></div>`,
    )}</dl>
    <p class="muted">Intervals of 95 percent, over applicants with an exact score. Nobody knows the outcome of those whom only the candidate approves.</p>`
}

function Features({ of: features }: { of: BacktestResult['features'] }) {
  return html`<h2>Features</h2>
    <${Table} caption="Features" head=${['Feature', 'Follows from the logged bins', numberHead('Exact')]}>
      ${features.map(
        (one) => html`<tr><th scope="row">${one.name}</th>
        <td><${Badge} kind=${one.map === 'exact' ? 'good' : 'off'}>${one.map}<//></td>
        <td class="number">${percent(one.exact_share)}</td></tr>`,
      )}
    <//>`
}

function Scores({ bands, basis }: { bands: BacktestResult['scores']['bands']; basis: Basis }) {
  const [first] = bands
  const last = bands.at(-1)
  if (first === undefined || last === undefined) return null
  const width = first.max - first.min
  const histogramOf = (key: 'n' | 'n_possible') => {
    const counts = Array.from({ length: Math.round((last.max - first.min) / width) }, () => 0)
    for (const band of bands) counts[Math.round((band.min - first.min) / width)] = band[key]
    return { low: first.min, width, counts }
  }
  const isExact = bands.every((band) => band.n === band.n_possible)
  const histograms = [
    { name: 'Applicants', histogram: histogramOf('n') },
    ...(isExact ? [] : [{ name: 'At most', histogram: histogramOf('n_possible') }]),
  ]
  return html`<h2>Scores</h2>
    <${HistogramChart} title="Applicants by score of the candidate" basis=${basis} summary=${`from ${number(first.min)} to ${number(last.max)}`} histograms=${histograms} />
    <${Table} caption="Scores by band" head=${[numberHead('From'), numberHead('To'), numberHead('Applicants')]}>
      ${bands.map(
        (band) => html`<tr><td class="number">${number(band.min)}</td>
        <td class="number">${number(band.max)}</td>
        <td class="number">${rangeText(band.n, band.n_possible, count)}</td></tr>`,
      )}
    <//>`
}

const CELL_NAMES = {
  both_approve: 'Both approve',
  swap_out: 'Only the present card approves',
  swap_in: 'Only the candidate approves',
  both_decline: 'Both decline',
  undecided: 'The log does not tell',
} as const

function Swaps({ of }: { of: NonNullable<BacktestResult['swap_set']> }) {
  const cells = Object.entries(CELL_NAMES) as [keyof typeof CELL_NAMES, string][]
  const { approval_rate: rate, challenger_approval_rate_low: low } = of
  const high = of.challenger_approval_rate_high
  return html`<h2>Approved from ${number(of.cutoff)}</h2>
    <p>The present card approves ${percent(rate)}, the candidate ${rangeText(low, high, percent)}.</p>
    <${Table} caption="Swap set" head=${['Applicants', numberHead('Number'), numberHead('Share'), numberHead('Mean PD, present'), numberHead('Mean PD, candidate')]}>
      ${cells.map(([name, text]) => {
        const cell: SwapCell = of.cells[name]
        return html`<tr><th scope="row">${text}</th>
          <td class="number">${count(cell.n)}</td>
          <td class="number">${percent(cell.share)}</td>
          <td class="number">${percent(cell.mean_pd_champion)}</td>
          <td class="number">${rangeText(cell.mean_pd_challenger_low, cell.mean_pd_challenger_high, percent)}</td></tr>`
      })}
    <//>`
}

/** One text for two equal bounds. */
function rangeText(
  low: number | null,
  high: number | null,
  text: (value: number) => string,
): string {
  if (low === null || high === null) return '–'
  return low === high ? text(low) : `${text(low)} to ${text(high)}`
}
