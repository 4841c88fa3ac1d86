/** Lengths of time of rollups, in UTC. Each is a multiple of the one before. */
export const SPANS = ['minute', 'hour', 'day'] as const
export type Span = (typeof SPANS)[number]

export const SPAN_MS: Readonly<Record<Span, number>> = {
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
}

/** Start of the minute, hour or day that contains a moment. */
export function spanStart(span: Span, epochMs: number): number {
  return Math.floor(epochMs / SPAN_MS[span]) * SPAN_MS[span]
}

/** Includes `fromMs` and excludes `toMs`; either may be infinite. */
export interface TimeRange {
  readonly fromMs: number
  readonly toMs: number
}

export interface SpanRange extends TimeRange {
  readonly span: Span
}

/** The parts of a time range. */
interface Cover {
  /** Whole minutes, hours and days, read from rollups. */
  readonly spans: readonly SpanRange[]
  /** Parts of a minute at the ends, read from the log; at most two. */
  readonly rests: readonly TimeRange[]
}

/**
 * Splits a time range into the fewest whole days, hours and minutes, and parts of a minute at its
 * ends. The parts do not overlap.
 */
export function coverRange(range: TimeRange): Cover {
  const spans: SpanRange[] = []
  const rests: TimeRange[] = []
  const cover = ({ fromMs, toMs }: TimeRange, level: number) => {
    const span = SPANS[level]
    if (!(fromMs < toMs)) return
    if (span === undefined) {
      rests.push({ fromMs, toMs })
      return
    }
    const whole = {
      fromMs: spanStart(span, fromMs + SPAN_MS[span] - 1),
      toMs: spanStart(span, toMs),
    }
    if (whole.fromMs < whole.toMs) {
      cover({ fromMs, toMs: whole.fromMs }, level - 1)
      spans.push({ span, ...whole })
      cover({ fromMs: whole.toMs, toMs }, level - 1)
    } else cover({ fromMs, toMs }, level - 1)
  }
  cover(range, SPANS.length - 1)
  return { spans, rests }
}
