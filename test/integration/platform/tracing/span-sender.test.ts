import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import {
  type SenderLog,
  type SendFailure,
  SpanSender,
} from '../../../../src/platform/tracing/span-sender.ts'
import { OtlpReceiver } from '../../../support/servers/otlp-receiver.ts'

const QUEUE_SPANS_MAX = 2_048
const SPAN = JSON.stringify({
  traceId: 'a'.repeat(32),
  spanId: 'b'.repeat(16),
  name: 'GET /v1/models',
  kind: 2,
  startTimeUnixNano: '1800000000000000000',
  endTimeUnixNano: '1800000000001000000',
})

interface Noted extends SenderLog {
  readonly failures: SendFailure[]
  recoveries: number
}

function newSender(receiver: Pick<OtlpReceiver, 'url'>, retryMs: readonly number[] = [1, 1]) {
  const log: Noted = {
    failures: [],
    recoveries: 0,
    failing: (failure) => void log.failures.push(failure),
    recovered: () => void log.recoveries++,
  }
  const sender = new SpanSender({
    settings: {
      url: `${receiver.url}/v1/traces`,
      headers: { 'x-token': 'a token' },
      resource: { 'service.name': 'scoreline' },
    },
    log,
    gatherMs: 1,
    retryMs,
  })
  onTestFinished(() => sender.close())
  return { sender, log }
}

async function newReceiver(): Promise<OtlpReceiver> {
  const receiver = await OtlpReceiver.start()
  onTestFinished(() => receiver.close())
  return receiver
}

const add = (sender: SpanSender, requests: number) => {
  for (let request = 0; request < requests; request++) {
    if (sender.hasRoom(1)) sender.add({ text: SPAN, spans: 1 })
  }
}

test('spans arrive with the headers and the resource of the settings, in batches', async () => {
  const receiver = await newReceiver()
  const { sender, log } = newSender(receiver)
  add(sender, 1_200)
  await expect.poll(() => sender.counts).toEqual({ sent: 1_200, dropped: 0 })
  expect(receiver.spans).toHaveLength(1_200)
  expect(receiver.faults).toEqual([])
  expect(receiver.requests).toBe(3)
  expect(receiver.headers[0]).toMatchObject({ 'x-token': 'a token' })
  expect(receiver.spans[0]?.resource).toEqual({
    'service.name': 'scoreline',
    'process.pid': process.pid,
  })
  expect(log).toMatchObject({ failures: [], recoveries: 0 })
})

// A collector that hangs must cost a bounded memory, and the loss must be seen.
test('a full queue drops new spans and counts them', async () => {
  const receiver = await newReceiver()
  receiver.behaviour = 'silent'
  const { sender } = newSender(receiver)
  add(sender, 512)
  await expect.poll(() => receiver.requests).toBe(1)
  add(sender, QUEUE_SPANS_MAX + 100)
  expect(sender.counts).toEqual({ sent: 0, dropped: 100 })
})

test('a batch is sent again after a passing failure, and the log says when it began and ended', async () => {
  const receiver = await newReceiver()
  receiver.behaviour = 503
  const { sender, log } = newSender(receiver, Array(500).fill(10))
  add(sender, 3)
  await expect.poll(() => receiver.requests).toBeGreaterThan(2)
  receiver.behaviour = 200
  await expect.poll(() => sender.counts).toEqual({ sent: 3, dropped: 0 })
  expect(log).toMatchObject({ failures: [{ status: 503, code: null }], recoveries: 1 })
})

test('a batch is given up after the last attempt, and the next one is tried', async () => {
  const receiver = await newReceiver()
  receiver.behaviour = 500
  const { sender, log } = newSender(receiver)
  add(sender, 2)
  await expect.poll(() => sender.counts.dropped).toBe(2)
  expect(receiver.requests).toBe(3)
  receiver.behaviour = 200
  add(sender, 1)
  await expect.poll(() => sender.counts).toEqual({ sent: 1, dropped: 2 })
  expect(log.failures).toHaveLength(1)
})

test('a batch that the collector refuses is not sent again', async () => {
  const receiver = await newReceiver()
  receiver.behaviour = 401
  const { sender, log } = newSender(receiver)
  add(sender, 2)
  await expect.poll(() => sender.counts.dropped).toBe(2)
  expect(receiver.requests).toBe(1)
  expect(log.failures).toEqual([{ status: 401, code: null }])
})

test('a collector that is not there is named by the error of the connection', async () => {
  const receiver = await newReceiver()
  const { sender, log } = newSender(receiver, [])
  await receiver.close()
  add(sender, 1)
  await expect.poll(() => sender.counts.dropped).toBe(1)
  expect(log.failures).toEqual([{ status: null, code: 'ECONNREFUSED' }])
})

// A supervisor waits for ten seconds, and the score log has to be drained in them.
test('the end waits a second for a collector that is silent', async () => {
  const receiver = await newReceiver()
  receiver.behaviour = 'silent'
  const { sender } = newSender(receiver)
  add(sender, 1_500)
  await expect.poll(() => receiver.requests).toBe(1)
  const startedAtMs = performance.now()
  await sender.close()
  expect(performance.now() - startedAtMs).toBeLessThan(5_000)
  expect(sender.counts).toEqual({ sent: 0, dropped: 1_500 })
})

test('the end sends what waits', async () => {
  const receiver = await newReceiver()
  const { sender } = newSender(receiver)
  add(sender, 600)
  await sender.close()
  expect(receiver.spans).toHaveLength(600)
  add(sender, 1)
  expect(sender.counts).toEqual({ sent: 600, dropped: 1 })
})

// Node says nothing of such an answer but that the request is closed: nothing would be sent again.
test('an answer that leaves HTTP counts as failed', async () => {
  const server = createServer((socket) => {
    const answer =
      'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: other\r\n\r\n'
    socket.on('error', () => undefined).once('data', () => socket.write(answer))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const { sender, log } = newSender({ url })
  add(sender, 1)
  await expect.poll(() => sender.counts, { timeout: 10_000 }).toEqual({ sent: 0, dropped: 1 })
  expect(log.failures).toHaveLength(1)
})
