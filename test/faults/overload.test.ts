import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { connect } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { expect, inject, onTestFinished, test } from 'vitest'
import { type LoadRequest, type Outcome, send, startClients } from '../support/load/load-clients.ts'
import { percentile } from '../support/load/percentile.ts'
import { redisUrl } from '../support/servers/redis.ts'
import { post } from '../support/start/process.ts'
import { readMetric, startWithSample } from '../support/start/running.ts'

const CLIENTS = 400
const WORK_MS = 10
/** What the last of the clients would wait at least without a bound: for all the others. */
const QUEUE_MS = CLIENTS * WORK_MS
const OVERLOAD_MS = 6_000
const CPU = 'process_cpu_user_seconds_total'
const SHED = 'scoreline_requests_shed_total{reason="event_loop"}'

// Without a bound each of many clients waits for all others: nobody is answered in time, and all
// try again.
test('under overload the admitted are answered in time, the others at once, and it ends with the load', async () => {
  const busy = ['test/support/load/busy-service.ts', [`${WORK_MS}`]] as const
  const { url, endpoint, key, token } = await startWithSample({}, onTestFinished, ...busy)
  const single: LoadRequest = { url: endpoint, token: key, body: '{}' }
  const cpuSecBefore = await readMetric(url, CPU)
  const startedAtMs = performance.now()
  const outcomes: Outcome[] = []
  const stop = await startClients(CLIENTS, single, (outcome) => outcomes.push(outcome), {
    refusedPauseMs: 500,
  })
  const probes: number[] = []
  const endsAtMs = startedAtMs + OVERLOAD_MS
  while (performance.now() < endsAtMs) {
    probes.push((await fetch(`${url}/livez`)).status, (await fetch(`${url}/readyz`)).status)
    // Whoever must switch a model or a key off meanwhile can.
    probes.push((await post(`${url}/v1/keys`, { name: 'another' }, token)).status)
  }
  await stop()
  const tookMs = (status: number) =>
    outcomes.filter((outcome) => outcome.status === status).map((outcome) => outcome.tookMs)
  expect(new Set(outcomes.map(({ status }) => status))).toEqual(new Set([200, 503]))
  // Other processes may have had most of the processor: the queue would have been as much longer.
  const cpuSec = (await readMetric(url, CPU)) - cpuSecBefore
  const share = cpuSec / ((performance.now() - startedAtMs) / 1000)
  expect(percentile(tookMs(200), 0.99)).toBeLessThan(QUEUE_MS / share / 2)
  // Most of the process' time goes into scores, not into refusing them.
  expect((tookMs(200).length * WORK_MS) / 1000).toBeGreaterThan(cpuSec / 2)
  // A probe that is shed has the process restarted in the middle of its work.
  expect(new Set(probes)).toEqual(new Set([200, 201]))

  const shed = await readMetric(url, SHED)
  expect(shed).toBe(tookMs(503).length)
  const agent = new Agent({ keepAlive: true })
  onTestFinished(() => agent.destroy())
  for (let round = 0; round < 20; round++) expect((await send(agent, single)).status).toBe(200)
  expect(await readMetric(url, SHED)).toBe(shed)
})

// Bodies that wait for the rest of them are memory that nothing else bounds.
test('large bodies beyond the memory for them are refused, small ones go on', async () => {
  const { url, endpoint, key } = await startWithSample({}, onTestFinished)
  const agent = new Agent({ keepAlive: true })
  onTestFinished(() => agent.destroy())
  const single: LoadRequest = { url: endpoint, token: key, body: '{}' }
  const large: LoadRequest = { ...single, body: JSON.stringify({ note: 'x'.repeat(100_000) }) }
  const held = () => readMetric(url, 'scoreline_large_body_bytes')
  const BODY_BYTES = 16 * 1024 * 1024
  // One team holds at most half of the 64 MiB.
  const uploads = Array.from({ length: 2 }, () => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    // A single score takes 1 MiB at most.
    const upload = request(`${endpoint}/batch`, { method: 'POST', headers, agent: new Agent() })
    upload.on('error', () => undefined)
    upload.setHeader('content-length', BODY_BYTES)
    upload.write('{')
    return upload
  })
  while ((await held()) < 2 * BODY_BYTES) await setTimeout(20)

  const refused = await fetch(endpoint, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: large.body,
  })
  expect(refused.status).toBe(503)
  expect(refused.headers.get('retry-after')).toBe('1')
  expect(await refused.json()).toMatchObject({ error: 'unavailable' })
  expect((await send(agent, single)).status).toBe(200)

  // Clients that hang up in the middle give their place back.
  for (const upload of uploads) upload.destroy()
  while ((await held()) > 0) await setTimeout(20)
  expect((await send(agent, large)).status).toBe(200)
  await expect.poll(held).toBe(0)
})

// A client that gives up early must not take memory from the others for good.
test.skipIf(inject('redisUrl') === null)(
  'a client that hangs up early frees its memory',
  async () => {
    // Its quota is asked for elsewhere: it is gone when the answer comes.
    const { url, endpoint, key } = await startWithSample({ REDIS_URL: redisUrl() }, onTestFinished)
    const { hostname, port, pathname } = new URL(endpoint)
    for (let round = 0; round < 200; round++) {
      const socket = connect(Number(port), hostname)
      socket.on('error', () => undefined)
      await once(socket, 'connect')
      socket.write(
        `POST ${pathname} HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${key}\r\n` +
          'Content-Type: application/json\r\nContent-Length: 1000000\r\n\r\n',
      )
      if (round % 2 === 1) await setTimeout(1)
      socket.resetAndDestroy()
    }
    await expect.poll(() => readMetric(url, 'scoreline_large_body_bytes')).toBe(0)
  },
)

// A small batch may have a large answer: who does not read it must not hold memory without a bound.
test('the memory of unread responses is counted, and freed', async () => {
  const { url, endpoint, key } = await startWithSample({}, onTestFinished)
  const records = Array.from({ length: 1_000 }, (_, id) => ({ id }))
  const body = JSON.stringify({ records, include_contributions: true })
  const { hostname, port, pathname } = new URL(`${endpoint}/batch`)
  const sockets = Array.from({ length: 8 }, () => {
    const socket = connect(Number(port), hostname).pause()
    socket.on('error', () => undefined)
    const head = `POST ${pathname} HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${key}\r\n`
    const type = `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`
    for (let request = 0; request < 8; request++) socket.write(head + type + body)
    return socket
  })
  const held = () => readMetric(url, 'scoreline_large_answer_bytes')
  await expect.poll(held).toBeGreaterThan(0)
  for (const socket of sockets) socket.destroy()
  await expect.poll(held).toBe(0)
})

test('a body of unknown length is scored, and refused above the largest', async () => {
  const { url, endpoint, key } = await startWithSample(
    { BODY_LIMIT_BYTES: '1000000' },
    onTestFinished,
  )
  const send = (text: string) => {
    const init = {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: new Blob([text]).stream(),
      duplex: 'half',
    }
    return fetch(endpoint, init)
  }
  expect((await send('{"age_in_years":30}')).status).toBe(200)
  expect((await send(JSON.stringify({ note: 'x'.repeat(900_000) }))).status).toBe(200)
  expect((await send(JSON.stringify({ note: 'x'.repeat(1_100_000) }))).status).toBe(413)
  // The answer may arrive before the server has noticed that it was sent.
  await expect.poll(() => readMetric(url, 'scoreline_large_body_bytes')).toBe(0)
})
