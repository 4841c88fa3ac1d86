import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { openRedis } from '../../../src/platform/redis.ts'

// A balancer whose server is gone accepts connections, and so does a server that stands still.
test('a connection that is accepted and never answered gives way to another one', async () => {
  let connections = 0
  const server = createServer((socket) => {
    connections++
    socket.on('error', () => undefined).resume()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const redis = openRedis(`redis://127.0.0.1:${port}`, 'test', () => 20)
  onTestFinished(() => redis.disconnect())
  await expect.poll(() => connections, { timeout: 10_000 }).toBeGreaterThan(2)
})

// With TLS a broken record is one error, and the loss of the connection can be another.
test('a connection with two errors ends no process', async () => {
  const server = createServer((socket) => {
    socket.on('error', () => undefined).resume()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const redis = openRedis(`redis://127.0.0.1:${port}`, 'test', () => 20)
  onTestFinished(() => redis.disconnect())
  await once(redis, 'connect')
  const { stream } = redis
  expect(stream.emit('error', new Error('the record is broken'))).toBe(true)
  expect(stream.emit('error', new Error('the socket is lost'))).toBe(true)
})
