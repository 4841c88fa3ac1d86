import { html } from 'htm/preact'
import type { ComponentChildren } from 'preact'
import { NONE, number, signed } from './format.ts'
import type { Feature } from './types.ts'
import { numberHead, optionalHead, Table } from './ui.ts'

/** What one feature added to a score. */
export interface WaterfallStep {
  readonly name: string
  /** What the points are for: the applicant's value, or the bin. */
  readonly detail: ComponentChildren
  readonly points: number
  /** The feature in the spec, for its range of points. */
  readonly feature?: Feature | undefined
}

interface WaterfallProps {
  readonly base: number
  /** What the steps start from. */
  readonly start?: string
  readonly score: number
  /** In the order of the spec. */
  readonly steps: readonly WaterfallStep[]
  /** Names the table; tables of one page need different names. */
  readonly caption?: string
  /** Head of the column with the details. */
  readonly detail: string
}

/** The steps from the base points to the score, one per feature. */
export function Waterfall({
  base,
  score,
  steps,
  detail,
  caption = 'Points of each feature',
  start = 'Base points',
}: WaterfallProps) {
  const hasSpans = steps.some(({ feature }) => feature !== undefined)
  let reached = base
  const rows = steps.map((step) => {
    const from = reached
    reached += step.points
    return { ...step, from, to: reached }
  })
  const all = [base, ...rows.map(({ to }) => to)]
  const [least, most] = [Math.min(...all), Math.max(...all)]
  const at = (value: number) => (most === least ? 0 : (100 * (value - least)) / (most - least))
  return html`<${Table} caption=${caption} head=${['Feature', detail, numberHead('Points'), ...(hasSpans ? [optionalHead('Worst … best', 'number')] : []), optionalHead(`From ${start.charAt(0).toLowerCase()}${start.slice(1)} to score`)]}>
    <tr><th scope="row">${start}</th><td></td><td class="number">${number(base)}</td>${hasSpans && html`<td class="optional"></td>`}<td class="bar-cell optional" aria-hidden="true"><${Step} from=${at(base)} to=${at(base)} kind="base" /></td></tr>
    ${rows.map(
      ({ name, detail: what, points, from, to, feature }) => html`<tr>
      <th scope="row">${name}</th>
      <td class="value">${what}</td>
      <td class="number">${signed(points)}</td>
      ${hasSpans && html`<td class="number muted optional">${feature === undefined ? NONE : spanOf(feature)}</td>`}
      <td class="bar-cell optional" aria-hidden="true"><${Step} from=${at(from)} to=${at(to)} kind=${points < 0 ? 'less' : 'more'} /></td>
    </tr>`,
    )}
    <tr class="total"><th scope="row">Score</th><td></td><td class="number">${number(score)}</td>${hasSpans && html`<td class="optional"></td>`}<td class="bar-cell optional" aria-hidden="true"><${Step} from=${at(reached)} to=${at(reached)} kind="base" /></td></tr>
  <//>`
}

function Step({ from, to, kind }: { from: number; to: number; kind: string }) {
  const style = { left: `${Math.min(from, to)}%`, width: `${Math.abs(to - from)}%` }
  return html`<span class="step"><span class=${kind} style=${style}></span></span>`
}

function spanOf({ bins }: Feature): string {
  let [least, most] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (const { points } of bins) {
    least = Math.min(least, points)
    most = Math.max(most, points)
  }
  return `${signed(least)} … ${signed(most)}`
}
