import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { expect, inject, onTestFinished, test } from 'vitest'
import { openRedis } from '../../../src/platform/redis.ts'

const redisUrl = inject('redisUrl')

// ioredis would subscribe by itself, with a promise that nobody handles: the process would end.
test.skipIf(redisUrl === null)(
  'a subscription that is cut off again and again harms nobody',
  async () => {
    const { port } = new URL(redisUrl ?? '')
    let subscriptions = 0
    const proxy = createServer((client) => {
      const server = connect(Number(port), '127.0.0.1')
      for (const socket of [client, server]) socket.on('error', () => undefined)
      client.on('data', (data) => {
        const isSubscription = /subscribe/i.test(data.toString())
        // The first one is answered, and then lost.
        if (isSubscription && subscriptions++ > 0) client.destroy()
        else server.write(data)
      })
      server.on('data', (data) => {
        client.write(data)
        if (/subscribe/i.test(data.toString())) setTimeout(() => client.destroy(), 20)
      })
    }).listen(0, '127.0.0.1')
    await once(proxy, 'listening')
    onTestFinished(() => void proxy.close())
    const unhandled: unknown[] = []
    const note = (error: unknown) => void unhandled.push(error)
    process.on('unhandledRejection', note)
    onTestFinished(() => void process.off('unhandledRejection', note))
    const proxyUrl = `redis://127.0.0.1:${(proxy.address() as AddressInfo).port}`
    const redis = openRedis(proxyUrl, 'test', () => 20)
    onTestFinished(() => redis.disconnect())
    redis.on('ready', () => {
      redis.subscribe('changes').catch(() => undefined)
    })
    await expect.poll(() => subscriptions, { timeout: 10_000 }).toBeGreaterThan(5)
    expect(unhandled).toEqual([])
  },
)
