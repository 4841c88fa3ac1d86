import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, inject, onTestFinished, test, vi } from 'vitest'
import { card, plainFeature } from '../../support/cards/cards.ts'
import { printFigures } from '../../support/expect/reconciliation.ts'
import { readStats } from '../../support/expect/stats.ts'
import { loggedIds } from '../../support/score-log/log-rows.ts'
import { hasPostgresServer, PostgresServer } from '../../support/servers/postgres-server.ts'
import { TcpProxy } from '../../support/servers/tcp-proxy.ts'
import { type Backend, backends, newDataDir } from '../../support/start/databases.ts'
import { openTestDatabase } from '../../support/start/seeded-database.ts'
import { TestService } from '../../support/start/service.ts'

/** A minute where it is shown that none is lost; continuous integration has less time. */
const AWAY_MS = Number(process.env['SCORELINE_TEST_AWAY_MS'] ?? 4_000)
const CATCH_UP_MS = 60_000
/** One deadline of 10 s, not one for each thread. */
const SILENCE_MS_MAX = 17_000

/** Scores, one request after the other on several lines, and notes what was answered with 200. */
class Load {
  readonly answeredIds: string[] = []
  readonly refusals: string[] = []
  /** Applicants. */
  answeredCount = 0
  private isOn = true
  private readonly lines: Promise<void>[]

  constructor(service: TestService, slug: string, key: string) {
    const line = async (isBatch: boolean) => {
      const applicant = { income: 1 }
      const url = `/v1/score/${slug}${isBatch ? '/batch' : ''}`
      const body = isBatch ? { records: [applicant, applicant, applicant] } : applicant
      while (this.isOn) {
        const answer = await service.call({ url, token: key, body })
        if (answer.statusCode === 200) {
          this.answeredIds.push(answer.json().request_id)
          this.answeredCount += isBatch ? 3 : 1
        } else this.refusals.push(answer.body)
        await delay(2)
      }
    }
    this.lines = [false, false, false, true].map(line)
  }

  async stop(): Promise<void> {
    this.isOn = false
    await Promise.all(this.lines)
  }
}

/** The log must hold exactly what was answered, and the stats count it. */
async function expectReconciled(
  { service, slug, owner }: Started,
  url: string,
  load: Load,
): Promise<void> {
  await vi.waitFor(() => expect(service.services.spool.stats.records).toBe(0), CATCH_UP_MS)
  const { db, close } = await openTestDatabase({ databaseUrl: url, dataDir: newDataDir() })
  const logged = await loggedIds(db)
  await close()
  const distinct = new Set(logged)
  const figures = {
    answered: load.answeredIds.length,
    logged: logged.length,
    lost: load.answeredIds.filter((id) => !distinct.has(id)).length,
    twice: logged.length - distinct.size,
  }
  printFigures(figures)
  expect(figures).toMatchObject({ lost: 0, twice: 0 })
  expect(logged.toSorted()).toEqual(load.answeredIds.toSorted())
  // The connections of the others may still have to be given up.
  const { summary } = await vi.waitFor(() => readStats(service, owner, slug), CATCH_UP_MS)
  expect(summary.total_requests).toBe(load.answeredCount)
  expect(service.services.drain.stats.quarantinedRecords).toBe(0)
}

interface Started {
  readonly service: TestService
  readonly slug: string
  readonly owner: string
  readonly key: string
}

async function startOn(backend: Backend): Promise<Started> {
  const service = await TestService.start(backend)
  onTestFinished(() => service.close())
  const owner = await service.signIn()
  const slug = await service.deploy(owner, card([plainFeature('income')]))
  return { service, slug, owner, key: await service.createKey(owner) }
}

describe.skipIf(!hasPostgresServer)('on a PostgreSQL server that is stopped', () => {
  // Whoever was answered has a decision; it must be in the log whatever becomes of the database.
  test('scoring goes on, and the log holds every answer once when the server is back', async () => {
    const server = await PostgresServer.start()
    onTestFinished(() => server.drop())
    const started = await startOn({
      name: 'PostgreSQL',
      create: async () => ({
        databaseUrl: server.url,
        dataDir: newDataDir(),
        drop: async () => undefined,
      }),
    })
    const { service, slug, key } = started
    const load = new Load(service, slug, key)
    await vi.waitFor(
      () => expect(service.services.drain.stats.drainedRecords).toBeGreaterThan(0),
      CATCH_UP_MS,
    )
    await server.stop()
    const answeredBefore = load.answeredIds.length
    await delay(AWAY_MS)
    await vi.waitFor(() => {
      expect(load.answeredIds.length).toBeGreaterThan(answeredBefore + 100)
      expect(service.services.drain.stats.failedBatches).toBeGreaterThan(0)
    }, CATCH_UP_MS)
    await server.resume()
    await delay(1_000)
    // Once more, in the middle of catching up.
    await server.stop()
    await server.resume()
    await delay(500)
    await load.stop()
    expect(load.refusals).toEqual([])
    await expectReconciled(started, server.url, load)
  }, 300_000)
})

describe.skipIf(inject('postgresTemplate') === null)('on PostgreSQL behind a network', () => {
  // A firewall that forgets a connection tells nobody: without a deadline the drain would wait for
  // ever.
  test('a connection that goes silent is given up, and the log holds every answer once', async () => {
    const postgres = backends.find((backend) => backend.name === 'PostgreSQL')
    let proxy: TcpProxy | undefined
    let directUrl = ''
    const started = await startOn({
      name: 'PostgreSQL',
      create: async () => {
        const database = await postgres?.create()
        if (database?.databaseUrl == null) throw new Error('no PostgreSQL server was named')
        directUrl = database.databaseUrl
        const url = new URL(directUrl)
        proxy = await TcpProxy.start(Number(url.port))
        url.port = String(proxy.port)
        return { ...database, databaseUrl: url.href }
      },
    })
    onTestFinished(() => proxy?.close())
    const { service, slug, key } = started
    const load = new Load(service, slug, key)
    const drained = async () => {
      const before = service.services.drain.stats.drainedRecords
      await vi.waitFor(
        () => expect(service.services.drain.stats.drainedRecords).toBeGreaterThan(before),
        SILENCE_MS_MAX,
      )
    }
    await drained()
    const silencesMs: number[] = []
    for (let round = 0; round < 2; round++) {
      proxy?.silenceConnections()
      const silentAtMs = performance.now()
      // Batches that were on their way have arrived.
      await delay(500)
      await drained()
      silencesMs.push(performance.now() - silentAtMs)
    }
    expect(Math.max(...silencesMs)).toBeGreaterThan(5_000)
    await load.stop()
    expect(load.refusals).toEqual([])
    await expectReconciled(started, directUrl, load)
  })
})
