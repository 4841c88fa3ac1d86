import type { ReactNode } from 'react'
import type { Schemas } from '../../api/types.ts'
import { binText } from '../../ui/card.ts'
import { NONE, number, signed } from '../../ui/figures.ts'
import { Bar, PlainTable } from '../../ui/table.tsx'

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

/** Longer lists of categories are cut: the model's page shows them all. */
const SHOWN_MAX = 5
const OR = ' or '

interface BinOfScore {
  readonly range?: string
  readonly value?: string
  readonly label?: string
}

/** The label of a bin, else its range or categories. */
export function binWords(bin: BinOfScore): string {
  if (bin.label !== undefined) return bin.label
  const parts = binText(bin).split(OR)
  if (parts.length <= SHOWN_MAX) return parts.join(OR)
  return `${parts.slice(0, SHOWN_MAX).join(OR)} and ${parts.length - SHOWN_MAX} more`
}

const OUTCOMES: Readonly<Record<string, string>> = {
  missing: 'missing',
  unseen_category: 'unseen category',
  no_bin: 'in no bin',
  not_a_number: 'not a number',
}

export function LoggedBin({ logged }: { logged: Schemas['LoggedFeature'] }) {
  const { outcome, bin } = logged
  const text = bin === null ? null : binWords(bin)
  if (outcome === 'matched') return <bdi>{text}</bdi>
  return (
    <>
      <span className="muted">{OUTCOMES[outcome] ?? 'no value that a bin matches'}</span>
      {text !== null && text !== 'Missing' && ` ${text}`}
    </>
  )
}
