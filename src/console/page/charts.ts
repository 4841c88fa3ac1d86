import { html } from 'htm/preact'
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import type uPlot from 'uplot'
import { type Curve, type DrawnCurve, drawnCurves, rangeAlong, timeTexts } from './chart-data.ts'
import { count, dayInUtc, number, sampleSize, when } from './format.ts'
import { type Mark, MarkList, marksWithin } from './marks.ts'
import { useTheme } from './state.ts'
import type { Histogram } from './types.ts'
import { numberHead, Table } from './ui.ts'

/** What every chart says below its title. */
export interface Basis {
  /** Unit of the values. */
  readonly unit: string
  /** Number of applicants, or of what the unit counts. */
  readonly n: number
  /** From when to when. */
  readonly period: string
  /** Whether the values stand for days, weeks or months in UTC. */
  readonly isUtc?: boolean
}

/** The unit, the number and the period of a chart. */
export function BasisLine({ basis: { unit, n, period, isUtc = false } }: { basis: Basis }) {
  return html`<p class="basis small muted">${unit} · ${sampleSize(n)} · ${period}${isUtc && ' UTC'}</p>`
}

interface ChartProps {
  readonly title: string
  readonly basis: Basis
  /** Text alternative of the chart, for screen readers. */
  readonly summary: string
  readonly curves: readonly Curve[]
  /** Seconds since 1970, or the lower ends of bins. */
  readonly along: readonly number[]
  readonly format?: (value: number | null) => string
  /** Changes to mark in a chart over time, oldest first. */
  readonly marks?: readonly Mark[]
  /** Head of the first column of the table; absent: of times or scores. */
  readonly alongName?: string
  /** Where the interval of the last value ends; absent: where it begins. */
  readonly end?: number
  /** Values at which something is to be done, as lines across the chart. */
  readonly levels?: readonly Level[]
  /** In place of the table that the chart makes of its values. */
  readonly table?: ComponentChildren
}

/** A line across a chart. */
export interface Level {
  readonly name: string
  readonly value: number
}

const HEIGHT_PX = 200

/** Curves over time. */
export function TimeChart(props: ChartProps & { shape?: 'line' | 'bars' }) {
  return html`<${Chart} ...${props} isTime=${true} shape=${props.shape ?? 'line'} />`
}

/** Curves along scores, months or other numbers. */
export function NumberChart(props: ChartProps) {
  return html`<${Chart} ...${props} isTime=${false} shape="line" />`
}

/** Bands of scores, which may differ in width; one more edge than values. */
export function BandChart({ edges, ...props }: Omit<ChartProps, 'along'> & { edges: number[] }) {
  const curves = props.curves.map(({ name, values }) => ({ name, values: [...values, 0] }))
  return html`<${Chart} ...${props} curves=${curves} along=${edges} isTime=${false} shape="steps" />`
}

/** Histograms with a common bin width, for one or several models. */
export function HistogramChart({
  histograms,
  ...named
}: Pick<ChartProps, 'title' | 'basis' | 'summary'> & {
  histograms: readonly { name: string; histogram: Histogram }[]
}) {
  const [first] = histograms
  if (first === undefined) return null
  const { low, width, counts } = first.histogram
  // One more edge gives the last bin its width.
  const along = Array.from({ length: counts.length + 1 }, (_, bin) => low + bin * width)
  const curves = histograms.map(({ name, histogram }) => ({
    name,
    values: [...histogram.counts, 0],
  }))
  return html`<${Chart} ...${named} curves=${curves} along=${along} isTime=${false} shape="steps" format=${(value: number | null) => (value === null ? '–' : count(value))} />`
}

type Shape = 'line' | 'bars' | 'steps'

function Chart(props: ChartProps & { isTime: boolean; shape: Shape }) {
  const { title, basis, summary, curves, along, isTime, shape, format = number } = props
  const [first = 0, last = 0] = [along[0], along.at(-1)]
  const { end = last } = props
  const marks = marksWithin(props.marks ?? [], first, end)
  const place = useRef<HTMLDivElement>(null)
  const theme = useTheme()
  const plot = useRef<uPlot | null>(null)
  const drawn = drawnCurves(curves)
  const data = [along, ...drawn.map(({ values }) => values)] as uPlot.AlignedData
  const latest = useRef({ data, marks, last, end })
  latest.current = { data, marks, last, end }
  const names = drawn.map(({ name }) => name).join('\n')
  const {
    levels = NO_LEVELS,
    basis: { isUtc = false },
  } = props

  useEffect(() => {
    const element = place.current
    if (element === null) return
    let isWanted = true
    let observer: ResizeObserver | null = null
    // Loads the plot library only when a plot is shown.
    const draw = ({ default: Plot }: { default: typeof uPlot }) => {
      if (!isWanted) return
      const look = { curves: drawn, isTime, isUtc, shape, format, levels, latest }
      const shown = new Plot(optionsOf(Plot, element, look), latest.current.data, element)
      plot.current = shown
      observer = new ResizeObserver(() =>
        shown.setSize({ width: element.clientWidth, height: HEIGHT_PX }),
      )
      observer.observe(element)
    }
    import('uplot').then(draw).catch(() => {
      element.textContent = 'The plot could not be drawn; the table below has its numbers.'
    })
    return () => {
      isWanted = false
      observer?.disconnect()
      plot.current?.destroy()
      plot.current = null
    }
  }, [names, theme, shape])
  useEffect(() => plot.current?.setData(latest.current.data))

  return html`<figure class="chart">
    <figcaption>${title}</figcaption>
    <${BasisLine} basis=${basis} />
    <div class="plot" role="img" aria-label=${`${title}: ${summary}`} ref=${place}></div>
    <${MarkList} marks=${marks} />
    <details>
      <summary>As a table</summary>
      ${props.table ?? html`<${ValueTable} ...${props} />`}
    </details>
  </figure>`
}

function ValueTable(props: ChartProps & { isTime: boolean; shape: Shape }) {
  const { title, curves, along, isTime, shape, format = number } = props
  const head = props.alongName ?? (isTime ? 'From' : 'From score')
  // The last edge of bins only ends the last one.
  const rows = shape === 'steps' ? along.slice(0, -1) : along
  return html`<${Table} caption=${title} head=${[head, ...curves.map(({ name }) => numberHead(name))]}>
    ${rows.map((at, row) =>
      curves.every(({ values }) => (values[row] ?? null) === null)
        ? null
        : html`<tr><th scope="row">${isTime ? timeName(at, props.basis.isUtc) : number(at)}</th>
          ${curves.map(({ values }) => html`<td class="number">${format(values[row] ?? null)}</td>`)}</tr>`,
    )}
  <//>`
}

const NO_LEVELS: readonly Level[] = []

/** A time as its readers name it: a day in UTC, or a moment on their clock. */
function timeName(sec: number, isUtc = false): string {
  return isUtc ? dayInUtc(sec * 1000) : when(new Date(sec * 1000).toISOString())
}

interface Look {
  readonly curves: readonly DrawnCurve[]
  readonly isTime: boolean
  readonly isUtc: boolean
  readonly shape: Shape
  readonly format: (value: number | null) => string
  readonly levels: readonly Level[]
  /** What may change while the plot stays. */
  readonly latest: {
    readonly current: {
      readonly marks: readonly Mark[]
      readonly last: number
      readonly end: number
    }
  }
}

function optionsOf(Plot: typeof uPlot, element: HTMLElement, look: Look): uPlot.Options {
  // A canvas can't resolve custom properties, so an element does.
  const colour = (name: string) => {
    element.style.color = `var(${name})`
    return getComputedStyle(element).color
  }
  const axis: uPlot.Axis = {
    stroke: colour('--muted'),
    font: '12px system-ui, sans-serif',
    grid: { stroke: colour('--line'), width: 1 },
    ticks: { stroke: colour('--line'), width: 1 },
  }
  const paths = {
    line: undefined,
    bars: Plot.paths.bars?.({ size: [0.8, 40], align: 1 }),
    steps: Plot.paths.stepped?.({ align: 1 }),
  }[look.shape]
  return {
    width: element.clientWidth,
    height: HEIGHT_PX,
    ...(look.isUtc && { tzDate: (sec: number) => Plot.tzDate(new Date(sec * 1000), 'Etc/UTC') }),
    scales: {
      x: {
        time: look.isTime,
        ...(look.isTime && {
          range: (_plot: uPlot, least: number, most: number) =>
            rangeAlong([least, most], look.latest.current),
        }),
      },
      y: { range: (_plot, least, most) => rangeOf(least, most, look) },
    },
    axes: [
      look.isTime
        ? {
            ...axis,
            space: 70,
            ...(look.isUtc && { incrs: DAY_STEPS_SEC }),
            values: (_plot, splits, _axis, _space, stepSec) =>
              timeTexts(splits, stepSec, look.isUtc ? 'UTC' : undefined),
          }
        : axis,
      { ...axis, size: 60, values: (_plot, splits) => splits.map((value) => look.format(value)) },
    ],
    cursor: { y: false, points: { size: 6 } },
    hooks: { draw: [levelDrawer(look, colour('--muted')), markDrawer(look, colour('--text'))] },
    series: [
      {
        label: look.isTime ? 'Time' : 'From',
        value: (_plot, value) =>
          value === null ? '–' : look.isTime ? timeName(value, look.isUtc) : number(value),
      },
      ...look.curves.map(({ name, colour: place, isHollow }) => {
        const stroke = colour(`--series-${place % SERIES_COLOURS}`)
        if (isHollow) {
          const points = { show: true, size: 8, width: 2, stroke, fill: colour('--panel') }
          const value = (_plot: uPlot, found: number | null) => look.format(found)
          return { label: name, stroke, width: 2, paths: () => null, points, value }
        }
        return {
          label: name,
          stroke,
          width: 2,
          ...(look.shape !== 'line' && {
            fill: stroke.replace('rgb(', 'rgba(').replace(')', ', 0.3)'),
          }),
          ...(paths && { paths }),
          points:
            look.shape === 'line'
              ? { show: true, size: 5, fill: stroke, filter: lonePoints }
              : { show: false },
          value: (_plot: uPlot, value: number | null) => look.format(value),
        } as uPlot.Series
      }),
    ],
  }
}

const DAY_SEC = 86_400
/** Distances between the labels of days: without a time of day. */
const DAY_STEPS_SEC = [1, 2, 3, 4, 5, 7, 10, 15, 30, 60, 90, 180, 365, 730].map(
  (days) => days * DAY_SEC,
)

interface Dashes {
  readonly colour: string
  /** Lengths of a dash and of a gap. */
  readonly dashPx: readonly [number, number]
  readonly textBaseline: CanvasTextBaseline
}

/** Draws dashed lines and their names, and leaves the canvas as it was. */
function dashedDrawer(
  { colour, dashPx, textBaseline }: Dashes,
  draw: (plot: uPlot, ratio: number) => void,
): (plot: uPlot) => void {
  return (plot) => {
    const { ctx: context } = plot
    const ratio = devicePixelRatio
    context.save()
    context.strokeStyle = colour
    context.fillStyle = colour
    context.lineWidth = ratio
    context.setLineDash(dashPx.map((length) => length * ratio))
    context.font = `${11 * ratio}px system-ui, sans-serif`
    context.textBaseline = textBaseline
    draw(plot, ratio)
    context.restore()
  }
}

/** Draws a line across at each level, with its name. */
function levelDrawer({ levels }: Look, colour: string): (plot: uPlot) => void {
  return dashedDrawer({ colour, dashPx: [2, 3], textBaseline: 'bottom' }, (plot, ratio) => {
    const { ctx: context, bbox } = plot
    for (const [place, { name, value }] of levels.entries()) {
      const top = plot.valToPos(value, 'y', true)
      if (top < bbox.top || top > bbox.top + bbox.height) continue
      context.beginPath()
      context.moveTo(bbox.left, top)
      context.lineTo(bbox.left + bbox.width, top)
      context.stroke()
      // Names at both ends, because levels can lie close together.
      const isLeft = place % 2 === 0
      context.textAlign = isLeft ? 'left' : 'right'
      const left = isLeft ? bbox.left + 3 * ratio : bbox.left + bbox.width - 3 * ratio
      context.fillText(name, left, top - 2 * ratio)
    }
  })
}

/** Draws a numbered line at the time of each mark. */
function markDrawer({ latest }: Look, colour: string): (plot: uPlot) => void {
  return dashedDrawer({ colour, dashPx: [4, 4], textBaseline: 'top' }, (plot, ratio) => {
    const { ctx: context, bbox } = plot
    for (const [index, { atSec }] of latest.current.marks.entries()) {
      const left = plot.valToPos(atSec, 'x', true)
      if (left < bbox.left || left > bbox.left + bbox.width) continue
      context.beginPath()
      context.moveTo(left, bbox.top)
      context.lineTo(left, bbox.top + bbox.height)
      context.stroke()
      context.fillText(String(index + 1), left + 3 * ratio, bbox.top)
    }
  })
}

/** Isolated points between gaps: no line passes through them. */
function lonePoints(plot: uPlot, curve: number): number[] {
  const values = plot.data[curve] ?? []
  const isGap = (at: number) => (values[at] ?? null) === null
  return [...values.keys()].filter((at) => !isGap(at) && isGap(at - 1) && isGap(at + 1))
}

/** Number of colours in the style sheet. */
const SERIES_COLOURS = 6

/** Bars start at 0; a curve gets a margin, and shows its levels. */
function rangeOf(
  least: number | null,
  most: number | null,
  { shape, levels }: Pick<Look, 'shape' | 'levels'>,
): [number, number] {
  const values = levels.map(({ value }) => value)
  const [low, high] = [Math.min(least ?? 0, ...values), Math.max(most ?? 1, ...values)]
  if (shape !== 'line') return [0, high > 0 ? high * 1.05 : 1]
  const air = (high - low) * 0.1 || Math.abs(high) * 0.1 || 1
  return [low >= 0 ? Math.max(0, low - air) : low - air, high + air]
}
