import { spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { expectReconciled } from '../../support/expect/reconciliation.ts'
import { LoadedService } from '../../support/load/loaded-service.ts'
import { TcpProxy } from '../../support/servers/tcp-proxy.ts'
import { hasPostgres, newDataDir, postgres } from '../../support/start/databases.ts'

const DISK_BYTES = 1024 * 1024
const FILL_MS_MAX = 100_000

/** A data directory whose spool is on a small disk of its own; null where none can be mounted. */
function smallDisk(): string | null {
  const dataDir = newDataDir()
  const spool = join(dataDir, 'spool')
  mkdirSync(spool)
  const args = ['-t', 'tmpfs', '-o', `size=${DISK_BYTES}`, 'tmpfs', spool]
  if (process.platform !== 'linux' || spawnSync('mount', args).status !== 0) return null
  // Lazily: a process that is being killed may have it open.
  onTestFinished(() => void spawnSync('umount', ['-l', spool]))
  return dataDir
}

describe.skipIf(!hasPostgres)('on PostgreSQL', () => {
  test.each(['goes on', 'is killed'])(
    'every answer is logged once when the disk of the spool is full; the service %s',
    async (end) => {
      const dataDir = smallDisk()
      if (dataDir === null) return
      const database = await postgres.create()
      onTestFinished(() => database.drop())
      const url = new URL(database.databaseUrl ?? '')
      const proxy = await TcpProxy.start(Number(url.port))
      onTestFinished(() => proxy.close())
      url.port = String(proxy.port)
      const service = new LoadedService({ databaseUrl: url.href, dataDir })
      onTestFinished(async () => void (await service.process?.stop('SIGKILL')))
      await service.start()
      await service.startLoad()
      // Nothing is drained any more: the disk fills.
      proxy.refuse()
      await vi.waitFor(() => expect(service.load.refused.get(503)).toBeGreaterThan(50), FILL_MS_MAX)
      const answered = service.load.answered.size
      if (end === 'is killed') {
        await service.process?.stop('SIGKILL')
        await service.load.end()
        proxy.admit()
        await service.start()
        await service.startLoad()
      } else proxy.admit()
      await vi.waitFor(
        () => expect(service.load.answered.size).toBeGreaterThan(answered + 100),
        FILL_MS_MAX,
      )
      await service.endAndDrain()
      await expectReconciled(database, service.load, { mayRefuse: true })
    },
  )
})
