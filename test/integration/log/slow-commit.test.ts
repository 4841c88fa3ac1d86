import { sql } from 'drizzle-orm'
import { describe, expect, inject, onTestFinished, test, vi } from 'vitest'
import { card, plainFeature } from '../../support/cards/cards.ts'
import { loggedIds } from '../../support/score-log/log-rows.ts'
import { backends, newDataDir } from '../../support/start/databases.ts'
import { openTestDatabase } from '../../support/start/seeded-database.ts'
import { TestService } from '../../support/start/service.ts'

const DEADLINE_MS = 6_000

describe.skipIf(inject('postgresTemplate') === null)('on PostgreSQL', () => {
  // One slow commit made every later score wait for its deadline and be refused, until a restart.
  test('after commits that took longer than answers wait, scores are answered at once', async () => {
    const postgres = backends.find(({ name }) => name === 'PostgreSQL')
    const database = await postgres?.create()
    if (database === undefined) throw new Error('no PostgreSQL server was named')
    const other = await openTestDatabase({ ...database, dataDir: newDataDir() })
    const service = await TestService.start(
      { name: 'PostgreSQL', create: async () => database },
      { env: { SCORE_LOG_DURABILITY: 'database' }, answerDeadlineMs: DEADLINE_MS },
    )
    onTestFinished(async () => {
      await other.close()
      await service.close()
    })
    const token = await service.signIn()
    const url = `/v1/score/${await service.deploy(token, card([plainFeature('income')]))}`
    const key = await service.createKey(token)
    const answered: string[] = []
    const ask = async (path = url, body: object = { income: 1 }): Promise<number> => {
      const answer = await service.call({ url: path, token: key, body })
      if (answer.statusCode === 200) answered.push(answer.json().request_id)
      return answer.statusCode
    }
    const askSome = () =>
      Promise.all([ask(), ask(), ask(`${url}/batch`, { records: [{ income: 1 }, {}] })])
    expect(await askSome()).toEqual([200, 200, 200])
    for (let round = 0; round < 2; round++) {
      const release = Promise.withResolvers<void>()
      const locked = Promise.withResolvers<void>()
      const held = other.db.transaction(async (tx) => {
        await tx.execute(sql`lock table score_blocks in exclusive mode`)
        locked.resolve()
        await release.promise
      })
      await locked.promise
      expect(await askSome()).toEqual([503, 503, 503])
      release.resolve()
      await held
      await vi.waitFor(() => expect(service.services.spool.stats.records).toBe(0), 30_000)
      for (let n = 0; n < 5; n++) {
        expect(await askSome()).toEqual([200, 200, 200])
      }
    }
    const ids = await loggedIds(other.db)
    expect(ids).toEqual(expect.arrayContaining(answered))
    const { overdueRequests } = service.services.spool.stats
    expect(overdueRequests).toBe(6)
    expect(ids.length).toBe(answered.length + overdueRequests)
    const metrics = await service.inject({ method: 'GET', url: '/metrics' })
    expect(metrics.body).toMatch(/^scoreline_score_log_overdue_total 6$/m)
  })
})
