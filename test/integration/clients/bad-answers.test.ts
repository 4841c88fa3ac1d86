import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { inspect } from 'node:util'
import { gzipSync } from 'node:zlib'
import { expect, onTestFinished, test } from 'vitest'
import { ScorelineClient } from '../../../clients/typescript/src/client.ts'
import { CallError } from '../../../clients/typescript/src/errors.ts'
import type { ClientOptions } from '../../../clients/typescript/src/transport.ts'

const TOKEN = 'sk_a_secret_that_nobody_may_see'
const RECORDS = Array.from({ length: 6 }, (_, at) => ({ id: `A-${at}`, age: at }))

interface Reply {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
  /** Milliseconds between two bytes. */
  readonly dripMs?: number
}
interface Asked {
  readonly key: string | undefined
  readonly records: readonly { readonly id?: string }[]
}
type Answer = (asked: Asked, number: number) => Reply

const HEAD = { model_version: '1.0.0', deployment_id: 'dep_1' }
const scored = (id: unknown = null) => ({
  id,
  score: 489.5,
  pd: 0.1,
  risk_grade: 'A',
  warnings: [],
})

/** What the service answers to a batch. */
const sound = ({ records }: Asked, number: number) => ({
  ...HEAD,
  request_id: `req_${number}`,
  results: records.map(({ id }) => scored(id)),
})

/** A client of a server that answers as a test says, over real connections. */
async function openClient(answer: Answer, options: Partial<ClientOptions> = {}) {
  const asked: Asked[] = []
  const waits: number[] = []
  const server = createServer((request, response) => void serve(request, response))
  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const { records = [] } = JSON.parse(Buffer.concat(chunks).toString())
    const one = { key: request.headers['idempotency-key'] as string | undefined, records }
    asked.push(one)
    const { status = 200, headers, body, dripMs } = answer(one, asked.length - 1)
    const type = { 'content-type': 'application/json; charset=utf-8' }
    response.writeHead(status, { ...type, ...headers })
    const isRaw = typeof body === 'string' || Buffer.isBuffer(body)
    const bytes = Buffer.from(isRaw ? body : JSON.stringify(body ?? ''))
    if (status === 204 || dripMs === undefined) return response.end(status === 204 ? '' : bytes)
    let at = 0
    const drip = setInterval(() => {
      if (at < bytes.length) response.write(bytes.subarray(at, ++at))
    }, dripMs)
    return response.on('close', () => clearInterval(drip))
  }
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const client = new ScorelineClient({
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    token: TOKEN,
    attemptsMax: 3,
    onRetry: ({ waitMs }) => void waits.push(waitMs),
    ...options,
  })
  return { client, asked, waits }
}

async function failed(promise: Promise<unknown>): Promise<CallError> {
  const error = await promise.then(
    (found) => expect.fail(`it succeeded: ${JSON.stringify(found)}`),
    (reason) => reason,
  )
  expect(error).toBeInstanceOf(CallError)
  return error
}

type Batch = ReturnType<typeof sound>
const withResult = (fields: object) => (body: Batch) => ({
  ...body,
  results: body.results.map((one) => ({ ...one, ...fields })),
})
const FOREIGN: Readonly<Record<string, (body: Batch) => unknown>> = {
  'half of the JSON': (body) => JSON.stringify(body).slice(0, -20),
  nothing: () => '',
  'a list': ({ results }) => results,
  null: () => null,
  'deep nesting': () => '['.repeat(100_000),
  'no request id': ({ request_id: _, ...body }) => body,
  'no results': ({ results: _, ...body }) => body,
  'results that are no list': (body) => ({ ...body, results: {} }),
  'results that are no objects': (body) => ({ ...body, results: [1, 2] }),
  'a score that is a text': withResult({ score: '489.5' }),
  'a score that is null': withResult({ score: null }),
  'a score that is true': withResult({ score: true }),
  'a score that is NaN': (body) => JSON.stringify(body).replaceAll('489.5', 'NaN'),
  'a score that is infinite': (body) => JSON.stringify(body).replaceAll('489.5', '1e999'),
  'a probability that is a text': withResult({ pd: '0.5' }),
  'points that are texts': withResult({ contributions: { age: '1' } }),
  'warnings that are a text': withResult({ warnings: 'none' }),
  'a grade that is a number': withResult({ risk_grade: 1 }),
  'another order': (body) => ({ ...body, results: body.results.toReversed() }),
  'one twice': (body) => ({ ...body, results: body.results.map(() => body.results[0]) }),
  'one less': (body) => ({ ...body, results: body.results.slice(1) }),
  'one more': (body) => ({ ...body, results: [...body.results, body.results[0]] }),
  'other applicants': withResult({ id: 'B-1' }),
  "nobody's": withResult({ id: null }),
  'that of another part': (body) => ({ ...body, request_id: 'req_0' }),
}

// Each applicant gets their own score, or the caller an error that says where to go on.
test.each(Object.keys(FOREIGN))('%s is not the answer for these applicants', async (what) => {
  const { client, asked } = await openClient((one, number) => {
    const body = sound(one, number)
    return { body: number === 0 ? body : FOREIGN[what]?.(body) }
  })
  const error = await failed(client.scoreBatch('dep_1', RECORDS, { partRecords: 2 }))
  expect(error).toMatchObject({ name: 'NoAnswerError', reason: 'foreign_answer' })
  expect(error.scored?.map(({ id }) => id)).toEqual(['A-0', 'A-1'])
  expect(`${error.idempotencyKey}-1`).toBe(asked[0]?.key)
})

test('the key of an error goes on without scoring anybody twice', async () => {
  let isBad = true
  const { client, asked } = await openClient((one, number) => ({
    body: isBad && number > 0 ? [] : sound(one, number),
  }))
  const { idempotencyKey } = await failed(client.scoreBatch('dep_1', RECORDS, { partRecords: 3 }))
  isBad = false
  const options = { partRecords: 3, idempotencyKey }
  expect(await client.scoreBatch('dep_1', RECORDS, options)).toHaveLength(6)
  const keys = asked.map(({ key }) => key)
  expect(keys.slice(2)).toEqual(keys.slice(0, 2))
})

test("a record that can't be sent leaves what was scored before it", async () => {
  const { client } = await openClient((one, number) => ({ body: sound(one, number) }))
  const records = [...RECORDS, { id: 'A-6', age: Number.NaN }]
  const error = await failed(client.scoreBatch('dep_1', records, { partRecords: 4 }))
  expect(error).toMatchObject({ name: 'InvalidApplicantError' })
  expect(error.scored).toHaveLength(4)
})

const PAGES: Readonly<Record<string, Reply>> = {
  'a page': { headers: { 'content-type': 'text/html' }, body: '<html>sign in' },
  'a text': { headers: { 'content-type': 'text/plain' }, body: '{"score": 1}' },
  '204': { status: 204 },
  'a redirect': { status: 302, headers: { location: 'http://127.0.0.1:9/' } },
  'another object': { body: { status: 'ok' } },
  'a score that is a text': { body: { ...scored(), ...HEAD, request_id: 'req_1', score: '1' } },
}

test.each(Object.keys(PAGES))(
  '%s is refused as a score and as an answer to outcomes',
  async (page) => {
    const { client } = await openClient(() => PAGES[page] ?? {})
    const fact = { kind: 'decision', reference: 'A', decision: 'approved' } as never
    for (const call of [
      () => client.score('dep_1', { age: 1 }),
      () => client.scoreBatch('dep_1', RECORDS),
      () => client.sendOutcomes([fact]),
    ]) {
      expect(await failed(call())).toMatchObject({ reason: 'foreign_answer' })
    }
    const { idempotencyKey } = await failed(client.score('dep_1', { age: 1 }))
    expect(idempotencyKey).toMatch(/^[0-9a-f-]{36}$/)
  },
)

test('results of outcomes in another order are not taken', async () => {
  const results = [1, 0].map((index) => ({ index, status: 'accepted' }))
  const { client } = await openClient(() => ({ body: { results, counts: { accepted: 2 } } }))
  const facts = ['A', 'B'].map((reference) => ({ reference })) as never[]
  expect(await failed(client.sendOutcomes(facts))).toMatchObject({ reason: 'foreign_answer' })
})

const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1_000).toUTCString()
test.each([
  [429, undefined],
  [429, ''],
  [429, 'soon 5'],
  [429, '0'],
  [429, '-5'],
  [429, 'NaN'],
  [503, inSeconds(-60)],
  [503, '1.5 minutes'],
])('a %i whose Retry-After is %s is backed off from, and counted', async (status, after) => {
  const { client, asked, waits } = await openClient(() => ({
    status,
    headers: { 'content-type': 'text/html', ...(after !== undefined && { 'retry-after': after }) },
    body: '<html>',
  }))
  await failed(client.score('dep_1', { age: 1 }))
  expect(asked).toHaveLength(3)
  expect(waits[0]).toBeLessThanOrEqual(100)
  expect(waits[1]).toBeLessThanOrEqual(200)
})

test.each([
  ['a number', () => '1'],
  ['a date', () => inSeconds(2)],
])('a wait that is %s is kept', async (_, after) => {
  const { client, waits } = await openClient((one, number) =>
    number === 0
      ? { status: 429, headers: { 'retry-after': after() }, body: '<html>' }
      : { body: { ...sound(one, number), ...scored() } },
  )
  await client.score('dep_1', { age: 1 })
  expect(waits[0]).toBeGreaterThanOrEqual(500)
})

test('a wait in milliseconds that is none is not kept', async () => {
  for (const wait of [-1, 0, true, '5', [], null]) {
    const body = { error: 'rate_limited', message: 'no', request_id: 'r', retry_after_ms: wait }
    const { client, asked } = await openClient(() => ({ status: 429, body }))
    expect(await failed(client.score('dep_1', { age: 1 }))).toMatchObject({ retryAfterMs: null })
    expect(asked).toHaveLength(3)
  }
})

test('an answer has a bound in memory, also one that is small on the wire', async () => {
  const big = Buffer.from(`{"results": "${'x'.repeat(2_000_000)}"}`)
  for (const reply of [
    { body: big },
    { body: gzipSync(big), headers: { 'content-encoding': 'gzip' } },
    { body: big, status: 500 },
  ]) {
    const { client } = await openClient(() => reply, { answerBytesMax: 1_000_000 })
    const error = await failed(client.score('dep_1', { age: 1 }))
    expect(error).toMatchObject({ reason: 'foreign_answer' })
    expect(error.message).toContain('longer than 1000000 bytes')
  }
})

test('an answer that drips ends after its time', async () => {
  const { client } = await openClient(() => ({ body: { a: 'x'.repeat(1_000) }, dripMs: 20 }))
  const beganMs = performance.now()
  const error = await failed(client.score('dep_1', { age: 1 }, { timeoutMs: 200 }))
  expect(error).toMatchObject({ reason: 'time_out' })
  expect(performance.now() - beganMs).toBeLessThan(5_000)
})

const refusal = (fields: object): Reply => ({
  status: 400,
  body: { error: 'x', message: 'no', request_id: 'req_1', ...fields },
})
const ECHOES: Readonly<Record<string, Reply>> = {
  'the message': refusal({ message: `the key ${TOKEN} is wrong` }),
  'the code': refusal({ error: TOKEN }),
  'the request id': refusal({ request_id: TOKEN }),
  'the details': refusal({ details: [{ path: TOKEN, message: TOKEN }] }),
  'details that are a text': refusal({ details: TOKEN }),
  'the type': { headers: { 'content-type': `text/html; ${TOKEN}` }, body: TOKEN },
  'the answer': { body: { score: TOKEN } },
}

test.each(Object.keys(ECHOES))('a token that is echoed in %s is not shown', async (where) => {
  const { client } = await openClient(() => ECHOES[where] ?? {})
  const error = await failed(client.score('dep_1', { age: 1 }))
  expect(inspect(error, { depth: 9 })).not.toContain(TOKEN)
  expect(JSON.stringify(error)).not.toContain(TOKEN)
})
