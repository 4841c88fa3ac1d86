import { sql } from 'drizzle-orm'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { queryRows } from '../../../src/platform/db/client.ts'
import { connectPostgres } from '../../../src/platform/db/postgres.ts'
import { expectReconciled } from '../../support/expect/reconciliation.ts'
import { LoadedService } from '../../support/load/loaded-service.ts'
import { loggedIds } from '../../support/score-log/log-rows.ts'
import { hasPostgresServer, PostgresServer } from '../../support/servers/postgres-server.ts'
import { TcpProxy } from '../../support/servers/tcp-proxy.ts'
import { newDataDir } from '../../support/start/databases.ts'
import { withDatabase } from '../../support/start/seeded-database.ts'

const CATCH_UP_MS = 60_000

async function loggedOn({ url }: PostgresServer): Promise<Set<string>> {
  const ids = await withDatabase({ databaseUrl: url, dataDir: newDataDir() }, loggedIds)
  return new Set(ids)
}

describe.skipIf(!hasPostgresServer)('on two servers with asynchronous replication', () => {
  // The promoted server says nothing of it: only the positions of the spools show what it lacks.
  test.each(['goes on', 'is killed too'])(
    'commits that a promoted standby lacks are stored again from the spool; the service %s',
    async (end) => {
      const primary = await PostgresServer.start()
      onTestFinished(() => primary.drop())
      const replication = await TcpProxy.start(primary.port)
      onTestFinished(() => replication.close())
      const network = await TcpProxy.start(primary.port)
      onTestFinished(() => network.close())
      const url = new URL(primary.url)
      url.port = String(network.port)
      const database = { databaseUrl: url.href, dataDir: newDataDir() }
      const service = new LoadedService(database)
      onTestFinished(async () => void (await service.process?.stop('SIGKILL')))
      await service.start()
      const standby = await PostgresServer.startStandby(replication.port)
      onTestFinished(() => standby.drop())
      await service.startLoad()
      await vi.waitFor(async () => expect(await blocksOn(standby)).toBeGreaterThan(1), CATCH_UP_MS)

      // Replication stands still, and commits go on.
      replication.silenceConnections()
      replication.refuse()
      // No less than the standby has got, which may not have applied it yet.
      const replicated = await blocksOn(primary)
      await service.load.heard(60)
      await vi.waitFor(
        async () => expect(await blocksOn(primary)).toBeGreaterThan(replicated + 1),
        CATCH_UP_MS,
      )
      if (end === 'is killed too') await service.process?.stop('SIGKILL')
      const before = await loggedOn(primary)
      await primary.stop()
      await standby.promote()
      network.retarget(standby.port)
      const after = await loggedOn(standby)
      const lacked = [...before].filter((id) => !after.has(id))
      expect(lacked.length).toBeGreaterThan(0)

      if (end === 'is killed too') {
        await service.load.end()
        await service.start()
        await service.startLoad()
      }
      await vi.waitFor(async () => {
        const logged = await loggedOn(standby)
        expect(lacked.filter((id) => !logged.has(id)).length).toBe(0)
      }, CATCH_UP_MS)
      await service.process?.printed(/the database has lost records/)
      await service.endAndDrain()
      process.stdout.write(`${lacked.length} committed requests were lacking on the standby\n`)
      await expectReconciled({ ...database, databaseUrl: standby.url }, service.load)
    },
    300_000,
  )
})

async function blocksOn({ url }: PostgresServer): Promise<number> {
  const count = sql`select count(*)::integer as count from score_blocks`
  const { db, close } = connectPostgres(url, 1)
  try {
    const [row] = await queryRows<{ count: number }>(db, count)
    return row?.count ?? 0
  } finally {
    await close()
  }
}
