import { setTimeout } from 'node:timers/promises'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { expectReconciled } from '../../support/expect/reconciliation.ts'
import { LoadedService } from '../../support/load/loaded-service.ts'
import { TcpProxy } from '../../support/servers/tcp-proxy.ts'
import { hasPostgres, postgres } from '../../support/start/databases.ts'

/** Twenty where it is shown that none is lost; continuous integration has less time. */
const CUTS = Math.max(6, Number(process.env['SCORELINE_TEST_KILLS'] ?? 0))
const CUTS_MS_MAX = 150_000
/** A connection without an answer is given up after 10 s; the drain then tries others. */
const SILENT_MS = 11_000

/** The service, which reaches PostgreSQL through a network that can fail. */
async function start() {
  const database = await postgres.create()
  onTestFinished(() => database.drop())
  const url = new URL(database.databaseUrl ?? '')
  const proxy = await TcpProxy.start(Number(url.port))
  onTestFinished(() => proxy.close())
  url.port = String(proxy.port)
  const service = new LoadedService({ ...database, databaseUrl: url.href })
  onTestFinished(async () => void (await service.process?.stop('SIGKILL')))
  await service.start()
  await service.startLoad()
  return { database, proxy, service }
}

describe.skipIf(!hasPostgres)('behind a network that fails', () => {
  // Whoever sends a commit and hears nothing can't know whether it was made.
  test(`every answer is logged once, over ${CUTS} connections cut amid a commit`, async () => {
    const { database, proxy, service } = await start()
    const cuts = proxy.cutConnectionsAt('commit\0', CUTS)
    await vi.waitFor(() => expect(cuts()).toBe(CUTS), { timeout: CUTS_MS_MAX, interval: 100 })
    await service.load.heard(60)
    await service.endAndDrain()
    expect(service.load.broken).toBe(0)
    await expectReconciled(database, service.load)
  })

  test('every answer is logged once when connections swallow what is sent', async () => {
    const { database, proxy, service } = await start()
    proxy.silenceConnections()
    await setTimeout(SILENT_MS)
    await service.load.heard(60)
    await service.endAndDrain()
    expect(service.load.broken).toBe(0)
    await expectReconciled(database, service.load)
  })
})
