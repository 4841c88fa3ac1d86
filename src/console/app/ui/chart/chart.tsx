import { useElementSize } from '@mantine/hooks'
import {
  type CSSProperties,
  type KeyboardEvent,
  type PointerEvent,
  type ReactNode,
  useId,
  useState,
} from 'react'
import { whole } from '../figures.ts'
import { PlainTable } from '../table.tsx'
import { bandPath, linearScale, linePath, type Scale } from './scale.ts'

type Values = readonly (number | null)[]

/** One series of a chart, with a value for each place on the horizontal axis. */
export interface Series {
  readonly name: string
  readonly values: Values
  readonly kind?: 'line' | 'bars' | 'dashed'
  /** Bounds of a band around the line, such as an interval. */
  readonly low?: Values
  readonly high?: Values
  /** Which values rest on too few applicants for a verdict; their points are hollow. */
  readonly isHollow?: readonly boolean[]
  /** Number of its colour, from 1; by default its place. */
  readonly tone?: number
}

interface ChartProps {
  /** Its subject; the heading of its table. */
  readonly title: string
  /** Places on the horizontal axis: moments, scores or other numbers, in order. */
  readonly at: readonly number[]
  readonly atName: string
  readonly formatAt: (at: number) => string
  readonly series: readonly Series[]
  readonly format: (value: number | null) => string
  /** Horizontal lines, such as where a shift begins. */
  readonly levels?: readonly { readonly at: number; readonly name: string }[]
  /** Vertical lines, such as a change or the present cut-off. */
  readonly marks?: readonly { readonly at: number; readonly name: string }[]
  /** A value that the vertical axis shows in any case, such as 0. */
  readonly from?: number
  readonly height?: number
  /** The crosshair that charts side by side share; without it, the chart has its own. */
  readonly crosshair?: readonly [place: number | null, set: (place: number | null) => void]
  readonly note?: ReactNode
}

type Axis = 'at' | 'atName' | 'formatAt' | 'height' | 'marks'

/** Charts side by side over one axis, under one crosshair. */
export function Charts(
  props: Pick<ChartProps, Axis> & { charts: readonly Omit<ChartProps, Axis>[] },
) {
  const { charts, ...axis } = props
  const crosshair = useState<number | null>(null)
  return (
    <div className="columns">
      {charts.map((one, place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: charts never change places
        <Chart key={place} crosshair={crosshair} {...axis} {...one} />
      ))}
    </div>
  )
}

export function countChart(values: Values): Omit<ChartProps, Axis> {
  const series = [{ name: 'Applicants', values, kind: 'bars' as const }]
  return { title: 'Applicants', series, format: whole, from: 0 }
}

const LEFT = 56
const RIGHT = 12
const TOP = 10
const BOTTOM = 24
const WIDTH_MIN = 260
const TICK_WIDTH = 78
const MARK_ROW = 12
const MARK_ROWS = 4

/**
 * A chart of series over one axis: units, bands, reference lines, a crosshair for pointer and
 * arrow keys, and a table of all that it shows.
 */
export function Chart(props: ChartProps) {
  const { title, at, series, levels = [], marks = [], from, format, formatAt } = props
  // Names of marks stand above the plot, where no line strikes them through.
  const rows = Math.min(marks.length, MARK_ROWS)
  const top = TOP + MARK_ROW * rows
  const height = (props.height ?? 190) + MARK_ROW * rows
  const { ref, width: measured } = useElementSize<HTMLDivElement>()
  const width = Math.max(measured, WIDTH_MIN)
  const own = useState<number | null>(null)
  const [place, setPlace] = props.crosshair ?? own
  const id = useId()
  const all = series.flatMap(({ values, low = [], high = [] }) => [...values, ...low, ...high])
  const known = all.filter((value) => value !== null)
  const base = [...levels.map((level) => level.at), ...(from === undefined ? [] : [from])]
  const y = linearScale([...known, ...base], [height - BOTTOM, top])
  const x = horizontal(at, width)
  const plot = { at, x, y, width, height }
  const nearest = place === null ? null : nearestTo(at, place)
  const point = ({ clientX, currentTarget }: PointerEvent<SVGSVGElement>) => {
    const found = nearestTo(at.map(x), clientX - currentTarget.getBoundingClientRect().left)
    setPlace(at[found] ?? null)
  }
  const step = (event: KeyboardEvent) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key]
    if (event.key === 'Escape') setPlace(null)
    if (by === undefined) return
    event.preventDefault()
    const next = nearest === null ? (by > 0 ? 0 : at.length - 1) : nearest + by
    setPlace(at[Math.min(Math.max(next, 0), at.length - 1)] ?? null)
  }
  const shownAt = nearest === null ? null : (at[nearest] ?? null)
  return (
    <figure className="chart" aria-labelledby={id}>
      <figcaption id={id}>{title}</figcaption>
      <Legend series={series} at={nearest} format={format}>
        {shownAt === null ? null : formatAt(shownAt)}
      </Legend>
      <div ref={ref}>
        <svg
          viewBox={`0 0 ${width} ${height}`}
          width={width}
          height={height}
          role="img"
          aria-label={`${title}. Arrow keys read its values; the table below has all of them.`}
          // biome-ignore lint/a11y/noNoninteractiveTabindex: arrow keys move the crosshair
          tabIndex={0}
          onPointerMove={point}
          onPointerLeave={() => setPlace(null)}
          onKeyDown={step}
          onBlur={() => setPlace(null)}
        >
          <Axes {...props} plot={plot} />
          {series.map((one, index) => (
            <Drawn key={one.name} series={one} index={index} plot={plot} />
          ))}
          {levels.map(({ at: level, name }) => (
            <g key={name} className="level">
              <path d={`M${LEFT} ${y.place(level)}H${width - RIGHT}`} />
              <text x={width - RIGHT} y={y.place(level) - 4} textAnchor="end">
                {name}
              </text>
            </g>
          ))}
          {marks.map((mark, index) => (
            <g key={`${mark.at} ${mark.name}`} className="mark">
              <path
                d={`M${x(mark.at)} ${TOP - 4 + MARK_ROW * (index % MARK_ROWS)}V${height - BOTTOM}`}
              />
              <text x={x(mark.at) + 4} y={TOP + 5 + MARK_ROW * (index % MARK_ROWS)}>
                {mark.name}
              </text>
            </g>
          ))}
          {shownAt !== null && (
            <path className="crosshair" d={`M${x(shownAt)} ${top}V${height - BOTTOM}`} />
          )}
        </svg>
      </div>
      {known.length === 0 && <p className="small muted">There are no values yet.</p>}
      {props.note && <p className="small muted">{props.note}</p>}
      {series.some(({ isHollow = [] }) => isHollow.includes(true)) && (
        <p className="small muted">A hollow point has too few applicants for a verdict.</p>
      )}
      <ChartTable {...props} />
    </figure>
  )
}

/** Values are spread between the axes; one alone is in the middle. */
function horizontal(at: readonly number[], width: number): (value: number) => number {
  const first = at[0] ?? 0
  const span = (at.at(-1) ?? 0) - first
  const inner = width - LEFT - RIGHT
  const edge = Math.min(16, inner / 8)
  if (span === 0) return () => LEFT + inner / 2
  return (value) => LEFT + edge + ((value - first) / span) * (inner - 2 * edge)
}

function nearestTo(places: readonly number[], sought: number): number {
  let best = 0
  for (const [index, place] of places.entries()) {
    if (Math.abs(place - sought) < Math.abs((places[best] ?? 0) - sought)) best = index
  }
  return best
}

/** Places of values in a chart, in pixels. */
interface Plot {
  readonly at: readonly number[]
  readonly x: (at: number) => number
  readonly y: Scale
  readonly width: number
  readonly height: number
}

function Axes({ format, formatAt, plot }: ChartProps & { plot: Plot }) {
  const { at, x, y, width, height } = plot
  // The newest place has its text in any case, others where there is room.
  const shown: number[] = []
  for (const one of at.toReversed()) {
    const next = shown.at(-1)
    if (next === undefined || x(next) - x(one) >= TICK_WIDTH) shown.push(one)
  }
  return (
    <g className="axes">
      {y.ticks.map((tick) => (
        <g key={tick}>
          <path d={`M${LEFT} ${y.place(tick)}H${width - RIGHT}`} />
          <text x={LEFT - 8} y={y.place(tick) + 4} textAnchor="end">
            {format(tick)}
          </text>
        </g>
      ))}
      {shown.map((one) => (
        <text key={one} x={x(one)} y={height - 6} textAnchor="middle">
          {formatAt(one)}
        </text>
      ))}
    </g>
  )
}

function Drawn(props: { series: Series; index: number; plot: Plot }) {
  const { index, plot } = props
  const { at, x, y } = plot
  const { values, kind = 'line', low, high, tone, isHollow } = props.series
  const height = (value: number | null | undefined) =>
    value === null || value === undefined ? null : y.place(value)
  const points = at.map((one, i) => [x(one), height(values[i])] as const)
  const style = toneStyle(tone ?? index + 1)
  if (kind === 'bars') {
    const wide = Math.max(2, (0.7 * (x(at.at(-1) ?? 0) - x(at[0] ?? 0))) / Math.max(at.length, 1))
    const zero = y.place(Math.max(y.low, 0))
    return (
      <g className="bars" style={style}>
        {points.map(([left, top]) =>
          top === null ? null : (
            <rect
              key={left}
              x={left - Math.min(wide, 40) / 2}
              y={Math.min(top, zero)}
              width={Math.min(wide, 40)}
              height={Math.max(Math.abs(zero - top), 1)}
            />
          ),
        )}
      </g>
    )
  }
  const band = low && high && at.map((one, i) => [x(one), height(low[i]), height(high[i])] as const)
  const isShort = at.length <= 60
  return (
    <g className={kind} style={style}>
      {band && <path className="band" d={bandPath(band)} />}
      <path
        className="line"
        d={linePath(points.map(([left, top], i) => [left, isHollow?.[i] ? null : top]))}
      />
      {isShort &&
        points.map(
          ([left, top], i) =>
            top !== null && (
              <circle
                key={left}
                className={isHollow?.[i] ? 'hollow' : undefined}
                cx={left}
                cy={top}
                r={isHollow?.[i] ? 3.5 : 2.5}
              />
            ),
        )}
    </g>
  )
}

function toneStyle(tone: number): CSSProperties {
  return { '--tone': `var(--tone-${tone})` } as CSSProperties
}

function Legend(props: {
  series: readonly Series[]
  at: number | null
  format: ChartProps['format']
  children: ReactNode
}) {
  const { series, at, format, children } = props
  return (
    <p className="legend" aria-live="polite">
      {series.map(({ name, values, tone }, index) => (
        <span key={name} className="key" style={toneStyle(tone ?? index + 1)}>
          {name}
          {at !== null && <strong> {format(values[at] ?? null)}</strong>}
        </span>
      ))}
      {children && <span className="muted">{children}</span>}
    </p>
  )
}

function ChartTable({ title, at, atName, formatAt, series, format }: ChartProps) {
  const text = (value: number | null | undefined) => format(value ?? null)
  const cell = ({ values, low, high, isHollow }: Series, index: number) => {
    const few = isHollow?.[index] ? ' (too few applicants)' : ''
    const interval = low && high ? ` (${text(low[index])} … ${text(high[index])})` : ''
    return text(values[index]) + few + interval
  }
  return (
    <details className="chart-table">
      <summary className="small muted">As a table</summary>
      <PlainTable
        caption={`${title}: table`}
        head={[atName, ...series.map(({ name, low }) => (low ? `${name} (interval)` : name))]}
        figures={series.map((_, index) => index + 1)}
        rows={at.map((one, index) => [formatAt(one), ...series.map((each) => cell(each, index))])}
      />
    </details>
  )
}
