import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { Connections } from '../../../src/http/overload/load-shedder.ts'
import { readScoresFrom } from '../../../src/scoring/fast-path/score-connection.ts'
import { steppingClock } from '../../support/start/team.ts'

const SILENT_MS_MAX = 20_000

/** A server with the service's own connections, for a process with so many file handles. */
async function serving(handles: number) {
  const connections = new Connections(handles)
  const server = createServer((_request, response) => response.end('answered'))
  const taker = { bodyBytesMax: 1_000, clock: steppingClock(), take: () => false }
  readScoresFrom(server, taker)
  connections.watch(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const open = async () => {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => undefined)
    onTestFinished(() => void socket.destroy())
    await once(socket, 'connect')
    return socket
  }
  return { connections, open, url: `http://127.0.0.1:${port}` }
}

// Without the bound the process had no handle left for its database: the drain stood still.
test('connections are bounded below the file handles, and counted', async () => {
  const { connections, open } = await serving(253)
  expect(connections.max).toBe(53)
  const sockets = await Promise.all(Array.from({ length: 53 }, open))
  await expect.poll(() => connections.open).toBe(53)
  const refused = await open()
  if (!refused.closed) await once(refused, 'close')
  expect(connections).toMatchObject({ open: 53, refused: 1 })
  sockets[0]?.destroy()
  await expect.poll(() => connections.open).toBe(52)
  await open()
  await expect.poll(() => connections.open).toBe(53)
})

test(
  'a connection that sends nothing gives its handle back, and one that asked stays',
  async () => {
    const { connections, open } = await serving(1_000)
    const silent = await open()
    const asking = await open()
    asking.write('GET / HTTP/1.1\r\nHost: test\r\n\r\n')
    silent.resume()
    await once(silent, 'close')
    expect(connections.open).toBe(1)
    expect(asking.closed).toBe(false)
  },
  SILENT_MS_MAX,
)
