import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { expectReconciled } from '../../support/expect/reconciliation.ts'
import { type Outcome, startClients } from '../../support/load/load-clients.ts'
import { ScoreLoad } from '../../support/load/score-load.ts'
import { loggedIds } from '../../support/score-log/log-rows.ts'
import { redisUrl } from '../../support/servers/redis.ts'
import { backends, type TestDatabase } from '../../support/start/databases.ts'
import { post, ServiceProcess } from '../../support/start/process.ts'
import { type RunningService, startWithSample } from '../../support/start/running.ts'
import { withDatabase } from '../../support/start/seeded-database.ts'

const CAN_RUN = inject('postgresTemplate') !== null && inject('redisUrl') !== null
const CLIENTS = 20
const KILLS = 2
const ATTEMPTS_MAX = 10
/** Several starts, one after the other, of several processes each. */
const TIMEOUT_MS = 400_000

/** Settings of a service with several workers, on a database of its own. */
async function settings(workers: number) {
  const postgres = backends.find(({ name }) => name === 'PostgreSQL')
  if (postgres === undefined) throw new Error('no PostgreSQL server was named')
  const database = await postgres.create()
  onTestFinished(() => database.drop())
  const env = {
    WORKERS: `${workers}`,
    DATABASE_URL: database.databaseUrl ?? '',
    DATA_DIR: database.dataDir,
    REDIS_URL: redisUrl(),
    JWT_SECRET: 'secret of the tests, long enough',
  }
  return { database, env }
}

/** Process ids of the workers that live, by the directories of their spools. */
function workerIds(dataDir: string): number[] {
  // A start that failed early has made none.
  const spools = join(dataDir, 'spool')
  return (existsSync(spools) ? readdirSync(spools) : [])
    .flatMap((name) => /^\d+-(\d+)$/.exec(name)?.[1] ?? [])
    .map(Number)
    .filter(isAlive)
}

function isAlive(processId: number): boolean {
  try {
    return process.kill(processId, 0)
  } catch {
    return false
  }
}

/** Waits until everything that was answered is in the log, while the service runs. */
async function drained(database: TestDatabase, { answered }: ScoreLoad): Promise<void> {
  const missing = () =>
    withDatabase(database, async (db) => {
      const logged = new Set(await loggedIds(db))
      return [...answered.keys()].filter((id) => !logged.has(id)).length
    })
  await expect.poll(missing, { timeout: 60_000, interval: 300 }).toBe(0)
}

/** Requests in the log once all of it is drained. */
function loggedCount(database: TestDatabase): Promise<number> {
  return withDatabase(database, async (db) => (await loggedIds(db)).length)
}

/** Values of a figure, by the worker that they are of. */
async function readMetrics({ url }: RunningService, name: string): Promise<Record<string, number>> {
  const text = await (await fetch(`${url}/metrics`)).text()
  const lines = text.matchAll(new RegExp(`^${name}\\{.*worker="(\\w+)"\\} (\\S+)$`, 'gm'))
  return Object.fromEntries([...lines].map(([, worker = '', value]) => [worker, Number(value)]))
}

/** The same, once both of two workers have reported theirs. */
async function readBoth(service: RunningService, name: string): Promise<Record<string, number>> {
  for (;;) {
    const values = await readMetrics(service, name)
    if ('1' in values && '2' in values) return values
  }
}

describe.skipIf(!CAN_RUN)('several workers on one machine', { timeout: TIMEOUT_MS }, () => {
  // What a killed worker answered stands in its spool; its replacement must bring it to the log.
  test('a killed worker is replaced, and every answer is in the log once', async () => {
    const { database, env } = await settings(2)
    const service = await startWithSample(env, onTestFinished)
    const load = new ScoreLoad()
    load.start(service.endpoint, service.key, CLIENTS)
    for (let kill = 0; kill < KILLS; kill++) {
      await setTimeout(500)
      const before = workerIds(database.dataDir)
      expect(before).toHaveLength(2)
      process.kill(before[kill % 2] ?? 0, 'SIGKILL')
      await expect
        .poll(() => workerIds(database.dataDir).filter((id) => !before.includes(id)), {
          timeout: 110_000,
        })
        .toHaveLength(1)
    }
    await load.end()
    await drained(database, load)
    await expect
      .poll(() => readMetrics(service, 'scoreline_worker_replacements_total'))
      .toEqual({ primary: KILLS })
    expect(await service.process.stop()).toBe(0)
    expect(workerIds(database.dataDir)).toEqual([])
    await expectReconciled(database, load)
  })

  test('at SIGTERM under load all workers answer what they have read, and the exit code is 0', async () => {
    const { database, env } = await settings(2)
    const { process: service, endpoint, key } = await startWithSample(env, onTestFinished)
    const outcomes: Outcome[] = []
    const loadRequest = { url: endpoint, token: key, body: '{"age_in_years":30}' }
    const stop = await startClients(CLIENTS, loadRequest, (outcome) => outcomes.push(outcome), {
      refusedPauseMs: 50,
    })
    await setTimeout(1_000)
    const exited = service.stop('SIGTERM')
    await setTimeout(400)
    expect(await exited).toBe(0)
    await stop()
    const answered = outcomes.filter(({ status }) => status === 200)
    expect(answered.length).toBeGreaterThan(50)
    // What is refused with its connection was never read; what was read was scored, logged and
    // answered.
    const lost = outcomes.filter(({ status, isNewConnection }) => {
      return status !== 200 && !(status === null && isNewConnection)
    })
    expect(lost).toEqual([])
    // What an end leaves in the spools comes to the log with the next start.
    const next = ServiceProcess.start({ ...env, WORKERS: '1' })
    onTestFinished(() => void next.stop('SIGKILL'))
    await next.url()
    await expect
      .poll(() => loggedCount(database), { timeout: 60_000, interval: 300 })
      .toBe(answered.length)
    expect(await next.stop()).toBe(0)
    expect(await loggedCount(database)).toBe(answered.length)
  })

  // Workers that go on by themselves would hold the port and the directory against the next start.
  test('with the primary killed, the workers end, and a start with fewer of them drains all', async () => {
    const { database, env } = await settings(3)
    const service = await startWithSample(env, onTestFinished)
    const load = new ScoreLoad()
    load.start(service.endpoint, service.key, CLIENTS)
    await setTimeout(700)
    const workers = workerIds(database.dataDir)
    expect(workers).toHaveLength(3)
    // What this one has answered is left behind; the others may still bring theirs to the log.
    process.kill(workers[0] ?? 0, 'SIGKILL')
    await service.process.stop('SIGKILL')
    await expect.poll(() => workers.filter(isAlive), { timeout: 60_000 }).toEqual([])
    await load.end()

    const next = ServiceProcess.start({ ...env, WORKERS: '1', PORT: '0' })
    onTestFinished(() => void next.stop('SIGKILL'))
    await next.url()
    await drained(database, load)
    expect(await next.stop()).toBe(0)
    await expectReconciled(database, load)
  })

  test('a second service on the directory of the workers is refused', async () => {
    const { env } = await settings(2)
    await startWithSample(env, onTestFinished)
    const second = ServiceProcess.start({ ...env, PORT: '0' })
    expect(await second.exit()).toBe(1)
    expect(second.output).toMatch(/The data directory \S+ is in use by process \d+/)
  })

  // Each worker by itself would grant the whole of it. A try in which a busy machine held Redis up is
  // void.
  test('a key has one quota, whichever worker is asked', async () => {
    const { env } = await settings(2)
    const service = await startWithSample(env, onTestFinished)
    const order = { name: 'small', rate_limit_per_minute: 30 }
    const sum = async (name: string) =>
      Object.values(await readBoth(service, name)).reduce((total, count) => total + count, 0)
    const countHoldUps = () => sum('scoreline_quota_degradations_total')
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      await expect.poll(() => sum('scoreline_quota_degraded')).toBe(0)
      const before = await countHoldUps()
      const { body } = await post(`${service.url}/v1/keys`, order, service.token)
      const statuses: (number | null)[] = []
      const loadRequest = { url: service.endpoint, token: String(body['key']), body: '{}' }
      const stop = await startClients(40, loadRequest, ({ status }) => statuses.push(status), {
        refusedPauseMs: 100,
      })
      while (statuses.length < 100) await setTimeout(20)
      await stop()
      if ((await countHoldUps()) > before) continue
      expect(statuses.filter((status) => status === 200)).toHaveLength(30)
      expect(new Set(statuses)).toEqual(new Set([200, 429]))
      const requests = await readBoth(service, 'scoreline_request_duration_seconds_count')
      expect(Object.keys(requests).sort(), 'both were asked').toEqual(['1', '2'])
      return
    }
    expect.fail('Redis was held up in every try')
  })

  test('probes and metrics are answered by any of them, metrics for all', async () => {
    const { env } = await settings(2)
    const service = await startWithSample(env, onTestFinished)
    for (let round = 0; round < 6; round++) {
      // A new connection each, which goes to the next worker.
      const headers = { connection: 'close' }
      for (const path of ['/livez', '/readyz']) {
        expect((await fetch(`${service.url}${path}`, { headers })).status).toBe(200)
      }
      // A worker that a busy machine holds up for a second is left out of a scrape.
      await expect
        .poll(async () => Object.keys(await readMetrics(service, 'process_start_time_seconds')))
        .toEqual(['1', '2', 'primary'])
    }
    await expect.poll(() => readMetrics(service, 'scoreline_workers')).toEqual({ primary: 2 })
  })

  test('a start that fails says why once and leaves no process', async () => {
    const { database, env } = await settings(2)
    const taken = await startWithSample(env, onTestFinished)
    const { database: other, env: again } = await settings(2)
    const port = new URL(taken.url).port
    const failing = ServiceProcess.start({ ...again, PORT: port })
    expect(await failing.exit()).toBe(1)
    expect(failing.output.match(/is taken: set PORT/g)).toHaveLength(1)
    expect(workerIds(other.dataDir)).toEqual([])
    expect(workerIds(database.dataDir)).toHaveLength(2)
  })
})
