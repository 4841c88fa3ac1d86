import { readFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { expectReconciled } from '../support/expect/reconciliation.ts'
import { ScoreLoad } from '../support/load/score-load.ts'
import { hasPostgresServer, PostgresServer } from '../support/servers/postgres-server.ts'
import { newDataDir } from '../support/start/databases.ts'
import { post, ServiceProcess } from '../support/start/process.ts'

const OWNER = { email: 'owner@lender.example', password: 'a long enough password' }
const spec = JSON.parse(
  readFileSync(new URL('../../src/cli/demo/german-credit/spec.json', import.meta.url), 'utf8'),
)

async function deploySample(url: string): Promise<{ path: string; key: string }> {
  const login = await post(`${url}/api/auth/login`, OWNER)
  const token = String(login.body['access_token'])
  const order = { spec, environment: 'production', auto_deploy: true }
  const deployed = await post(`${url}/v1/models/deploy`, order, token)
  const { slug } = deployed.body['deployment'] as { slug: string }
  const created = await post(`${url}/v1/keys`, { name: 'a key' }, token)
  return { path: `/v1/score/${slug}`, key: String(created.body['key']) }
}

describe.skipIf(!hasPostgresServer)(
  'while PostgreSQL takes connections and answers nothing',
  () => {
    // Everything that ends waits for the database, one after the other; the sum must stay within 10
    // s.
    test.each(['process', 'database'])(
      'SIGTERM under load ends the service with exit 0, and nothing that was answered is lost (%s)',
      async (durability) => {
        const server = await PostgresServer.start()
        onTestFinished(() => server.drop())
        const dataDir = newDataDir()
        const env = {
          DATA_DIR: dataDir,
          DATABASE_URL: server.url,
          SCORE_LOG_DURABILITY: durability,
          JWT_SECRET: 'secret of the tests, long enough',
          BOOTSTRAP_OWNER_EMAIL: OWNER.email,
          BOOTSTRAP_OWNER_PASSWORD: OWNER.password,
          RATE_LIMIT_PER_MINUTE: '1000000000',
        }
        let running = ServiceProcess.start(env)
        onTestFinished(() => void running.stop('SIGKILL'))
        const url = await running.url()
        const { path, key } = await deploySample(url)
        const load = new ScoreLoad()
        load.start(url + path, key, 10)
        await load.heard(100)
        server.signal('SIGSTOP')
        onTestFinished(() => server.signal('SIGCONT'))
        await setTimeout(700)
        const exitCode = await running.stop('SIGTERM')
        await load.end()
        server.signal('SIGCONT')
        expect(exitCode).toBe(0)
        running = ServiceProcess.start(env)
        const restartedUrl = await running.url()
        const waiting = async () => {
          const metrics = await (await fetch(`${restartedUrl}/metrics`)).text()
          return /^scoreline_spool_records\S* (\d+)$/m.exec(metrics)?.[1]
        }
        await expect.poll(waiting, { timeout: 30_000, interval: 200 }).toBe('0')
        expect(await running.stop()).toBe(0)
        const database = { databaseUrl: server.url, dataDir, drop: async () => undefined }
        await expectReconciled(database, load)
      },
    )
  },
)
