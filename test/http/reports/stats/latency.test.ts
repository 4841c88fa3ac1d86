import { beforeAll, describe, expect, test } from 'vitest'
import { card, numeric } from '../../../support/cards/cards.ts'
import { readStats, statsWith } from '../../../support/expect/stats.ts'
import { backends } from '../../../support/start/databases.ts'
import { TestService } from '../../../support/start/service.ts'

const RECORDS = 200
const spec = card([numeric('income', [['(-Infinity, Infinity)', 1]])])

describe.each(backends)('on $name', (backend) => {
  const clock = { epochMs: () => nowMs, monotonicMs: () => performance.now() }
  const service = TestService.forSuite(backend, { clock })
  let owner: string
  let key: string
  /** The minute's end is ahead, so that a stretch that ends now is read from the log itself. */
  let nowMs = Date.parse('2026-03-04T10:00:20.000Z')

  beforeAll(async () => {
    owner = await service.signIn()
    key = await service.createKey(owner, { scopes: ['score', 'read'] })
  })

  const read = async (url: string) =>
    (await service.call({ method: 'GET', url, token: owner })).json()

  // With the whole time for each applicant, one batch outweighs a thousand single scores.
  test('each record of a batch counts its share of the time, in all that tells of latency', async () => {
    const slug = await service.deploy(owner, spec)
    const records = Array.from({ length: RECORDS }, (_, id) => ({ id, income: id }))
    const beganMs = performance.now()
    const url = `/v1/score/${slug}/batch`
    expect((await service.call({ url, token: key, body: { records } })).statusCode).toBe(200)
    const tookMs = performance.now() - beganMs
    const { summary, recent_scores: recent } = await statsWith(service, owner, slug, RECORDS)

    const shareMs = recent[0]?.latency_ms ?? Number.NaN
    expect(shareMs).toBeGreaterThan(0)
    expect(RECORDS * shareMs).toBeLessThanOrEqual(tookMs)
    expect(new Set(recent.map(({ latency_ms }) => latency_ms))).toEqual(new Set([shareMs]))
    const isShare = (latencyMs: number | null) =>
      expect(Math.abs((latencyMs ?? Number.NaN) / shareMs - 1)).toBeLessThan(0.01)
    isShare(summary.avg_latency_ms)
    isShare(summary.p95_latency_ms)

    const scoredAt = new Date(nowMs).toISOString()
    const ofLog = await readStats(service, owner, slug, { from: scoredAt })
    isShare(ofLog.summary.avg_latency_ms)
    isShare(ofLog.summary.p95_latency_ms)
    nowMs += 1
    const { points } = await read(`/v1/deployments/${slug}/stats/series`)
    expect(points).toHaveLength(1)
    for (const name of ['avg', 'p50', 'p95']) isShare(points[0][`${name}_latency_ms`])
    const { models } = await read(`/v1/deployments/${slug}/stats/models`)
    for (const name of ['p50', 'p95']) isShare(models[0][`${name}_latency_ms`])
  })
})
