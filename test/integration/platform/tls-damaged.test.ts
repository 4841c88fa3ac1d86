import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { TLSSocket } from 'node:tls'
import { expect, onTestFinished, test } from 'vitest'
import { Connection } from '../../../src/platform/db/connection.ts'
import { Certificates } from '../../support/servers/certificates.ts'
import { hasOpenssl } from '../../support/servers/programs.ts'

async function listen(take: (socket: Socket) => void): Promise<number> {
  const server = createServer((socket) => take(socket.on('error', () => undefined)))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void server.close())
  return (server.address() as AddressInfo).port
}

/** A server that begins TLS as PostgreSQL does, and then says nothing. */
function startTlsServer(): Promise<number> {
  const certificates = new Certificates()
  onTestFinished(() => certificates.remove())
  const cert = readFileSync(certificates.certificate('right'))
  const key = readFileSync(certificates.key('right'))
  return listen((socket) =>
    socket.once('data', () => {
      socket.write('S')
      new TLSSocket(socket, { isServer: true, cert, key }).on('error', () => undefined).resume()
    }),
  )
}

/** A balancer that puts a text of its own behind what the server sends in TLS. */
function startMeddler(port: number): Promise<number> {
  return listen((near) => {
    const far = connect(port, '127.0.0.1')
    let chunks = 0
    far
      .on('error', () => undefined)
      .on('data', (data) => {
        near.write(data)
        if (++chunks === 2) near.write('HTTP/1.1 400 Bad Request\r\n\r\n')
      })
    near.on('data', (data) => far.write(data))
    near.on('close', () => far.destroy())
    far.on('close', () => near.destroy())
  })
}

// The driver hears nothing any more once the socket is closed, and TLS may report an error then.
test.skipIf(!hasOpenssl())('a damaged record of TLS fails a statement and no process', async () => {
  const port = await startMeddler(await startTlsServer())
  const uncaught: unknown[] = []
  const note = (error: unknown) => void uncaught.push(error)
  process.on('uncaughtException', note)
  onTestFinished(() => void process.off('uncaughtException', note))
  for (let n = 0; n < 5; n++) {
    const url = `postgres://postgres@localhost:${port}/postgres?sslmode=require`
    const connection = new Connection({ url })
    await expect(connection.open()).rejects.toMatchObject({ code: 'ERR_SSL_BAD_RECORD_TYPE' })
    await connection.end()
  }
  await setTimeout(100)
  expect(uncaught).toEqual([])
})
