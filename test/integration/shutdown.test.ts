import { setTimeout } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { newDataDir } from '../support/databases.ts'
import { hasPostgresServer, PostgresServer } from '../support/postgres-server.ts'
import { ServiceProcess } from '../support/process.ts'
import { expectReconciled } from '../support/reconciliation.ts'
import { deploySample, PROCESS_OWNER } from '../support/running.ts'
import { ScoreLoad } from '../support/score-load.ts'

describe.skipIf(!hasPostgresServer)(
  'while PostgreSQL takes connections and answers nothing',
  () => {
    // Everything that ends waits for the database, one after the other; the sum must stay within 10 s.
    test.each(['process', 'database'])(
      'SIGTERM under load ends the service with exit 0, and nothing that was answered is lost (%s)',
      async (durability) => {
        const server = await PostgresServer.start()
        onTestFinished(() => server.drop())
        const dataDir = newDataDir()
        const env = {
          ...{ DATA_DIR: dataDir, DATABASE_URL: server.url, SCORE_LOG_DURABILITY: durability },
          JWT_SECRET: 'secret of the tests, long enough',
          BOOTSTRAP_OWNER_EMAIL: PROCESS_OWNER.email,
          BOOTSTRAP_OWNER_PASSWORD: PROCESS_OWNER.password,
          RATE_LIMIT_PER_MINUTE: '1000000000',
        }
        let running = ServiceProcess.start(env)
        onTestFinished(() => void running.stop('SIGKILL'))
        const url = await running.url()
        const { endpoint, key } = await deploySample(url)
        const load = new ScoreLoad()
        load.start(endpoint, key, 10)
        await load.heard(100)
        server.signal('SIGSTOP')
        onTestFinished(() => server.signal('SIGCONT'))
        await setTimeout(700)
        const exitCode = await running.stop('SIGTERM')
        await load.end()
        server.signal('SIGCONT')
        expect(exitCode).toBe(0)
        running = ServiceProcess.start(env)
        await running.url()
        await setTimeout(1_000)
        expect(await running.stop()).toBe(0)
        const database = { databaseUrl: server.url, dataDir, drop: async () => undefined }
        await expectReconciled(database, load)
      },
      120_000,
    )
  },
)
