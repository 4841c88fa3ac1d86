import { expect, test } from 'vitest'
import { ScorelineClient } from '../../../../clients/typescript/src/client.ts'
import { NoAnswerError, ScorelineError } from '../../../../clients/typescript/src/errors.ts'
import type { ClientOptions, NotKept, Retry } from '../../../../clients/typescript/src/transport.ts'

type Step = Response | Error | 'hangs'
interface Sent {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
}

const SCORED = {
  score: 489.5,
  pd: 0.1,
  risk_grade: 'A',
  warnings: [],
  model_version: '1.0.0',
  request_id: 'req_1',
}

const answer = (status: number, body: unknown, headers: Record<string, string> = {}) =>
  new Response(JSON.stringify(body), {
    status,
    headers: { 'content-type': 'application/json; charset=utf-8', ...headers },
  })

const refusal = (status: number, error: string, more: object = {}) =>
  answer(status, { error, message: 'it says why', request_id: 'req_2', ...more })

/** A client whose attempts end as the steps say, one after the other. */
function makeClient(steps: readonly Step[], options: Partial<ClientOptions> = {}) {
  const sent: Sent[] = []
  const retries: Retry[] = []
  const send: typeof fetch = async (url, init = {}) => {
    const step = steps[sent.length]
    sent.push({
      url: String(url),
      headers: { ...(init.headers as Record<string, string>) },
      body: init.body as string | undefined,
    })
    if (step === undefined) throw new Error('there is no further step')
    if (step instanceof Error) throw step
    if (step !== 'hangs') return step
    return new Promise((_, reject) => {
      init.signal?.addEventListener('abort', () => reject(init.signal?.reason))
    })
  }
  const client = new ScorelineClient({
    url: 'https://lender.example/scoring/',
    token: 'a key',
    fetch: send,
    onRetry: (retry) => void retries.push(retry),
    ...options,
  })
  return { client, sent, retries }
}

const failed = (promise: Promise<unknown>) =>
  promise.then(
    () => expect.fail('it succeeded'),
    (error) => error,
  )

test('an answer that is not kept is told, with its key', async () => {
  const notKept = { 'idempotency-kept': 'false' }
  const told: NotKept[] = []
  const steps = [
    refusal(503, 'unavailable', { retry_after_ms: 1 }),
    answer(200, SCORED, notKept),
    answer(200, SCORED),
    answer(200, SCORED, notKept),
  ]
  const { client } = makeClient(steps, { onNotKept: (call) => void told.push(call) })
  for (const idempotencyKey of ['one', 'two', null]) {
    expect(await client.score('dep_1', { age: 35 }, { idempotencyKey })).toEqual(SCORED)
  }
  const url = 'https://lender.example/scoring/v1/score/dep_1'
  expect(told).toEqual([{ method: 'POST', url, idempotencyKey: 'one' }])
})

test('a score sends features, options and headers, and returns the answer', async () => {
  const { client, sent } = makeClient([answer(200, SCORED)])
  const options = { reference: 'A-1', strictMode: true, reasons: 4, lang: 'es' }
  expect(await client.score('dep_1', { age: 35, purpose: 'car' }, options)).toEqual(SCORED)
  expect(sent).toEqual([
    {
      url: 'https://lender.example/scoring/v1/score/dep_1?reasons=4&lang=es',
      headers: {
        accept: 'application/json, */*;q=0.5',
        authorization: 'Bearer a key',
        'content-type': 'application/json',
        'idempotency-key': expect.stringMatching(/^[0-9a-f-]{36}$/),
        'X-Reference-Id': 'A-1',
        'X-Routing-Key': 'A-1',
      },
      body: '{"age":35,"purpose":"car","strict_mode":true}',
    },
  ])
})

// The service knows a retry by its key: with another one, the applicant would be logged twice.
test('all attempts of a score have the same idempotency key and body, and the next score another', async () => {
  const { client, sent, retries } = makeClient([
    new TypeError('fetch failed'),
    refusal(503, 'unavailable', { retry_after_ms: 3 }),
    answer(502, 'bad gateway'),
    answer(200, SCORED),
    answer(200, SCORED),
  ])
  await client.score('dep_1', { age: 35 })
  await client.score('dep_1', { age: 35 })
  const keys = sent.map(({ headers }) => headers['idempotency-key'])
  expect(new Set(keys.slice(0, 4)).size).toBe(1)
  expect(keys[4]).not.toBe(keys[0])
  expect(new Set(sent.map(({ body }) => body)).size).toBe(1)
  expect(retries.map(({ attempt }) => attempt)).toEqual([1, 2, 3])
})

test('an ordered wait is kept', async () => {
  const { client, retries } = makeClient([
    refusal(429, 'rate_limited', { retry_after_ms: 40 }),
    answer(200, SCORED),
  ])
  const startMs = performance.now()
  await client.score('dep_1', { age: 35 })
  // Timers are whole milliseconds.
  expect(performance.now() - startMs).toBeGreaterThanOrEqual(39)
  expect(retries[0]?.waitMs).toBeGreaterThanOrEqual(40)
  expect(retries[0]?.error).toMatchObject({ code: 'rate_limited', retryAfterMs: 40 })
})

test('a wait beyond the deadline is not begun: the refusal comes at once', async () => {
  const { client, sent } = makeClient([refusal(429, 'rate_limited', { retry_after_ms: 30_000 })])
  const error = await failed(client.score('dep_1', { age: 35 }, { deadlineMs: 5_000 }))
  expect(error).toBeInstanceOf(ScorelineError)
  expect(error).toMatchObject({ code: 'rate_limited', status: 429, attempts: 1 })
  expect(sent).toHaveLength(1)
})

test('attempts are bounded, and the last error says how many there were', async () => {
  const { client, sent } = makeClient(Array.from({ length: 9 }, () => new TypeError('reset')))
  const error = await failed(client.score('dep_1', { age: 35 }, { attemptsMax: 3 }))
  expect(error).toBeInstanceOf(NoAnswerError)
  expect(error).toMatchObject({ reason: 'connection', attempts: 3, status: null })
  expect(error.cause).toMatchObject({ message: 'reset' })
  expect(sent).toHaveLength(3)
})

test('an attempt that hangs ends after its time, and is repeated until the deadline', async () => {
  const { client, sent } = makeClient(['hangs', 'hangs', 'hangs', 'hangs'])
  const options = { timeoutMs: 30, deadlineMs: 5_000, attemptsMax: 2 }
  const error = await failed(client.score('dep_1', { age: 35 }, options))
  expect(error).toMatchObject({ name: 'NoAnswerError', reason: 'time_out', attempts: 2 })
  expect(sent).toHaveLength(2)
})

// A replay that was started twice would run twice.
test('a call that could be executed twice is sent once', async () => {
  const order = { path: { slug: 'dep_1' }, body: {} }
  for (const step of [new TypeError('reset'), refusal(503, 'unavailable')]) {
    const { client, sent } = makeClient([step, answer(202, {})])
    await failed(client.call('POST', '/v1/deployments/{slug}/replays', order))
    expect(sent).toHaveLength(1)
    expect(sent[0]?.headers).not.toHaveProperty('idempotency-key')
  }
})

test('a score without an idempotency key is repeated only after a refusal', async () => {
  const options = { idempotencyKey: null }
  const lost = makeClient([new TypeError('reset')])
  await failed(lost.client.score('dep_1', { age: 35 }, options))
  expect(lost.sent).toHaveLength(1)
  const refused = makeClient([
    refusal(429, 'rate_limited', { retry_after_ms: 1 }),
    answer(200, SCORED),
  ])
  await refused.client.score('dep_1', { age: 35 }, options)
  expect(refused.sent).toHaveLength(2)
})

test('a refusal is not repeated, and the error has its code, details and request id', async () => {
  const details = [{ path: 'age', message: 'is missing' }]
  const { client, sent } = makeClient([refusal(422, 'strict_mode_violation', { details })])
  const error = await failed(client.score('dep_1', {}))
  expect(error).toBeInstanceOf(ScorelineError)
  expect(error).toMatchObject({
    code: 'strict_mode_violation',
    status: 422,
    requestId: 'req_2',
    details,
    message: 'strict_mode_violation: it says why (req_2)',
  })
  expect(sent).toHaveLength(1)
})

// A login page of a proxy is not a score.
test.each([
  [200, 'text/html', '<html>'],
  [200, 'application/json', '{"score": 4'],
  [404, 'text/html', '<html>'],
  [403, 'application/json', '{"reason": "blocked"}'],
  [301, 'text/plain', ''],
])('an answer %i %s of somebody else is not a score', async (status, type, text) => {
  const step = new Response(text, { status, headers: { 'content-type': type } })
  const error = await failed(makeClient([step]).client.score('dep_1', { age: 35 }))
  expect(error).toMatchObject({ name: 'NoAnswerError', reason: 'foreign_answer', status })
})

test('the signal of the caller ends an attempt and a wait, with its own reason', async () => {
  const startMs = performance.now()
  for (const step of ['hangs', refusal(429, 'rate_limited', { retry_after_ms: 9_000 })] as const) {
    const { client, sent } = makeClient([step])
    const signal = AbortSignal.timeout(20)
    const error = await failed(client.score('dep_1', { age: 35 }, { signal }))
    expect(error).toBe(signal.reason)
    expect(performance.now() - startMs).toBeLessThan(8_000)
    expect(sent).toHaveLength(1)
  }
})

// Whoever gives tokens can be away, too: the caller waits no longer than it said.
test('a token that does not come ends the attempt, and the signal ends the call', async () => {
  const token = () => new Promise<string>(() => {})
  const { client, sent } = makeClient([], { token, timeoutMs: 20, attemptsMax: 2 })
  const error = await failed(client.score('dep_1', {}))
  expect(error).toBeInstanceOf(NoAnswerError)
  expect(error).toMatchObject({ reason: 'time_out', attempts: 2 })
  expect(String(error)).toContain('the token did not come within 20 ms')

  const signal = AbortSignal.timeout(20)
  const stopped = client.score('dep_1', {}, { signal, timeoutMs: 10_000 })
  expect(await failed(stopped)).toBe(signal.reason)
  expect(sent).toEqual([])
})

test('a token that is a function is asked before each attempt', async () => {
  let asked = 0
  const token = () => Promise.resolve(`token ${++asked}`)
  const { client, sent } = makeClient([new TypeError('reset'), answer(200, {})], { token })
  await client.call('GET', '/v1/models')
  const sentTokens = sent.map(({ headers }) => headers['authorization'])
  expect(sentTokens).toEqual(['Bearer token 1', 'Bearer token 2'])
})

test('a rule that is not a whole number, and a URL that is not one of HTTP, are refused', async () => {
  const { client } = makeClient([])
  const error = await failed(client.score('dep_1', {}, { timeoutMs: 0.5 }))
  expect(error).toMatchObject({ message: expect.stringMatching(/^timeoutMs is 0.5: give a whole/) })
  expect(() => new ScorelineClient({ url: 'ftp://lender.example' })).toThrow('not http(s)')
})

// `fetch` throws the same error for a header that it can't send as for a connection that broke.
test.each([
  ['the token', { token: 'a key\nof two lines' }, {}],
  ['X-Reference-Id', {}, { reference: 'A-1\r\nX-Other: 1' }],
  ['X-Routing-Key', {}, { routingKey: 'A\u0000' }],
  ['X-Routing-Key', {}, { routingKey: '\u4f60\u597d' }],
  ['Idempotency-Key', {}, { idempotencyKey: 'a\nb' }],
])('%s that no header can carry is refused at once, and not quoted', async (name, ours, score) => {
  const { client, sent } = makeClient([], ours)
  const error = await failed(client.score('dep_1', { age: 35 }, score))
  expect(error).toMatchObject({ name: 'InvalidHeaderError' })
  expect(error.message).toMatch(RegExp(`^${name} has a character at position \\d+ that no header`))
  expect(error.message).not.toContain('two lines')
  expect(error.cause).toBeUndefined()
  expect(sent).toHaveLength(0)
})

test('a token is sent without the line break of its file', async () => {
  const { client, sent } = makeClient([answer(200, {})], { token: 'a key\n' })
  await client.call('GET', '/v1/models')
  expect(sent[0]?.headers['authorization']).toBe('Bearer a key')
})
