import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { NameLookup, UnknownNameError } from '../../../../src/jobs/webhooks/name-lookup.ts'
import { type Resolver, Sender } from '../../../../src/jobs/webhooks/sender.ts'
import { targetRules } from '../../../../src/jobs/webhooks/target.ts'
import { NameServer } from '../../../support/servers/name-server.ts'
import { WebhookReceiver } from '../../../support/servers/webhook-receiver.ts'

const LOCAL = ['127.0.0.1/32']
const names = new NameLookup()
const never = new AbortController().signal
const TIMEOUT_MS = 10_000

describe('a message', () => {
  let receiver: WebhookReceiver

  beforeAll(async () => {
    receiver = await WebhookReceiver.start()
  })
  afterAll(() => receiver.stop())

  interface Options {
    readonly allowed?: string[]
    readonly resolve?: Resolver
    readonly timeoutMs?: number
  }
  const send = (path: string, options: Options = {}) => {
    const { allowed = LOCAL, resolve = (name: string) => names.findAddresses(name) } = options
    const rules = targetRules(allowed)
    const sender = new Sender({ rules, resolve, timeoutMs: options.timeoutMs ?? TIMEOUT_MS })
    const url = path.startsWith('http') ? path : `${receiver.url}${path}`
    return sender.send({ url, headers: { 'webhook-id': 'evt_1' }, body: '{"a":1}' }, never)
  }
  const pathsSince = async (count: number) =>
    (await receiver.received()).slice(count).map(({ path }) => path)

  test('arrives as it is', async () => {
    const count = (await receiver.received()).length
    expect(await send('/ok')).toEqual({ status: 204, error: null })
    const [message] = (await receiver.received()).slice(count)
    expect(message).toMatchObject({
      path: '/ok',
      body: '{"a":1}',
      headers: { 'webhook-id': 'evt_1', 'content-type': 'application/json' },
    })
  })

  test.each([400, 404, 410, 500, 503])('fails with the status %d', async (status) => {
    expect(await send(`/status/${status}`)).toEqual({ status, error: `status ${status}` })
  })

  test('fails when no answer comes in time', async () => {
    const result = await send('/slow', { timeoutMs: 500 })
    expect(result).toEqual({ status: null, error: 'no answer within 500 ms' })
  })

  // An attempt that never ends keeps its place: with enough of them, no team is delivered to.
  test.each([
    ['/upgrade', { status: 101, error: 'status 101' }],
    ['/switch', { status: 101, error: 'status 101' }],
    ['/informs', { status: null, error: 'more than 4 interim responses (status 1xx)' }],
    ['/hang-up', { status: null, error: 'the connection failed: ECONNRESET' }],
  ])('ends when the receiver answers like %s', async (path, result) => {
    const beganMs = performance.now()
    expect(await send(path)).toEqual(result)
    // Before its time is over: each answer is understood, and none is waited out.
    expect(performance.now() - beganMs).toBeLessThan(TIMEOUT_MS / 2)
  })

  // What a redirect leads to was never checked: it may stand behind the service.
  test('follows no redirect', async () => {
    const count = (await receiver.received()).length
    const error = 'status 307: redirects are not followed'
    expect(await send('/redirect')).toEqual({ status: 307, error })
    expect(await pathsSince(count)).toEqual(['/redirect'])
  })

  test('counts by its status, however long the answer is', async () => {
    expect(await send('/large')).toEqual({ status: 200, error: null })
  })

  test('fails where nobody listens', async () => {
    const { error } = await send('http://127.0.0.1:1/')
    expect(error).toBe('the connection failed: ECONNREFUSED')
  })

  describe('does not leave the service for an address that is refused', () => {
    const refused = {
      status: null,
      error:
        'the name leads to no address, or to one that is not public: let the operator add its network to WEBHOOK_ALLOWED_NETWORKS',
    }
    const refusedByHttp = {
      status: null,
      error:
        'the name leads to no address, or to one to which only https may go: use https, or let the operator add its network to WEBHOOK_ALLOWED_NETWORKS',
    }
    const leadsTo =
      (...addresses: string[]): Resolver =>
      async () =>
        addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
    const https = () => receiver.url.replace('http://127.0.0.1', 'https://receiver.example')

    test.each([
      ['127.0.0.1'],
      ['10.0.0.1'],
      ['169.254.169.254'],
      ['::1'],
      ['::ffff:127.0.0.1'],
      ['8.8.8.8', '127.0.0.1'],
    ])('%s', async (...addresses) => {
      const options = { allowed: [], resolve: leadsTo(...addresses) }
      expect(await send(https(), options)).toEqual(refused)
    })

    test('that is written in the URL', async () => {
      expect(await send('https://127.0.0.1:1/', { allowed: [] })).toEqual(refused)
      expect(await send('https://[::1]:1/', { allowed: [] })).toEqual(refused)
    })

    // An answer of its own would tell which names a private network has.
    test('nor say that there is no such name', async () => {
      const unknown: Resolver = async () => {
        throw new UnknownNameError()
      }
      expect(await send(https(), { resolve: unknown })).toEqual(refused)
      expect(await send(https(), { resolve: async () => [] })).toEqual(refused)
    })

    test('that is public, by http', async () => {
      const url = receiver.url.replace('127.0.0.1', 'receiver.example')
      expect(await send(url, { resolve: leadsTo('8.8.8.8') })).toEqual(refusedByHttp)
    })

    // The same with a name server, and the service's own look-up.
    test('that a name server has changed', async () => {
      const addresses = { 'receiver.example': { ipv4: [127, 0, 0, 1] } }
      const server = await NameServer.start(addresses)
      onTestFinished(() => server.stop())
      const servers = [server.address]
      const lookup = new NameLookup({ hostsFile: '/none', resolverFile: '/none', servers })
      const resolve: Resolver = (name) => lookup.findAddresses(name)
      const url = `${receiver.url.replace('127.0.0.1', 'receiver.example')}/ok`
      expect(await send(url, { resolve })).toEqual({ status: 204, error: null })
      for (const inside of [
        [10, 0, 0, 1],
        [169, 254, 169, 254],
        [127, 0, 0, 2],
      ]) {
        addresses['receiver.example'].ipv4 = inside
        expect(await send(url, { resolve })).toEqual(refusedByHttp)
      }
      addresses['receiver.example'].ipv4 = [127, 0, 0, 1]
      expect(await send(url, { resolve })).toEqual({ status: 204, error: null })
    })

    // A name that was public when it was checked, and leads inside when it counts.
    test('that a name has changed to', async () => {
      const count = (await receiver.received()).length
      const url = receiver.url.replace('127.0.0.1', 'receiver.example')
      let looks = 0
      const changing: Resolver = async () => {
        looks++
        return [{ address: looks === 1 ? '127.0.0.1' : '127.0.0.2', family: 4 }]
      }
      expect((await send(`${url}/ok`, { resolve: changing })).error).toBeNull()
      expect(await send(`${url}/ok`, { resolve: changing })).toEqual(refusedByHttp)
      // One look-up for each attempt: the address that was checked is the one that is used.
      expect(looks).toBe(2)
      expect(await pathsSince(count)).toEqual(['/ok'])
    })
  })
})
