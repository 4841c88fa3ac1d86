import { and, eq } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { users } from '../../../../src/tables/auth.ts'
import { findOutcome } from '../../../support/expect/answers.ts'
import { backends } from '../../../support/start/databases.ts'
import { seeded, withDatabase } from '../../../support/start/seeded-database.ts'
import { TestService } from '../../../support/start/service.ts'
import { insertTeam, insertUser, type TestUser, tokenFor } from '../../../support/start/users.ts'

/** Each of these many teams has its race. */
const ROUNDS = 15

type Ask = (service: TestService, asker: TestUser, about: TestUser) => Promise<string>

const demote: Ask = async (service, asker, about) => {
  const url = `/v1/members/${about.userId}`
  const token = tokenFor(service, asker)
  return findOutcome(await service.call({ method: 'PATCH', url, token, body: { role: 'viewer' } }))
}
const remove: Ask = async (service, asker, about) => {
  const url = `/v1/members/${about.userId}`
  return findOutcome(await service.call({ method: 'DELETE', url, token: tokenFor(service, asker) }))
}

/** What two owners do at once, and what the one who comes too late is told. */
const RACES: ReadonlyArray<[string, [Ask, Ask], 'each other' | 'himself', RegExp]> = [
  ['demote', [demote, demote], 'each other', /^403 insufficient_role$/],
  ['remove', [remove, remove], 'each other', /^401 unauthorized$/],
  [
    'demote and remove',
    [demote, remove],
    'each other',
    /^(403 insufficient_role|401 unauthorized)$/,
  ],
  ['demote', [demote, demote], 'himself', /^409 last_owner$/],
  ['remove', [remove, remove], 'himself', /^409 last_owner$/],
  ['demote and remove', [demote, remove], 'himself', /^409 last_owner$/],
]

describe.each(backends)('on $name', (backend) => {
  let service: TestService
  let teams: TestUser[][] = []

  beforeAll(async () => {
    teams = []
    const withTeams = seeded(backend, async (db) => {
      for (let n = 0; n < ROUNDS * RACES.length; n++) {
        const teamId = await insertTeam(db)
        const owner = () => insertUser(db, teamId, 'owner')
        teams.push([await owner(), await owner()])
      }
    })
    service = await TestService.start(withTeams)
    // Connections that are open already, and users that are remembered, make the races close ones.
    await Promise.all(
      teams.flat().map((owner) => {
        const token = tokenFor(service, owner)
        return service.call({ method: 'GET', url: '/v1/members', token })
      }),
    )
  })
  afterAll(() => service.close())

  // Each sees the other one as an owner who stays: without an owner nobody can manage the team
  // again.
  test.each(RACES)(
    'of two owners who %s (%#) at once, one succeeds',
    async (_, asks, whom, late) => {
      for (let round = 0; round < ROUNDS; round++) {
        const [one, other] = teams.pop() ?? []
        if (one === undefined || other === undefined) throw new Error('no team is left')
        const [first, second] = whom === 'himself' ? [one, other] : [other, one]
        const outcomes = await Promise.all([
          asks[0](service, one, first),
          asks[1](service, other, second),
        ])
        const refused = outcomes.filter((outcome) => !/^20[04]$/.test(outcome))
        expect(refused, outcomes.join()).toHaveLength(1)
        expect(refused[0]).toMatch(late)
      }
    },
  )
})

describe.each(backends)('after races on $name', (backend) => {
  test('exactly one owner is left', async () => {
    const owners: TestUser[] = []
    const withTeam = seeded(backend, async (db) => {
      const teamId = await insertTeam(db)
      for (let n = 0; n < 8; n++) owners.push(await insertUser(db, teamId, 'owner'))
    })
    const service = await TestService.start(withTeam)
    const next = (at: number) => owners[(at + 1) % owners.length] ?? expect.fail('no owner')
    await Promise.all(
      owners.map((owner, at) =>
        at % 2 === 0 ? demote(service, owner, next(at)) : remove(service, owner, owner),
      ),
    )
    await Promise.all(owners.map((owner) => demote(service, owner, owner)))
    await service.app.close()
    const keep = { databaseUrl: service.config.databaseUrl, dataDir: service.config.dataDir }
    await service.services.close()
    const left = await withDatabase(keep, (db) =>
      db
        .select({ id: users.id })
        .from(users)
        .where(and(eq(users.teamId, owners[0]?.teamId ?? ''), eq(users.role, 'owner'))),
    )
    expect(left).toHaveLength(1)
    await service.close()
  })
})
