/** Lengths of time that rollups are kept for; each holds a whole number of the one before, in UTC. */
export const SPANS = ['minute', 'hour', 'day'] as const
export type Span = (typeof SPANS)[number]

export const SPAN_MS: Readonly<Record<Span, number>> = {
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
}

/** Start of the minute, hour or day that a moment is in. */
export function spanStart(span: Span, epochMs: number): number {
  return Math.floor(epochMs / SPAN_MS[span]) * SPAN_MS[span]
}

/** From a moment up to another, which is not in it; either may be infinite. */
export interface Stretch {
  readonly fromMs: number
  readonly toMs: number
}

export interface SpanStretch extends Stretch {
  readonly span: Span
}

/** How a stretch of time is put together. */
export interface Cover {
  /** Whole minutes, hours and days, to be read from rollups. */
  readonly spans: readonly SpanStretch[]
  /** Parts of a minute at the ends, to be read from the log; two at the most. */
  readonly rests: readonly Stretch[]
}

/**
 * Covers a stretch of time by the fewest whole days, hours and minutes, and parts of a minute at its
 * ends; nothing is covered twice.
 */
export function coverOf(stretch: Stretch): Cover {
  const spans: SpanStretch[] = []
  const rests: Stretch[] = []
  const cover = ({ fromMs, toMs }: Stretch, level: number) => {
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
  cover(stretch, SPANS.length - 1)
  return { spans, rests }
}
