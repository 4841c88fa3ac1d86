import { setTimeout as delay } from 'node:timers/promises'
import { DeploymentStats } from '../../../schemas/stats.ts'
import { percentile } from '../load/percentile.ts'
import type { TestService } from '../start/service.ts'
import { expectSuccess } from './answers.ts'

export interface StatsAnswer {
  readonly summary: {
    readonly total_requests: number
    readonly avg_score: number | null
    readonly avg_latency_ms: number | null
    readonly p95_latency_ms: number | null
    readonly min_score: number | null
    readonly max_score: number | null
    readonly avg_pd: number | null
    readonly last_request_at: string | null
    readonly score_buckets: Readonly<Record<string, number>>
  }
  readonly recent_scores: readonly {
    readonly request_id: string
    readonly id: string | number | null
    readonly score: number
    readonly risk_grade: string | null
    readonly pd: number
    readonly latency_ms: number
    readonly scored_at: string
  }[]
}

/**
 * Far more than the lag that callers are promised: a test that only needs the stats waits for them.
 */
const WAIT_MS_MAX = 60_000
const POLL_MS = 50

export async function readStats(
  service: TestService,
  token: string,
  slug: string,
  query: Readonly<Record<string, string | number>> = {},
): Promise<StatsAnswer> {
  const text = new URLSearchParams(
    Object.entries(query).map(([name, value]): [string, string] => [name, `${value}`]),
  )
  const url = `/v1/deployments/${slug}/stats?${text}`
  return expectSuccess(await service.call({ method: 'GET', url, token }), DeploymentStats)
}

/** The stats of all time as soon as they count this many results. */
export async function statsWith(
  service: TestService,
  token: string,
  slug: string,
  total: number,
): Promise<StatsAnswer> {
  const endMs = performance.now() + WAIT_MS_MAX
  for (;;) {
    const stats = await readStats(service, token, slug, { recent: 100 })
    if (stats.summary.total_requests >= total) return stats
    if (performance.now() > endMs) {
      throw new Error(`${stats.summary.total_requests} of ${total} results show`)
    }
    await delay(POLL_MS)
  }
}

/** What a summary must say of results that were served, recomputed from each of them. */
export function naiveSummary(
  results: readonly { score: number; pd: number; latencyMs: number; scoredAt: string }[],
): StatsAnswer['summary'] {
  const average = (values: number[]) =>
    values.reduce((sum, value) => sum + value, 0) / values.length
  const scores = results.map(({ score }) => score)
  const latencies = results.map(({ latencyMs }) => latencyMs)
  const buckets: Record<string, number> = {}
  for (const score of scores.toSorted((a, b) => a - b)) {
    const low = 100 * Math.floor(score / 100)
    const label = `${low}-${low + 100}`
    buckets[label] = (buckets[label] ?? 0) + 1
  }
  return {
    total_requests: results.length,
    avg_score: average(scores),
    avg_latency_ms: average(latencies),
    p95_latency_ms: percentile(latencies, 0.95),
    min_score: Math.min(...scores),
    max_score: Math.max(...scores),
    avg_pd: average(results.map(({ pd }) => pd)),
    last_request_at:
      results
        .map(({ scoredAt }) => scoredAt)
        .toSorted()
        .at(-1) ?? null,
    score_buckets: buckets,
  }
}
