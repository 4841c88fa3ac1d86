import { connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { OtlpReceiver } from '../../../support/servers/otlp-receiver.ts'
import { startWithSample } from '../../../support/start/running.ts'

const TRACES = ['a', 'b', 'c', 'd', 'e', 'f'].map((digit) => digit.repeat(32))
const [ONE = '', TWO = '', THREE = '', FOUR = '', FIVE = '', SIX = ''] = TRACES
const header = (traceId: string, flags = '00') => `00-${traceId}-00f067aa0ba902b7-${flags}`

/** Sends two scores on one connection, which only the fast path reads. */
async function scoreTwice(endpoint: string, key: string, traceIds: readonly string[]) {
  const { hostname, port, pathname } = new URL(endpoint)
  const socket = connect(Number(port), hostname).setEncoding('utf8')
  onTestFinished(() => void socket.destroy())
  for (const traceId of traceIds) {
    const head = [
      `POST ${pathname} HTTP/1.1`,
      'host: x',
      `authorization: Bearer ${key}`,
      'content-type: application/json',
      `traceparent: ${header(traceId)}`,
      'content-length: 2',
    ]
    const answered = new Promise((resolve) => socket.once('data', resolve))
    socket.write(`${head.join('\r\n')}\r\n\r\n{}`)
    expect(await answered).toMatch(/^HTTP\/1\.1 200/)
  }
}

// Whoever has the id of a trace from a gateway must find the service's lines on it.
test('lines of the log that are about a request have its trace id, sampled or not', async () => {
  const { process, url, endpoint, key, token } = await startWithSample(
    { LOG_LEVEL: 'debug' },
    onTestFinished,
  )
  const send = (to: string, init: RequestInit, traceId: string) =>
    fetch(to, {
      ...init,
      headers: {
        'content-type': 'application/json',
        traceparent: header(traceId),
        ...init.headers,
      },
    })
  const authorization = `Bearer ${key}`
  await send(endpoint, { method: 'POST', body: '{}', headers: { authorization } }, '0'.repeat(32))
  await scoreTwice(endpoint, key, [ONE, TWO])
  const usual = `${endpoint}?lang=en`
  await send(usual, { method: 'POST', body: '{}', headers: { authorization } }, THREE)
  await send(`${endpoint}x`, { method: 'POST', body: '{}', headers: { authorization } }, FOUR)
  const body = JSON.stringify({ name: 'a key' })
  const change = { method: 'POST', body, headers: { authorization: `Bearer ${token}` } }
  await send(`${url}/v1/keys`, change, FIVE)
  await process.stop('SIGTERM')

  const lines = process.output
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line))
  const about = (traceId: string) =>
    lines
      .filter(({ trace_id }) => trace_id === traceId)
      .map(({ msg, operation, requestId }) => [msg, operation, typeof requestId])
  expect(about(ONE)).toEqual([['request', 'scoring.score', 'string']])
  expect(about(TWO)).toEqual([['request', 'scoring.score', 'string']])
  expect(about(THREE)).toEqual([['request', 'scoring.score', 'string']])
  expect(about(FOUR)).toEqual([
    ['request refused', 'scoring.score', 'string'],
    ['request', 'scoring.score', 'string'],
  ])
  expect(about(FIVE)).toEqual([
    ['request', 'keys.create', 'string'],
    ['changed', 'keys.create', 'string'],
  ])
  // An invalid header counts as none.
  expect(lines.filter(({ trace_id }) => trace_id === '0'.repeat(32))).toEqual([])
  expect(lines.filter(({ msg }) => msg === 'request').length).toBeGreaterThan(5)
})

test('the end of the process sends the spans that wait', async () => {
  const receiver = await OtlpReceiver.start()
  onTestFinished(() => receiver.close())
  const { process, endpoint, key } = await startWithSample(
    { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, OTEL_SERVICE_NAME: 'scores' },
    onTestFinished,
  )
  const headers = {
    authorization: `Bearer ${key}`,
    'content-type': 'application/json',
    traceparent: header(SIX, '01'),
  }
  expect((await fetch(endpoint, { method: 'POST', headers, body: '{}' })).status).toBe(200)
  expect(await process.stop('SIGTERM')).toBe(0)
  expect(receiver.faults).toEqual([])
  expect(receiver.trace(SIX).length).toBeGreaterThan(1)
  expect(receiver.trace(SIX)[0]?.resource['service.name']).toBe('scores')
})
