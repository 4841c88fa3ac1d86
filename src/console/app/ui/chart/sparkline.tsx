import { memo } from 'react'
import { linePath } from './scale.ts'

const WIDTH = 80
const HEIGHT = 28
const EDGE = 3

interface SparklineProps {
  readonly values: readonly (number | null)[]
  /** Its content, in a sentence, for who does not see it. */
  readonly label: string
  /** A line at a level, such as where a shift begins. */
  readonly level?: number | undefined
  readonly kind?: 'line' | 'bars'
}

/** A small chart of one series: no axis, the newest value marked. */
export const Sparkline = memo(({ values, label, level, kind = 'line' }: SparklineProps) => {
  const known = values.filter((value) => value !== null)
  if (known.length === 0) return <span className="muted">–</span>
  const all = level === undefined ? known : [...known, level]
  const low = kind === 'bars' ? 0 : Math.min(...all)
  const span = Math.max(...all) - low || 1
  const step = (WIDTH - 2 * EDGE) / Math.max(values.length - 1, 1)
  const x = (at: number) => EDGE + at * step
  const y = (value: number) => HEIGHT - EDGE - ((value - low) / span) * (HEIGHT - 2 * EDGE)
  const points = values.map((value, at) => [x(at), value === null ? null : y(value)] as const)
  const last = points.findLast(([, place]) => place !== null)
  return (
    <svg
      className="sparkline"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      width={WIDTH}
      height={HEIGHT}
      role="img"
      aria-label={label}
    >
      {level !== undefined && <path className="level" d={`M0 ${y(level)}H${WIDTH}`} />}
      {kind === 'bars' ? (
        points.map(([at, place]) =>
          place === null ? null : (
            <rect key={at} x={at - 2.5} y={place} width="5" height={HEIGHT - EDGE - place + 1} />
          ),
        )
      ) : (
        <path className="line" d={linePath(points)} />
      )}
      {kind === 'line' && last && <circle cx={last[0]} cy={last[1] ?? 0} r="2.4" />}
    </svg>
  )
})
