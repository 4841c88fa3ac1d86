/** A curve or a set of bars. */
export interface Curve {
  readonly name: string
  readonly values: readonly (number | null)[]
  /** Which values too few applicants stand behind; a line does not pass through them. */
  readonly doubtful?: readonly boolean[]
}

/** A curve as it is drawn, with the place of its colour. */
export interface DrawnCurve {
  readonly name: string
  readonly values: readonly (number | null)[]
  readonly colour: number
  /** Whether its values are hollow points without a line. */
  readonly isHollow: boolean
}

/** Divides each curve into a line and, where there are any, hollow points. */
export function drawnCurves(curves: readonly Curve[]): DrawnCurve[] {
  return curves.flatMap(({ name, values, doubtful = [] }, colour) => {
    const part = (isHollow: boolean) =>
      values.map((value, at) => ((doubtful[at] ?? false) === isHollow ? value : null))
    const line = { name, values: part(false), colour, isHollow: false }
    const points = part(true)
    if (points.every((value) => value === null)) return [line]
    return [line, { name: `${name}, not enough data`, values: points, colour, isHollow: true }]
  })
}

/**
 * The range of a chart whose last value stands for an interval: it ends where the interval does,
 * so that its bar and its marks are seen. A range that a user chose stays.
 *
 * @param last where the last interval begins
 * @param end where it ends
 */
export function rangeAlong(
  [least, most]: readonly [number, number],
  { last, end }: { readonly last: number; readonly end: number },
): [number, number] {
  return [least, most === last ? Math.max(most, end) : most]
}

const CLOCK = { hour: '2-digit', minute: '2-digit' } as const
const DAY = { day: 'numeric', month: 'short' } as const

/**
 * Texts of an axis of time by the distance between them; midnight shows the date.
 *
 * @param secs seconds since 1970
 * @param zone for example `UTC`; undefined: that of the reader
 */
export function timeTexts(
  secs: readonly number[],
  stepSec: number,
  zone: string | undefined,
): string[] {
  const format = (options: Intl.DateTimeFormatOptions) =>
    new Intl.DateTimeFormat('en-GB', { ...options, timeZone: zone })
  const [day, clock] = [format(DAY), format(CLOCK)]
  const seconds = format({ timeStyle: 'medium' })
  return secs.map((sec) => {
    const atMs = sec * 1000
    if (stepSec >= DAY_SEC || seconds.format(atMs) === MIDNIGHT) return day.format(atMs)
    return (stepSec < 60 ? seconds : clock).format(atMs)
  })
}

const DAY_SEC = 86_400
const MIDNIGHT = '00:00:00'
