import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { afterEach, describe, expect, test } from 'vitest'
import { backends, type TestDatabase } from '../../support/databases.ts'
import { post, ServiceProcess } from '../../support/process.ts'
import { ScoreLoad } from '../../support/score-load.ts'
import { drain, openSpool } from '../../support/spools.ts'

const OWNER = { email: 'owner@lender.example', password: 'a long enough password' }
/** Twenty where the issue is proven; continuous integration has less time. */
const KILLS_ASKED = process.env['SCORELINE_TEST_KILLS']
const KILLS = Number(KILLS_ASKED ?? 3)
const CLIENTS = 20
const spec = JSON.parse(
  readFileSync(new URL('../../../src/demo/german-credit/spec.json', import.meta.url), 'utf8'),
)

let running: ServiceProcess | undefined
let database: TestDatabase | undefined

afterEach(async () => {
  await running?.stop('SIGKILL')
  await database?.drop()
})

async function start(env: Record<string, string> = {}): Promise<string> {
  running = ServiceProcess.start({
    DATA_DIR: database?.dataDir ?? '',
    ...(database?.databaseUrl && { DATABASE_URL: database.databaseUrl }),
    JWT_SECRET: 'secret of the tests, long enough',
    BOOTSTRAP_OWNER_EMAIL: OWNER.email,
    BOOTSTRAP_OWNER_PASSWORD: OWNER.password,
    ...env,
  })
  return running.url()
}

async function deploySample(url: string): Promise<{ path: string; key: string }> {
  const login = await post(`${url}/api/auth/login`, OWNER)
  const token = String(login.body['access_token'])
  const order = { spec, environment: 'production', auto_deploy: true }
  const deployed = await post(`${url}/v1/models/deploy`, order, token)
  const { slug } = deployed.body['deployment'] as { slug: string }
  const created = await post(`${url}/v1/keys`, { name: 'a key' }, token)
  return { path: `/v1/score/${slug}`, key: String(created.body['key']) }
}

/** Every result of the log, once the service has ended: request ids with the results they have. */
async function loggedResults(): Promise<{ logged: Map<string, number>; twice: number }> {
  const logged = new Map<string, number>()
  let twice = 0
  const spool = await openSpool(join(database?.dataDir ?? '', 'spool'), { name: 'reader' })
  const { records, rejected } = await drain(spool)
  await spool.close()
  expect(rejected).toEqual([])
  for (const { requestId, models } of records) {
    if (logged.has(requestId)) twice++
    logged.set(requestId, models[0]?.scores.length ?? 0)
  }
  return { logged, twice }
}

async function expectReconciled(load: ScoreLoad): Promise<void> {
  const { answered, results, refused } = load
  const { logged, twice } = await loggedResults()
  const lost = [...answered].filter(([id, count]) => logged.get(id) !== count)
  const figures = {
    answered: answered.size,
    results,
    logged: logged.size,
    lost: lost.length,
    twice,
  }
  if (KILLS_ASKED !== undefined) process.stdout.write(`${JSON.stringify(figures)}\n`)
  expect(figures).toMatchObject({ lost: 0, twice: 0 })
  expect([...refused]).toEqual([])
  expect(answered.size).toBeGreaterThan(50)
}

describe.each(backends)('on $name', (backend) => {
  // The log is what a lender shows the regulator: an answer that is not in it was never explained.
  test(`every answer is logged once, over ${KILLS} kills under load`, async () => {
    database = await backend.create()
    let url = await start()
    const { path, key } = await deploySample(url)
    const load = new ScoreLoad()
    for (let kill = 0; kill < KILLS; kill++) {
      load.start(url + path, key, CLIENTS)
      // Each time at another moment of what the service does.
      await setTimeout(150 + ((kill * 37) % 200))
      await running?.stop('SIGKILL')
      await load.end()
      url = await start()
    }
    expect(await running?.stop()).toBe(0)
    await expectReconciled(load)
  })

  test('every answer is logged once when the service is told to end under load', async () => {
    database = await backend.create()
    const url = await start({ SCORE_LOG_DURABILITY: 'disk' })
    const { path, key } = await deploySample(url)
    const load = new ScoreLoad()
    load.start(url + path, key, CLIENTS)
    await setTimeout(500)
    expect(await running?.stop('SIGTERM')).toBe(0)
    await load.end()
    await expectReconciled(load)
  })
})
