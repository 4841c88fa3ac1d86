import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { card, numeric } from '../../../support/cards/cards.ts'
import { OtlpReceiver } from '../../../support/servers/otlp-receiver.ts'
import { firstBackend } from '../../../support/start/databases.ts'
import { TestService } from '../../../support/start/service.ts'

const CALLER_SPAN = '00f067aa0ba902b7'
/** A query makes a request unusual, so that Fastify takes it. */
const WAYS = [
  ['the fast path', ''],
  ['Fastify', '?lang=en'],
] as const
const WAIT_MS_MAX = 60_000
const SENT = 'scoreline_trace_spans_total{outcome="sent"}'

let traces = 0

/** A trace of a caller's own. */
function newTrace(): string {
  traces++
  return traces.toString(16).padStart(32, '0')
}

const header = (traceId: string, flags = '01') => ({
  traceparent: `00-${traceId}-${CALLER_SPAN}-${flags}`,
})

interface Traced {
  readonly service: TestService
  readonly receiver: OtlpReceiver
  readonly owner: string
  readonly slug: string
  readonly key: string
}

async function startTraced(env: Readonly<Record<string, string>>): Promise<Traced> {
  const receiver = await OtlpReceiver.start()
  const service = await TestService.start(firstBackend, {
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, ...env },
  })
  const owner = await service.signIn()
  const slug = await service.deploy(owner, card([numeric('income', [['(0, 10000]', 10]])]))
  const key = await service.createKey(owner)
  const traced = { service, receiver, owner, slug, key }
  await score(traced, {})
  return traced
}

async function end({ service, receiver }: Traced): Promise<void> {
  await service.close()
  await receiver.close()
}

function score(
  { service, slug, key }: Traced,
  { headers = {}, query = '', body = { income: 1_200 } as object, path = `/v1/score/${slug}` },
) {
  return service.call({ url: `${path}${query}`, token: key, body, headers })
}

async function metric({ service }: Traced, name: string): Promise<number> {
  const { body } = await service.inject({ method: 'GET', url: '/metrics' })
  const line = body.split('\n').find((one) => one.startsWith(`${name} `))
  return Number(line?.split(' ')[1] ?? Number.NaN)
}

// At once, because spans gather for a second before they are sent.
describe.concurrent('requests that their callers sampled', () => {
  let traced: Traced

  beforeAll(async () => {
    traced = await startTraced({})
  })
  afterAll(() => end(traced))

  async function makeSpans(traceId: string) {
    const { receiver } = traced
    await vi.waitFor(() => expect(receiver.trace(traceId).length).toBeGreaterThan(0), WAIT_MS_MAX)
    expect(receiver.faults).toEqual([])
    return receiver.trace(traceId)
  }

  test.each(WAYS)('become a span with a step for each part, by %s', async (_way, query) => {
    const { slug } = traced
    const traceId = newTrace()
    const before = BigInt(Date.now()) * 1_000_000n
    const answer = await score(traced, { headers: header(traceId), query })
    expect(answer.statusCode).toBe(200)
    const [server, ...steps] = await makeSpans(traceId)
    expect(server).toMatchObject({
      parentSpanId: CALLER_SPAN,
      name: 'POST /v1/score/:slug',
      kind: 'server',
      isError: false,
      attributes: {
        'http.request.method': 'POST',
        'http.route': '/v1/score/:slug',
        'http.response.status_code': 200,
        'scoreline.operation': 'scoring.score',
        'scoreline.request_id': answer.json().request_id,
        'scoreline.deployment_id': slug,
      },
      resource: { 'service.name': 'scoreline' },
    })
    expect(steps.map(({ name, kind }) => [name, kind])).toEqual([
      ['quota', 'internal'],
      ['engine', 'internal'],
      ['log', 'internal'],
    ])
    const toleranceNs = 50_000_000n
    expect(server?.beganAtNs).toBeGreaterThan(before - toleranceNs)
    let sinceNs = server?.beganAtNs ?? 0n
    for (const step of steps) {
      expect(step.parentSpanId).toBe(server?.spanId)
      expect(step.beganAtNs).toBeGreaterThanOrEqual(sinceNs)
      expect(step.endedAtNs).toBeGreaterThanOrEqual(step.beganAtNs)
      sinceNs = step.endedAtNs
    }
    expect(server?.endedAtNs).toBeGreaterThanOrEqual(sinceNs)
  })

  test('are batches, other ways to a score and management, too', async () => {
    const { service, slug, owner } = traced
    const applicant = { income: 1 }
    const calls = {
      'POST /v1/score/:slug/batch': () => {
        const traceId = newTrace()
        const path = `/v1/score/${slug}/batch`
        const body = { records: [applicant] }
        return { traceId, done: score(traced, { path, body, headers: header(traceId) }) }
      },
      'POST /api/v1/score': () => {
        const traceId = newTrace()
        const body = { scorecard_id: slug, applicant }
        return {
          traceId,
          done: score(traced, { path: '/api/v1/score', body, headers: header(traceId) }),
        }
      },
      'GET /v1/deployments/:slug': () => {
        const traceId = newTrace()
        const url = `/v1/deployments/${slug}`
        const call = { method: 'GET', url, token: owner, headers: header(traceId) } as const
        return { traceId, done: service.call(call) }
      },
    }
    for (const [name, call] of Object.entries(calls)) {
      const { traceId, done } = call()
      expect((await done).statusCode).toBe(200)
      const [server] = await makeSpans(traceId)
      expect(server?.name).toBe(name)
      expect(server?.attributes['scoreline.deployment_id']).toBe(slug)
    }
  })

  test.each(WAYS)('show which error they ended with, by %s', async (_way, query) => {
    const unknown = newTrace()
    const path = '/v1/score/dep_none'
    const missing = await score(traced, { headers: header(unknown), query, path })
    expect(missing.statusCode).toBe(404)
    const [server] = await makeSpans(unknown)
    expect(server?.attributes).toMatchObject({
      'http.response.status_code': 404,
      'error.type': 'deployment_not_found',
    })
    // What a caller makes up is not an id, and a caller's mistake not the service's.
    expect(server?.attributes).not.toHaveProperty('scoreline.deployment_id')
    expect(server?.isError).toBe(false)

    const invalid = newTrace()
    const body = { income: [1] }
    expect((await score(traced, { headers: header(invalid), query, body })).statusCode).toBe(400)
    const [refused, ...steps] = await makeSpans(invalid)
    expect(refused?.attributes['error.type']).toBe('invalid_request')
    // A request that was counted once was measured once.
    expect(steps.filter(({ name }) => name === 'quota')).toHaveLength(1)
  })

  // Whoever pays for spans decides about them, and that is the caller.
  test.each(WAYS)('are the only ones that become spans, by %s', async (_way, query) => {
    const { receiver } = traced
    const unsampled = newTrace()
    const doubled = newTrace()
    const invalid = newTrace()
    const last = newTrace()
    await score(traced, { headers: header(unsampled, '00'), query })
    await score(traced, { query })
    const twice = `${header(doubled).traceparent}, ${header(doubled).traceparent}`
    await score(traced, { headers: { traceparent: twice }, query })
    const broken = header(invalid).traceparent.replace('00-', 'ff-')
    await score(traced, { headers: { traceparent: broken }, query })
    // Anybody can send this.
    const stranger = newTrace()
    const key = `sk_live_${'x'.repeat(40)}`
    const refused = await score({ ...traced, key }, { headers: header(stranger), query })
    expect(refused.statusCode).toBe(401)
    await score(traced, { headers: header(last), query })
    await makeSpans(last)
    for (const traceId of [unsampled, doubled, invalid, stranger])
      expect(receiver.trace(traceId)).toEqual([])
  })

  test('hold no value of an applicant, no key and no reference', async () => {
    const { receiver, key } = traced
    const traceId = newTrace()
    const headers = { ...header(traceId), 'x-reference-id': 'A-7319', 'x-routing-key': 'R-7319' }
    await score(traced, { headers, body: { income: 7319.25 } })
    await makeSpans(traceId)
    const texts = receiver.spans.map(({ attributes, name }) => JSON.stringify({ attributes, name }))
    for (const text of texts) expect(text).not.toMatch(/7319|income/)
    expect(texts.join('\n')).not.toContain(key)
  })

  test('are counted when they are sent', async () => {
    const before = await metric(traced, SENT)
    await score(traced, { headers: header(newTrace()) })
    await vi.waitFor(async () => {
      expect(await metric(traced, SENT)).toBeGreaterThanOrEqual(before + 4)
    }, WAIT_MS_MAX)
  })
})

// The collector is not part of a decision on credit.
test('a collector that fails, is silent or is away costs no score', async () => {
  const traced = await startTraced({})
  const { receiver } = traced
  const states = [
    () => (receiver.behaviour = 500),
    () => (receiver.behaviour = 'silent'),
    () => receiver.close(),
  ]
  const requests = 250
  try {
    for (const begin of states) {
      await begin()
      for (let request = 0; request < requests; request++) {
        const { statusCode } = await score(traced, { headers: header(newTrace()) })
        expect(statusCode).toBe(200)
      }
    }
    expect(await metric(traced, SENT)).toBe(0)
    // 2,048 wait, and 512 at most are on their way.
    const dropped = await metric(traced, 'scoreline_trace_spans_total{outcome="dropped"}')
    expect(dropped).toBeGreaterThanOrEqual(4 * states.length * requests - 2_048 - 512)
  } finally {
    await end(traced)
  }
})

test('parentbased_always_on also traces requests without a trace, but for probes', async () => {
  const traced = await startTraced({ OTEL_TRACES_SAMPLER: 'parentbased_always_on' })
  const { receiver, service } = traced
  try {
    const unsampled = newTrace()
    const answer = await score(traced, {})
    await score(traced, { headers: header(unsampled, '00') })
    await service.inject({ method: 'GET', url: '/livez' })
    const last = newTrace()
    await score(traced, { headers: header(last) })
    await vi.waitFor(() => expect(receiver.trace(last).length).toBeGreaterThan(0), WAIT_MS_MAX)
    const isOfAnswer = (attributes: object) =>
      Object.values(attributes).includes(answer.json().request_id)
    const root = receiver.spans.find(({ attributes }) => isOfAnswer(attributes))
    expect(root?.parentSpanId).toBeNull()
    expect(receiver.trace(root?.traceId ?? '')).toHaveLength(4)
    expect(receiver.trace(unsampled)).toEqual([])
    expect(receiver.spans.filter(({ name }) => name.includes('livez'))).toEqual([])
  } finally {
    await end(traced)
  }
})

// Both ways must decide by chance once, not each.
test('parentbased_traceidratio traces its share of the requests without a trace', async () => {
  const traced = await startTraced({
    OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
    OTEL_TRACES_SAMPLER_ARG: '0.25',
  })
  const { service, slug, key } = traced
  const requests = 600
  const path = '/v1/score/dep_none'
  try {
    for (let request = 0; request < requests; request++) {
      // The fast path gives it up, and Fastify answers.
      await score(traced, { path })
    }
    await service.services.telemetry.spans.close()
    const servers = traced.receiver.spans.filter(
      ({ attributes }) => attributes['http.response.status_code'] === 404,
    )
    // 150 expected, with a standard deviation of 10.6: six of them on either side.
    expect(servers.length).toBeGreaterThan(86)
    expect(servers.length).toBeLessThan(214)
    expect(
      (await service.call({ url: `/v1/score/${slug}`, token: key, body: {} })).statusCode,
    ).toBe(200)
  } finally {
    await end(traced)
  }
})
