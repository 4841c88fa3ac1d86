import { setTimeout } from 'node:timers/promises'
import { sql } from 'drizzle-orm'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { queryRows } from '../../../src/platform/db/client.ts'
import { openDatabase } from '../../../src/platform/db/open.ts'
import { connectPostgres } from '../../../src/platform/db/postgres.ts'
import { card, plainFeature } from '../../support/cards/cards.ts'
import { expectReconciled, printFigures } from '../../support/expect/reconciliation.ts'
import { LoadedService } from '../../support/load/loaded-service.ts'
import { loggedIds } from '../../support/score-log/log-rows.ts'
import { hasPostgresServer, PostgresServer } from '../../support/servers/postgres-server.ts'
import { TcpProxy } from '../../support/servers/tcp-proxy.ts'
import { newDataDir } from '../../support/start/databases.ts'
import { post } from '../../support/start/process.ts'
import { PROCESS_OWNER } from '../../support/start/running.ts'
import { TestService } from '../../support/start/service.ts'

const CATCH_UP_MS = 60_000
const CLIENTS = 8

/** Reads from a server, a standby too. */
async function idsOn({ url }: PostgresServer): Promise<Set<string>> {
  const { db, close } = connectPostgres(url, 1)
  try {
    return new Set(await loggedIds(db))
  } finally {
    await close()
  }
}

async function blocksOn({ url }: PostgresServer): Promise<number> {
  const { db, close } = connectPostgres(url, 1)
  const count = sql`select count(*)::integer as count from score_blocks`
  try {
    const [row] = await queryRows<{ count: number }>(db, count)
    return row?.count ?? 0
  } finally {
    await close()
  }
}

/** A primary, and a standby that follows it asynchronously over a network that can fail. */
async function startPair() {
  const primary = await PostgresServer.start()
  onTestFinished(() => primary.drop())
  const replication = await TcpProxy.start(primary.port)
  onTestFinished(() => replication.close())
  const startStandby = async () => {
    const standby = await PostgresServer.startStandby(replication.port)
    onTestFinished(() => standby.drop())
    return standby
  }
  return { primary, replication, startStandby }
}

describe.skipIf(!hasPostgresServer)('on two servers', () => {
  // The service is never restarted, and nobody tells it which server is the primary.
  test('named by one URL, a failover loses no score and no commit', async () => {
    const { primary, replication, startStandby } = await startPair()
    const standby = await startStandby()
    const hosts = `127.0.0.1:${primary.port},127.0.0.1:${standby.port}`
    const databaseUrl = `postgres://postgres@${hosts}/postgres?target_session_attrs=primary`
    const database = { databaseUrl, dataDir: newDataDir() }
    const service = new LoadedService(database)
    onTestFinished(async () => void (await service.process?.stop('SIGKILL')))
    await service.start()
    const url = (await service.process?.url()) ?? ''
    const login = await post(`${url}/api/auth/login`, PROCESS_OWNER)
    const token = String(login.body['access_token'])
    const createKey = () => post(`${url}/v1/keys`, { name: 'a key' }, token)
    await service.startLoad(CLIENTS)
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
    const before = await idsOn(primary)
    await primary.stop()
    const startedMs = performance.now()
    await setTimeout(300)
    const askedMs = performance.now()
    const refused = await createKey()
    const refusedMs = performance.now() - askedMs
    expect(refused).toMatchObject({ status: 503, body: { error: 'unavailable' } })
    // The demoted primary comes back first: it is reached, and is not the one.
    await primary.resumeAsStandby()
    expect((await createKey()).status).toBe(503)
    await standby.promote()
    const promotedMs = performance.now()
    await vi.waitFor(async () => expect((await createKey()).status).toBe(201), CATCH_UP_MS)
    const managesAfterMs = performance.now() - promotedMs
    const lacked = [...before]
    await vi.waitFor(async () => {
      const logged = await idsOn(standby)
      expect(lacked.filter((id) => !logged.has(id)).length).toBe(0)
    }, CATCH_UP_MS)
    const drainedAfterMs = performance.now() - promotedMs
    await service.process?.printed(/the database has lost records/)
    expect(service.load.refused).toEqual(new Map())
    await service.endAndDrain()
    printFigures({
      refused: [...service.load.refused],
      committedBefore: before.size,
      withoutPrimaryMs: promotedMs - startedMs,
      refusedMs,
      managesAfterMs,
      drainedAfterMs,
    })
    await expectReconciled({ ...database, databaseUrl: standby.url }, service.load)
  })

  // As behind a balancer that leaves open connections alone: only the server's refusals tell.
  test('a demoted primary counts as away, and its connections are given up', async () => {
    const { primary, startStandby } = await startPair()
    const network = await TcpProxy.start(primary.port)
    onTestFinished(() => network.close())
    const databaseUrl = `postgres://postgres@127.0.0.1:${network.port}/postgres`
    const service = await TestService.start({
      name: 'PostgreSQL',
      create: async () => ({ databaseUrl, dataDir: newDataDir(), drop: async () => undefined }),
    })
    onTestFinished(() => service.close())
    const owner = await service.signIn()
    const slug = await service.deploy(owner, card([plainFeature('income')]))
    const key = await service.createKey(owner)
    const score = () => service.call({ url: `/v1/score/${slug}`, token: key, body: { income: 1 } })
    const createKey = () =>
      service.call({ url: '/v1/keys', token: owner, body: { name: 'another' } })
    expect((await score()).statusCode).toBe(200)
    const standby = await startStandby()
    await primary.stop()
    await primary.resumeAsStandby()

    const statuses = new Set<number>()
    for (let n = 0; n < 10; n++) {
      const answer = await createKey()
      statuses.add(answer.statusCode)
      expect(answer.json().error).toBe('unavailable')
      expect((await score()).statusCode).toBe(200)
      await setTimeout(50)
    }
    expect([...statuses]).toEqual([503])
    // A start would find no place to write to.
    const opening = openDatabase({ url: standby.url, directory: newDataDir(), onCrash: () => {} })
    await expect(opening).rejects.toThrow('the server is a standby; name the primary')
    await standby.promote()
    network.routeNewTo(standby.port)
    const startedMs = performance.now()
    await vi.waitFor(async () => expect((await createKey()).statusCode).toBe(201), CATCH_UP_MS)
    printFigures({ managesAfterMs: performance.now() - startedMs })
    await vi.waitFor(() => expect(service.services.spool.stats.records).toBe(0), CATCH_UP_MS)
    expect((await idsOn(standby)).size).toBe(11)
  })
})
