import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { expect, test } from 'vitest'
import { isLostWrite } from '../../../../src/platform/db/lost-writes.ts'

// postgres.js leaves such an error of its socket to nobody when the server ends a connection.
test('the error of a connection that its server resets does not end the process', async () => {
  const server = createServer((socket) => socket.once('data', () => socket.resetAndDestroy()))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  socket.write('a query')
  const error = await new Promise((resolve) => socket.once('error', resolve))
  server.close()
  expect(error).toMatchObject({ code: 'ECONNRESET' })
  expect(isLostWrite(error)).toBe(true)
})

test('any other uncaught error ends the process', () => {
  expect(isLostWrite(new Error('a fault of the service'))).toBe(false)
  expect(isLostWrite(Object.assign(new Error('read'), { code: 'ECONNRESET' }))).toBe(false)
  expect(isLostWrite('a text')).toBe(false)
  const ofOutput = Object.assign(new Error('write EPIPE'), { code: 'EPIPE', syscall: 'write' })
  ofOutput.stack =
    'Error: write EPIPE\n    at WriteWrap.onWriteComplete (node:internal/stream:87:19)'
  expect(isLostWrite(ofOutput)).toBe(false)
})
