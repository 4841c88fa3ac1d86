/** A linear scale from values to pixels, with ends at round values. */
export interface Scale {
  readonly low: number
  readonly high: number
  readonly ticks: readonly number[]
  place(value: number): number
}

/** Digits that floating-point sums have right. */
const DIGITS = 12
const ROUND_STEPS = [1, 2, 2.5, 5, 10]

/** The next round step that is not smaller. */
function roundStep(step: number): number {
  const power = 10 ** Math.floor(Math.log10(step))
  return (ROUND_STEPS.find((round) => round * power >= step * 0.999) ?? 10) * power
}

/**
 * @param values what must be inside; without any, the scale is from 0 to 1
 * @param pixels from where the lowest value is to where the highest is
 * @param count of ticks, about
 */
export function linearScale(
  values: readonly number[],
  pixels: readonly [number, number],
  count = 4,
): Scale {
  const known = values.filter((value) => Number.isFinite(value))
  const min = known.length === 0 ? 0 : Math.min(...known)
  const max = known.length === 0 ? 1 : Math.max(...known)
  const span = max - min || Math.abs(max) || 1
  const step = roundStep(span / count)
  const low = Math.floor(min / step + 1e-9) * step
  const high = Math.max(Math.ceil(max / step - 1e-9) * step, low + step)
  const ticks = Array.from({ length: Math.round((high - low) / step) + 1 }, (_, at) =>
    Number((low + at * step).toPrecision(DIGITS)),
  )
  const [start, end] = pixels
  const place = (value: number) => start + ((value - low) / (high - low)) * (end - start)
  return { low, high, ticks, place }
}

/** A path through points; it is interrupted where there is none. */
export function linePath(points: readonly (readonly [x: number, y: number | null])[]): string {
  let isDown = false
  return points
    .map(([x, y]) => {
      if (y === null) {
        isDown = false
        return ''
      }
      const command = isDown ? 'L' : 'M'
      isDown = true
      return `${command}${x.toFixed(1)} ${y.toFixed(1)}`
    })
    .join('')
}

/** A closed path between two lines; points without both are left out. */
export function bandPath(
  points: readonly (readonly [x: number, low: number | null, high: number | null])[],
): string {
  const both = points.filter(([, low, high]) => low !== null && high !== null)
  if (both.length < 2) return ''
  const upper = both.map(([x, , high]) => [x, high] as const)
  const lower = both.map(([x, low]) => [x, low] as const).toReversed()
  return `${linePath(upper)}${linePath(lower).replace('M', 'L')}Z`
}
