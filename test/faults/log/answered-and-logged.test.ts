import { setTimeout } from 'node:timers/promises'
import { afterEach, describe, expect, test } from 'vitest'
import { expectReconciled } from '../../support/expect/reconciliation.ts'
import { expectRecounted } from '../../support/expect/recount.ts'
import { onServer } from '../../support/global-setup.ts'
import { LoadedService } from '../../support/load/loaded-service.ts'
import {
  type Backend,
  backends,
  hasPostgres,
  postgres,
  type TestDatabase,
} from '../../support/start/databases.ts'

/** Twenty where it is shown that none is lost; continuous integration has less time. */
const KILLS = Number(process.env['SCORELINE_TEST_KILLS'] ?? 3)

let service: LoadedService | undefined
let database: TestDatabase | undefined

afterEach(async () => {
  await service?.process?.stop('SIGKILL')
  await database?.drop()
})

async function startOn(backend: Backend, env: Record<string, string> = {}) {
  database = await backend.create()
  service = new LoadedService(database, env)
  await service.start()
  return { database, service }
}

describe.each(backends)('on $name', (backend) => {
  // The log is what a lender shows the regulator: an answer that is not in it was never explained.
  test(`every answer is logged once, over ${KILLS} kills under load`, async () => {
    const { database, service } = await startOn(backend)
    for (let kill = 0; kill < KILLS; kill++) {
      await service.startLoad()
      // Each time at another moment of what the service does.
      await setTimeout(150 + ((kill * 37) % 200))
      await service.process?.stop('SIGKILL')
      await service.load.end()
      await service.start()
    }
    await service.endAndDrain()
    await expectReconciled(database, service.load)
    await expectRecounted(database)
  }, 600_000)

  test('every answer is logged once when the service is told to end under load', async () => {
    const { database, service } = await startOn(backend, { SCORE_LOG_DURABILITY: 'disk' })
    await service.startLoad()
    await service.load.heard(40)
    await setTimeout(500)
    expect(await service.process?.stop('SIGTERM')).toBe(0)
    await service.load.end()
    await service.drainAll()
    await expectReconciled(database, service.load)
  })
})

describe.skipIf(!hasPostgres)('on PostgreSQL alone', () => {
  // A failover or an administrator does that at any moment, amid transactions too.
  test('connections that the server ends under load cost no process and no record', async () => {
    const { database, service } = await startOn(postgres)
    // What is not in memory yet can't be scored without the database: that is 503, and not meant
    // here.
    await service.startLoad()
    for (let ended = 0; ended < 20; ended++) {
      await onServer(
        database.databaseUrl ?? '',
        `select pg_terminate_backend(pid) from pg_stat_activity
          where datname = current_database() and application_name = 'scoreline'`,
      )
      await setTimeout(40)
    }
    await service.load.heard(60)
    await service.load.end()
    expect(service.load.broken).toBe(0)
    await service.endAndDrain()
    await expectReconciled(database, service.load)
  })
})
