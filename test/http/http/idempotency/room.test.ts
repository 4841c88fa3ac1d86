import { sql } from 'drizzle-orm'
import { expect, onTestFinished, test } from 'vitest'
import { IdempotencyStore } from '../../../../src/http/idempotency/store.ts'
import { keyed, newKey } from '../../../support/scenarios/idempotency.ts'
import { backends } from '../../../support/start/databases.ts'
import { databaseForTest } from '../../../support/start/seeded-database.ts'
import { numberedSpec, type Team, TwoTeams } from '../../../support/start/team.ts'

// A loop of one team must not take from others what makes their retries safe.
test('a team that has filled its part is executed without being kept, and others are kept', async () => {
  const [backend = expect.fail()] = backends
  const teams = await TwoTeams.start(backend, { env: { IDEMPOTENCY_MAX_BYTES: '1048576' } })
  const { service, team, otherTeam } = teams
  onTestFinished(() => service.close())
  const records = Array.from({ length: 500 }, () => ({ income: 1 }))
  const batch = async ({ key }: Team, slug: string) => {
    const url = `/v1/score/${slug}/batch`
    const answer = await keyed(service, newKey(), { url, token: key, body: { records } })
    expect(answer.statusCode).toBe(200)
    return String(answer.headers['idempotency-kept'] ?? 'true')
  }
  const [slug, otherSlug] = [
    (await team.deploy(numberedSpec(1))).slug,
    (await otherTeam.deploy(numberedSpec(1))).slug,
  ]
  const kept: string[] = []
  while (kept.at(-1) !== 'false' && kept.length < 40) kept.push(await batch(team, slug))
  expect(kept.length).toBeGreaterThan(2)
  expect(kept.at(-1)).toBe('false')
  expect(await batch(otherTeam, otherSlug)).toBe('true')
})

// A service would add what it keeps every two seconds.
test.each(backends)(
  'on $name what a team keeps is counted with that of other replicas, until it has expired',
  async (backend) => {
    const { db } = await databaseForTest(backend)
    const store = new IdempotencyStore(db)
    const of = (answers: number) => new Map([['team_a', { answers, bytes: 100 * answers }]])
    const before = (await store.addUsage(of(1))).all
    await store.addUsage(new Map([['team_b', { answers: 5, bytes: 500 }]]))
    const { teams, all } = await store.addUsage(of(2))
    expect(teams).toEqual(new Map([['team_a', { answers: 3, bytes: 300 }]]))
    expect(all).toEqual({ answers: before.answers + 7, bytes: before.bytes + 700 })
    await db.execute(sql`update idempotency_usage set hour = hour - interval '24 hours'
    where team_id = 'team_a'`)
    expect((await store.addUsage(of(1))).teams).toEqual(
      new Map([['team_a', { answers: 4, bytes: 400 }]]),
    )
    await db.execute(sql`update idempotency_usage set hour = hour - interval '2 hours'
    where team_id = 'team_a' and hour < now() - interval '20 hours'`)
    await store.removeOldUsage()
    expect((await store.addUsage(of(0))).teams).toEqual(
      new Map([['team_a', { answers: 1, bytes: 100 }]]),
    )
  },
)
