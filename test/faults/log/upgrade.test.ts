import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { inject, onTestFinished, test } from 'vitest'
import { expectReconciled } from '../../support/expect/reconciliation.ts'
import { expectRecounted } from '../../support/expect/recount.ts'
import { databaseUrl, onServer } from '../../support/global-setup.ts'
import { LoadedService } from '../../support/load/loaded-service.ts'
import { type Backend, backends, newDataDir } from '../../support/start/databases.ts'
import { ROOT } from '../../support/structure/documents.ts'

/** Checkout of the last release, whose data this version starts on; this one until there is one. */
const LAST_RELEASE = process.env['SCORELINE_TEST_LAST_RELEASE'] ?? ROOT
/** Moments after the start: amid migrations, amid the first batches, and later. */
const KILLS_MS = [500, 900, 1_200, 1_500, 1_900, 2_400]

// A machine may be restarted while it upgrades: nothing may depend on one start that succeeds.
test.each(backends)(
  'on $name an upgrade that is killed again and again logs each request once',
  async (backend) => {
    const database = { databaseUrl: await emptyDatabase(backend), dataDir: newDataDir() }
    const service = new LoadedService(database)
    onTestFinished(async () => void (await service.process?.stop('SIGKILL')))
    await service.start({}, join(LAST_RELEASE, 'src/server.ts'))
    await service.startLoad()
    await service.load.heard(200)
    // What it has not drained stays in its spool.
    await service.process?.stop('SIGKILL')
    await service.load.end()

    for (const killMs of KILLS_MS) {
      const started = service.startProcess().catch(() => undefined)
      await setTimeout(killMs)
      await service.process?.stop('SIGKILL')
      await started
    }
    await service.start()
    await service.startLoad()
    await service.load.heard(60)
    await service.endAndDrain()
    await expectReconciled(database, service.load)
    await expectRecounted(database)
  },
  600_000,
)

/** @returns null for the embedded one, which the first start makes */
async function emptyDatabase({ name }: Backend): Promise<string | null> {
  const { serverUrl } = inject('postgresTemplate') ?? {}
  if (name !== 'PostgreSQL' || serverUrl === undefined) return null
  const database = `scoreline_test_${randomBytes(6).toString('hex')}`
  await onServer(serverUrl, `create database ${database}`)
  onTestFinished(() => onServer(serverUrl, `drop database ${database} with (force)`))
  return databaseUrl(serverUrl, database)
}
