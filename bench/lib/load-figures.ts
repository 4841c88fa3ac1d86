import type { RecordableHistogram } from 'node:perf_hooks'
import type { LoadStep } from './load-options.ts'
import type { Sent } from './open-loop.ts'

/** What one step gave. */
export interface LoadFigures {
  /** Requests a second that were asked for; null in a closed loop. */
  readonly rate: number | null
  readonly connections: number | null
  readonly sent: number
  readonly sentPerSecond: number
  /** Answers with 200. */
  readonly answered: number
  /** Other answers, and requests without one. */
  readonly failed: number
  /** 0..1, of those that were answered or failed. */
  readonly failedShare: number
  /** By status, refusals with their code, failures without an answer by their own. */
  readonly answers: Readonly<Record<string, number>>
  /** From when a request was due to the end of its answer, if that was 200; null without one. */
  readonly latencyUs: Percentiles | null
  /** How late the load tester itself sent what was due; null in a closed loop. */
  readonly lateUs: Percentiles | null
  /** Answers with 200 up to each bound, and above the bound before. */
  readonly histogram: readonly Bar[]
}

export interface Percentiles {
  readonly p50: number
  readonly p75: number
  readonly p90: number
  readonly p95: number
  readonly p99: number
  readonly 'p99.9': number
  readonly 'p99.99': number
  readonly max: number
  readonly mean: number
}

export interface Bar {
  readonly upToUs: number
  readonly count: number
}

export interface Thresholds {
  readonly maxP99Ms: number | null
  /** 0..1 */
  readonly maxFailedShare: number | null
}

export function makeFigures(step: LoadStep, seen: Sent): LoadFigures {
  const { sent, firstSentMs, lastSentMs, answers, latencyUs, lateUs } = seen
  const { 200: answered = 0 } = answers
  const ended = Object.values(answers).reduce((total, count) => total + count, 0)
  const tookMs = (lastSentMs ?? 0) - (firstSentMs ?? 0)
  return {
    rate: 'rate' in step ? step.rate : null,
    connections: 'connections' in step ? step.connections : null,
    sent,
    sentPerSecond: tookMs === 0 ? 0 : (1_000 * (sent - 1)) / tookMs,
    answered,
    failed: ended - answered,
    failedShare: ended === 0 ? 0 : (ended - answered) / ended,
    answers,
    latencyUs: readPercentiles(latencyUs),
    lateUs: readPercentiles(lateUs),
    histogram: makeBars(latencyUs),
  }
}

/** Microseconds, each to a thousandth of itself; null of nothing. */
export function readPercentiles(histogram: RecordableHistogram): Percentiles | null {
  if (histogram.count === 0) return null
  const at = (percent: number) => Math.min(histogram.percentile(percent), histogram.max)
  return {
    p50: at(50),
    p75: at(75),
    p90: at(90),
    p95: at(95),
    p99: at(99),
    'p99.9': at(99.9),
    'p99.99': at(99.99),
    max: histogram.max,
    mean: Math.round(histogram.mean),
  }
}

const STEPS = [1, 2, 5]

/** The bounds are 1, 2, 5, 10 and so on, from the least value to the greatest. */
export function makeBars(histogram: RecordableHistogram): Bar[] {
  const bars: Bar[] = []
  let counted = 0
  for (let decade = 1; counted < histogram.count; decade *= 10) {
    for (const upToUs of STEPS.map((step) => step * decade)) {
      const count = countUpTo(histogram, upToUs) - counted
      counted += count
      if (count > 0 || (bars.length > 0 && counted < histogram.count)) bars.push({ upToUs, count })
    }
  }
  return bars
}

/** Finds the greatest number of values of which the last is not above the bound. */
function countUpTo(histogram: RecordableHistogram, bound: number): number {
  const { count, max } = histogram
  if (max <= bound) return count
  let [least, most] = [0, count - 1]
  while (least < most) {
    const middle = Math.ceil((least + most) / 2)
    if (histogram.percentile((100 * middle) / count) <= bound) least = middle
    else most = middle - 1
  }
  return least
}

/** Names what is beyond a threshold, a sentence each. No answer at all is beyond any. */
export function findFaults(figures: LoadFigures, thresholds: Thresholds): string[] {
  const { maxP99Ms, maxFailedShare } = thresholds
  const { latencyUs, failedShare } = figures
  const name = nameStep(figures)
  if (latencyUs === null) return [`${name}: no request was answered with 200`]
  const faults: string[] = []
  if (maxP99Ms !== null && latencyUs.p99 > 1_000 * maxP99Ms) {
    faults.push(`${name}: p99 is ${latencyUs.p99 / 1_000} ms, at most ${maxP99Ms} ms are allowed`)
  }
  if (maxFailedShare !== null && failedShare > maxFailedShare) {
    const percent = (share: number) => `${Number((100 * share).toPrecision(3))}%`
    faults.push(`${name}: ${percent(failedShare)} failed, at most ${percent(maxFailedShare)} may`)
  }
  return faults
}

export function nameStep({ rate, connections }: LoadFigures): string {
  return rate === null ? `${connections} connections` : `${rate}/s`
}
