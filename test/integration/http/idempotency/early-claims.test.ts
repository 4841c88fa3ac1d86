import { randomBytes } from 'node:crypto'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { RedisClaims } from '../../../../src/http/idempotency/score-claims/redis-claims.ts'
import type { ClaimReply } from '../../../../src/http/idempotency/score-claims/score-claim.ts'
import { newId } from '../../../../src/platform/ids.ts'
import { openRedis } from '../../../../src/platform/redis.ts'
import { RedisRide } from '../../../../src/platform/redis-ride.ts'
import { RedisServer } from '../../../support/servers/redis-server.ts'
import { TcpProxy } from '../../../support/servers/tcp-proxy.ts'

interface Claiming {
  readonly keyHash?: Uint8Array
  readonly requestId?: string
  readonly onReply?: () => void
}

const FREE = { held: null, mark: '' }

describe.skipIf(inject('redisUrl') === null)('claims that leave with the quota', () => {
  // Each write wakes Redis, which costs more than the claims.
  test('ride over its connection, before its call, as many as there are', async () => {
    const { claimEarly, askQuota, ride, ownCalls } = await open()
    const before = await ownCalls()
    ride.isExpected = true
    const order: string[] = []
    const replies = Array.from({ length: 300 }, () =>
      claimEarly({ onReply: () => order.push('claim') }),
    )
    ride.leave(() => void askQuota().then(() => order.push('quota')))
    expect(await Promise.all(replies)).toEqual(replies.map(() => FREE))
    await expect.poll(() => order).toContain('quota')
    expect(order.indexOf('quota')).toBe(300)
    expect(await ownCalls()).toBe(before)
  })

  test('find who has a key', async () => {
    const { claimEarly, askQuota, ride } = await open()
    const keyHash = randomBytes(16)
    const claim = (requestId: string) => {
      const reply = claimEarly({ keyHash, requestId })
      ride.leave(() => void askQuota())
      return reply
    }
    const [first, second] = [newId('req_', 1), newId('req_', 2)]
    expect(await claim(first)).toEqual(FREE)
    expect(await claim(first)).toEqual(FREE)
    expect((await claim(second))?.held).toMatchObject({ state: 'claimed', requestId: first })
  })

  test('leave alone if the quota asks no Redis, or decides without', async () => {
    const { claimEarly, ride, ownCalls } = await open()
    const before = await ownCalls()
    expect(await claimEarly()).toEqual(FREE)
    expect(await ownCalls()).toBe(before + 1)
    ride.isExpected = true
    const waiting = claimEarly()
    ride.cancel()
    expect(await waiting).toEqual(FREE)
    expect(await ownCalls()).toBe(before + 2)
  })

  // A Redis that was replaced has other keys: two servers would give a key to two requests.
  test('leave alone if the quota is counted in another run of Redis', async () => {
    const { claimEarly, askQuota, ride, ownCalls } = await open()
    const before = await ownCalls()
    ride.run = 'another run'
    const waiting = claimEarly()
    ride.leave(() => void askQuota())
    expect(await waiting).toEqual(FREE)
    expect(await ownCalls()).toBe(before + 1)
  })

  test('have no reply if the connection is lost, or says nothing for a second', async () => {
    const { claimEarly, askQuota, ride, proxy } = await open()
    const lost = claimEarly()
    ride.leave(() => askQuota().catch(() => undefined))
    proxy.refuse()
    expect(await lost).toBe(null)
    await expect.poll(() => ride.run).toBe(null)
    proxy.admit()
    await expect.poll(() => ride.run).not.toBe(null)
    proxy.silenceConnections()
    const silent = claimEarly()
    ride.leave(() => askQuota().catch(() => undefined))
    expect(await silent).toBe(null)
  })
})

/** Opens the connections of the claims and of the quota, whose calls the test sends. */
async function open() {
  const server = await RedisServer.start()
  onTestFinished(() => server.remove())
  const proxy = await TcpProxy.start(server.port)
  onTestFinished(() => proxy.close())
  const ride = new RedisRide()
  const opened = Promise.withResolvers<string>()
  const claims = new RedisClaims({
    url: server.url,
    ride,
    place: 'of a test',
    onOpen: opened.resolve,
    onLost: () => undefined,
  })
  onTestFinished(() => claims.close())
  const quota = openRedis(`redis://127.0.0.1:${proxy.port}`, 'quota', () => 20)
  onTestFinished(() => quota.disconnect())
  quota.defineCommand('countQuota', { lua: 'return 1', numberOfKeys: 0 })
  ride.attach(quota)
  await opened.promise
  await expect.poll(() => ride.run).not.toBe(null)
  const ownCalls = await watchScripts(server, 'scoreline-keys')
  const claimEarly = ({
    keyHash = randomBytes(16),
    requestId = newId('req_', 1),
    onReply = () => {},
  }: Claiming = {}) =>
    new Promise<ClaimReply | null>((resolve) => {
      claims.claimEarly({ keyHash, bodyTag: 'a'.repeat(8), requestId }, (reply) => {
        onReply()
        resolve(reply)
      })
    })
  const askQuota = () => (quota as unknown as { countQuota(): Promise<number> }).countQuota()
  return { claimEarly, askQuota, ride, proxy, ownCalls }
}

/** @returns counts the scripts that Redis has got over the connections of a name */
async function watchScripts(server: RedisServer, name: string): Promise<() => Promise<number>> {
  const client = server.client()
  onTestFinished(() => client.disconnect())
  const monitor = await client.monitor()
  onTestFinished(() => monitor.disconnect())
  const sources: string[] = []
  let echoed = ''
  monitor.on('monitor', (_time, [command = '', text = '']: string[], source: string) => {
    if (command.startsWith('eval')) sources.push(source)
    if (command === 'echo') echoed = text
  })
  return async () => {
    const text = randomBytes(8).toString('hex')
    await client.echo(text)
    await expect.poll(() => echoed).toBe(text)
    const lines = String(await client.client('LIST')).split('\n')
    const named = lines.filter((line) => line.includes(` name=${name} `))
    const addresses = named.map((line) => /addr=(\S+)/.exec(line)?.[1] ?? '')
    return sources.filter((source) => addresses.includes(source)).length
  }
}
