import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { afterEach, describe, expect, test } from 'vitest'
import { expectReconciled } from '../../support/expect/reconciliation.ts'
import { keptPages } from '../../support/load/feed-puller.ts'
import { LoadedService } from '../../support/load/loaded-service.ts'
import { loggedFacts } from '../../support/score-log/log-rows.ts'
import { backends, type TestDatabase } from '../../support/start/databases.ts'
import { post, ServiceProcess } from '../../support/start/process.ts'
import { PROCESS_OWNER } from '../../support/start/running.ts'
import { withDatabase } from '../../support/start/seeded-database.ts'

const KILLS = Math.max(3, Number(process.env['SCORELINE_TEST_KILLS'] ?? 0))
const PULLER = 'test/support/load/feed-puller.ts'
/** The machine may be busy. */
const SEEN = { timeout: 60_000, interval: 20 }

let service: LoadedService | undefined
let puller: ServiceProcess | undefined
let database: TestDatabase | undefined

afterEach(async () => {
  await puller?.stop('SIGKILL')
  await service?.process?.stop('SIGKILL')
  await database?.drop()
})

describe.each(backends)('on $name', (backend) => {
  // A warehouse that has a decision twice, or lacks one, reports figures that are not the lender's.
  test(`a puller that keeps its position with each page has every score once, over ${KILLS} kills of it and of the service`, async () => {
    database = await backend.create()
    service = new LoadedService(database)
    await service.start()
    const { url } = service
    const login = await post(`${url}/api/auth/login`, PROCESS_OWNER)
    const token = String(login.body['access_token'])
    const file = join(database.dataDir, 'pulled.ndjson')
    const startPuller = (at: string) => ServiceProcess.start({}, PULLER, [at, token, file])
    const pulledMore = async () => {
      const before = keptPages(file).length
      await expect.poll(() => keptPages(file).length, SEEN).toBeGreaterThan(before)
    }
    for (let kill = 0; kill < KILLS; kill++) {
      await service.startLoad(5)
      puller = startPuller(service.url)
      await pulledMore()
      // Each time at another moment of its work.
      await setTimeout((kill * 37) % 100)
      await puller.stop('SIGKILL')
      puller = startPuller(service.url)
      await pulledMore()
      await service.process?.stop('SIGKILL')
      await puller.stop('SIGKILL')
      await service.load.end()
      await service.start()
    }
    await service.endAndDrain()
    await service.start()
    puller = startPuller(service.url)
    await puller.printed(/nothing newer/)
    await puller.stop('SIGKILL')
    expect(await service.process?.stop()).toBe(0)
    await expectReconciled(database, service.load)
    const pulled = keptPages(file).flatMap(({ scores }) => scores)
    const logged = await withDatabase(database, loggedFacts)
    const scores = logged.flatMap(({ requestId, applicants }) =>
      Array.from({ length: applicants }, (_, index) => `${requestId} ${index}`),
    )
    expect(pulled.toSorted()).toEqual(scores.toSorted())
  }, 600_000)
})
