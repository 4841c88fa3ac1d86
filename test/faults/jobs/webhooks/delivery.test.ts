import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { printFigures } from '../../../support/expect/reconciliation.ts'
import { WebhookReceiver } from '../../../support/servers/webhook-receiver.ts'
import { embeddedDataDir } from '../../../support/start/databases.ts'
import { ServiceProcess } from '../../../support/start/process.ts'
import { PROCESS_OWNER, startWithSample } from '../../../support/start/running.ts'

/** Ten real minutes with 600000; what is longer than 20 s has the retries of production. */
const AWAY_MS = Number(process.env['SCORELINE_TEST_RECEIVER_AWAY_MS'] ?? 2_500)
const IS_LONG = AWAY_MS > 20_000
const SLICES = 10
/** For each receiver that does not answer as it should. */
const EVENTS = 3
/** More of them than the receiver is away, however slow the machine is. */
const RETRIES = [...[1, 1, 2, 2, 3, 3, 5, 5], ...Array(12).fill(10)]
const ENV = {
  WEBHOOK_ALLOWED_NETWORKS: '127.0.0.1/32',
  WEBHOOK_RETRY_SECONDS: RETRIES.join(),
}

/** The parts of answers that these tests read. */
interface Answer {
  readonly id: string
  readonly event_id: string
  readonly deliveries: readonly { readonly event_id: string }[]
}

interface Service {
  readonly url: string
  readonly token: string
}

async function call(
  { url, token }: Service,
  method: string,
  path: string,
  body?: object,
): Promise<Answer> {
  const response = await fetch(`${url}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  return (await response.json()) as Answer
}

async function startReceiver(port = 0): Promise<WebhookReceiver> {
  const receiver = await WebhookReceiver.start(port)
  onTestFinished(() => receiver.stop())
  return receiver
}

const readDeliveries = async (service: Service, webhookId: string, state: string) =>
  (await call(service, 'GET', `/v1/webhooks/${webhookId}/deliveries?state=${state}`)).deliveries

describe('whatever becomes of receiver and service, each event is delivered or dead', () => {
  test('a receiver that is down for a while gets all of them when it is back', {
    timeout: 2.5 * AWAY_MS + 300_000,
  }, async () => {
    const first = await startReceiver()
    const { port } = new URL(first.url)
    const { WEBHOOK_ALLOWED_NETWORKS } = ENV
    const service = await startWithSample(
      IS_LONG ? { WEBHOOK_ALLOWED_NETWORKS } : ENV,
      onTestFinished,
    )
    const { id } = await call(service, 'POST', '/v1/webhooks', { url: `${first.url}/ok` })
    await first.stop()
    const sent: string[] = []
    const send = async () => {
      sent.push((await call(service, 'POST', `/v1/webhooks/${id}/test`)).event_id)
    }
    for (let n = 0; n < 30; n++) await send()
    for (let slice = 0; slice < SLICES; slice++) {
      await delay(AWAY_MS / SLICES)
      await send()
    }
    const countAll = async (state: string) => (await readDeliveries(service, id, state)).length
    expect(await countAll('delivered')).toBe(0)
    const second = await startReceiver(Number(port))
    const backAtMs = performance.now()
    // The longest wait begins just before: ten minutes, and a fifth more.
    await expect
      .poll(() => countAll('delivered'), { timeout: 1.3 * AWAY_MS + 120_000, interval: 500 })
      .toBe(sent.length)
    const ids = (await second.received()).map(({ headers }) => headers['webhook-id'])
    expect(new Set(ids)).toEqual(new Set(sent))
    printFigures({
      awayMs: AWAY_MS,
      sent: sent.length,
      delivered: await countAll('delivered'),
      dead: await countAll('dead'),
      messages: ids.length,
      allAfterMs: Math.round(performance.now() - backAtMs),
    })
  })

  // What no attempt can deliver ends where somebody finds it, and holds up nothing else.
  test('a slow receiver, a wrong status and a redirect end as dead, beside others that get all', async () => {
    const receiver = await startReceiver()
    const env = { ...ENV, WEBHOOK_RETRY_SECONDS: '1' }
    const service = await startWithSample(env, onTestFinished)
    const ends = {
      '/ok': { state: 'delivered', attempts: 1, last_status: 204 },
      '/once': { state: 'delivered', attempts: 2, last_status: 204 },
      '/slow': { state: 'dead', attempts: 2, last_error: 'no answer within 10000 ms' },
      '/status/500': { state: 'dead', attempts: 2, last_status: 500 },
      '/redirect': { state: 'dead', attempts: 2, last_status: 307 },
      '/hang-up': { state: 'dead', attempts: 2, last_status: null },
    }
    const hooks = new Map<string, string>()
    for (const path of Object.keys(ends)) {
      const { id } = await call(service, 'POST', '/v1/webhooks', { url: receiver.url + path })
      hooks.set(path, id)
      for (let n = 0; n < EVENTS; n++) await call(service, 'POST', `/v1/webhooks/${id}/test`)
    }
    const waiting = async () => {
      const lists = [...hooks.values()].map((id) => readDeliveries(service, id, 'waiting'))
      return (await Promise.all(lists)).flat().length
    }
    await expect.poll(waiting, { timeout: 200_000, interval: 1_000 }).toBe(0)
    for (const [path, id] of hooks) {
      const { deliveries } = await call(service, 'GET', `/v1/webhooks/${id}/deliveries`)
      const end = ends[path as keyof typeof ends]
      expect(deliveries, path).toMatchObject(Array(EVENTS).fill(end))
    }
    // The redirect led to an address that no attempt may go to.
    const paths = new Set((await receiver.received()).map(({ path }) => path))
    expect(paths).toEqual(new Set(hooks.keys()))
  })

  // Killed at any point, the service knows afterwards what it has not delivered.
  test('nothing is lost when the service is killed in the middle', async () => {
    const receiver = await startReceiver()
    const dataDir = embeddedDataDir()
    const env = {
      ...ENV,
      DATA_DIR: dataDir,
      RATE_LIMIT_PER_MINUTE: '1000000',
      BOOTSTRAP_OWNER_EMAIL: PROCESS_OWNER.email,
      BOOTSTRAP_OWNER_PASSWORD: PROCESS_OWNER.password,
    }
    const start = async () => {
      const process = ServiceProcess.start(env)
      onTestFinished(async () => void (await process.stop('SIGKILL')))
      const url = await process.url()
      const login = await fetch(`${url}/api/auth/login`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(PROCESS_OWNER),
      })
      const { access_token: token } = (await login.json()) as { access_token: string }
      return { process, url, token }
    }
    let service = await start()
    const types = ['webhook.test']
    const once = await call(service, 'POST', '/v1/webhooks', { url: `${receiver.url}/once`, types })
    const slow = await call(service, 'POST', '/v1/webhooks', { url: `${receiver.url}/slow`, types })
    const sent: string[] = []
    for (let round = 0; round < 3; round++) {
      for (let n = 0; n < 10; n++) {
        sent.push((await call(service, 'POST', `/v1/webhooks/${once.id}/test`)).event_id)
        await call(service, 'POST', `/v1/webhooks/${slow.id}/test`)
      }
      await delay(300 * round)
      await service.process.stop('SIGKILL')
      service = await start()
    }
    const list = async () =>
      [
        ...(await readDeliveries(service, once.id, 'delivered')),
        ...(await readDeliveries(service, once.id, 'dead')),
      ].map((one) => one.event_id)
    // An attempt that was cut off is made again when its lease has run out.
    await expect
      .poll(async () => (await list()).length, { timeout: 200_000, interval: 1_000 })
      .toBe(sent.length)
    expect(new Set(await list())).toEqual(new Set(sent))
    const ids = (await receiver.received())
      .filter(({ path }) => path === '/once')
      .map(({ headers }) => headers['webhook-id'])
    expect(new Set(ids)).toEqual(new Set(sent))
    const [waiting] = await readDeliveries(service, slow.id, 'waiting')
    expect(waiting).toBeDefined()
  }, 400_000)
})
