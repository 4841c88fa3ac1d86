import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { openDatabase } from '../../../src/platform/db/open.ts'
import { startFakePostgres } from '../../support/servers/fake-postgres.ts'
import { freePort } from '../../support/servers/free-port.ts'
import { newDataDir } from '../../support/start/databases.ts'

async function formatRefusal(url: string): Promise<string> {
  const opened = openDatabase({
    url,
    directory: join(newDataDir(), 'postgres'),
    onCrash: () => undefined,
  })
  return opened.then(
    (handle) => handle.close().then(() => 'it opened'),
    (error: Error) => error.message,
  )
}

// Its advisory locks do nothing and say nothing: replicas would damage each other's work.
test('CockroachDB is refused by name before anything is written', { timeout: 20_000 }, async () => {
  const port = await startFakePostgres('CockroachDB CCL v25.2.1 (x86_64-pc-linux-gnu)')
  const message = await formatRefusal(`postgres://user:hush-hush@127.0.0.1:${port}/scoreline`)
  expect(message).toContain('it is CockroachDB, whose advisory locks lock nothing')
  expect(message).not.toContain('hush-hush')
})

// A driver that tries its hosts for ever would leave the start hanging.
test('of several servers that are all away the start says so at once', async () => {
  const [one, other] = [await freePort(), await freePort()]
  const startedMs = performance.now()
  const message = await formatRefusal(
    `postgres://user@127.0.0.1:${one},127.0.0.1:${other}/db?target_session_attrs=primary`,
  )
  expect(message).toContain('none of its servers is a primary that can be reached (NO_PRIMARY)')
  expect(performance.now() - startedMs).toBeLessThan(4_000)
})

// A forwarder without a server behind it, and a server that froze amid a start: the driver alone
// would connect again without a pause, or wait for ever.
test.each([
  ['ends each connection', (socket: Socket) => socket.once('data', () => socket.end())],
  ['takes connections and is silent', () => undefined],
] as const)(
  'a server that %s is away within its time',
  { timeout: 20_000 },
  async (_, onSocket) => {
    let connections = 0
    const server = createServer((socket) => {
      connections++
      socket.on('error', () => undefined)
      onSocket(socket)
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => void server.close())
    const { port } = server.address() as AddressInfo
    const startedMs = performance.now()
    const message = await formatRefusal(
      `postgres://user@127.0.0.1:${port},127.0.0.1:${await freePort()}/db?target_session_attrs=primary`,
    )
    expect(message).toContain('none of its servers is a primary that can be reached (NO_PRIMARY)')
    expect(performance.now() - startedMs).toBeLessThan(8_000)
    const heard = connections
    expect(heard).toBeLessThan(4)
    await setTimeout(200)
    expect(connections).toBe(heard)
  },
)
