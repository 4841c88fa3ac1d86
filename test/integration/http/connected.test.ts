import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import fastify from 'fastify'
import { expect, onTestFinished, test } from 'vitest'
import { signalWhileConnected } from '../../../src/http/connected.ts'
import { runInTurns } from '../../../src/platform/turn-taker.ts'

/**
 * A service whose only route works until its client hangs up or `done` says so. With `keyed`, its
 * requests have an `Idempotency-Key`; with `isLate`, the route begins after the client has gone.
 */
async function serving(
  done: () => boolean,
  { keyed = null, isLate = false }: { keyed?: object | null; isLate?: boolean } = {},
) {
  const app = fastify()
  onTestFinished(() => app.close())
  app.decorateRequest('keyed', null)
  app.addHook('preHandler', async (request, reply) => {
    Object.assign(request, { keyed })
    started.resolve()
    if (isLate) await once(reply.raw, 'close')
  })
  const started = Promise.withResolvers<void>()
  const signals: AbortSignal[] = []
  const ends: string[] = []
  function* work() {
    while (!done()) yield
    return 'done'
  }
  app.get('/', async (request, reply) => {
    const signal = signalWhileConnected(request, reply)
    signals.push(signal)
    const end = await runInTurns(work(), signal).catch((error: Error) => error.message)
    ends.push(end)
    return { end }
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.server.address() as AddressInfo
  return { port, started: started.promise, signals, ends }
}

async function hangUp({ port, started }: { port: number; started: Promise<void> }) {
  const client = connect(port, '127.0.0.1')
  await once(client, 'connect')
  client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  await started
  client.destroy()
}

test.each([false, true])(
  'work in steps ends when its client has hung up, before it began: %s',
  async (isLate) => {
    const service = await serving(() => false, { isLate })
    await hangUp(service)
    await expect.poll(() => service.ends).toEqual(['the client has hung up'])
  },
)

// Whoever has a shorter patience than the check would begin it anew for ever.
test('work for a request with an Idempotency-Key goes on for the client who asks again', async () => {
  let isDone = false
  const service = await serving(() => isDone, { keyed: {}, isLate: true })
  await hangUp(service)
  await expect.poll(() => service.signals.map(({ aborted }) => aborted)).toEqual([false])
  isDone = true
  await expect.poll(() => service.ends).toEqual(['done'])
})

test('a client who hangs up after the answer ends nothing', async () => {
  const { port, signals, ends } = await serving(() => true)
  const response = await fetch(`http://127.0.0.1:${port}`, { headers: { connection: 'close' } })
  expect(await response.json()).toEqual({ end: 'done' })
  expect(ends).toEqual(['done'])
  expect(signals.map(({ aborted }) => aborted)).toEqual([false])
})
