import type { ReactNode } from 'react'
import type { Schemas } from '../../api/types.ts'
import { NONE, number, signed } from '../../ui/figures.ts'
import { Bar, PlainTable } from '../../ui/plain-table.tsx'

interface WaterfallStep {
  readonly name: string
  readonly detail: ReactNode
  readonly points: number
  /** The feature in the card, for its range of points. */
  readonly feature?: Schemas['Feature'] | undefined
}

export function Waterfall(props: {
  base: number
  score: number
  /** In the order of the card. */
  steps: readonly WaterfallStep[]
  /** Head of the column with the details. */
  detail: string
  caption: string
  start?: string
}) {
  const { base, score, steps, detail, caption, start = 'Base points' } = props
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
  const end = (name: string, value: number) => [
    <strong key="name">{name}</strong>,
    '',
    <strong key="value">{number(value)}</strong>,
    ...(hasSpans ? [''] : []),
    <Bar key="bar" from={at(value)} to={at(value)} kind="base" />,
  ]
  return (
    <PlainTable
      caption={caption}
      head={['Feature', detail, 'Points', ...(hasSpans ? ['Worst … best'] : []), 'To the score']}
      figures={hasSpans ? [2, 3] : [2]}
      rows={[
        end(start, base),
        ...rows.map(({ name, detail: what, points, from, to, feature }) => [
          <bdi key="name">{name}</bdi>,
          what,
          signed(points),
          ...(hasSpans ? [feature === undefined ? NONE : writeSpan(feature)] : []),
          <Bar key="bar" from={at(from)} to={at(to)} kind={points < 0 ? 'less' : 'more'} />,
        ]),
        end('Score', score),
      ]}
    />
  )
}

function writeSpan({ bins }: Schemas['Feature']): string {
  let [least, most] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (const { points } of bins) {
    least = Math.min(least, points)
    most = Math.max(most, points)
  }
  return `${signed(least)} … ${signed(most)}`
}
