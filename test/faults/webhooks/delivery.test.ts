import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { WebhookReceiver } from '../../support/servers/webhook-receiver.ts'
import { embeddedDataDir } from '../../support/start/databases.ts'
import { ServiceProcess } from '../../support/start/process.ts'
import { PROCESS_OWNER, startWithSample } from '../../support/start/running.ts'

const ENV = { WEBHOOK_ALLOWED_NETWORKS: '127.0.0.1/32', WEBHOOK_RETRY_SECONDS: '1,1,2,2,3,3,5,5' }

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

const deliveriesOf = async (service: Service, webhookId: string, state: string) =>
  (await call(service, 'GET', `/v1/webhooks/${webhookId}/deliveries?state=${state}`)).deliveries

describe('whatever becomes of receiver and service, each event is delivered or dead', () => {
  test('a receiver that is down for a while gets all of them when it is back', async () => {
    const first = await startReceiver()
    const { port } = new URL(first.url)
    const service = await startWithSample(ENV, onTestFinished)
    const { id } = await call(service, 'POST', '/v1/webhooks', { url: `${first.url}/ok` })
    await first.stop()
    const sent: string[] = []
    for (let n = 0; n < 30; n++) {
      sent.push((await call(service, 'POST', `/v1/webhooks/${id}/test`)).event_id)
    }
    await delay(2_500)
    expect(await deliveriesOf(service, id, 'delivered')).toEqual([])
    const second = await startReceiver(Number(port))
    const delivered = async () => (await deliveriesOf(service, id, 'delivered')).length
    await expect.poll(delivered, { timeout: 40_000, interval: 500 }).toBe(sent.length)
    const ids = (await second.received()).map(({ headers }) => headers['webhook-id'])
    expect(new Set(ids)).toEqual(new Set(sent))
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
        ...(await deliveriesOf(service, once.id, 'delivered')),
        ...(await deliveriesOf(service, once.id, 'dead')),
      ].map((one) => one.event_id)
    // An attempt that was cut off is made again when its lease has run out.
    await expect
      .poll(async () => (await list()).length, { timeout: 120_000, interval: 1_000 })
      .toBe(sent.length)
    expect(new Set(await list())).toEqual(new Set(sent))
    const ids = (await receiver.received())
      .filter(({ path }) => path === '/once')
      .map(({ headers }) => headers['webhook-id'])
    expect(new Set(ids)).toEqual(new Set(sent))
    const [waiting] = await deliveriesOf(service, slow.id, 'waiting')
    expect(waiting).toBeDefined()
  }, 200_000)
})
