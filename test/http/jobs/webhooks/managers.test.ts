import { eq } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { users } from '../../../../src/tables/auth.ts'
import { findOutcome } from '../../../support/expect/answers.ts'
import { hasPostgres, lastBackend } from '../../../support/start/databases.ts'
import { seeded, withDatabase } from '../../../support/start/seeded-database.ts'
import { TestService } from '../../../support/start/service.ts'
import { insertTeam, insertUser, type TestUser, tokenFor } from '../../../support/start/users.ts'

const ADDRESS = 'https://risk.lender.example/scoreline'

// A webhook that somebody makes or turns to their own address after their dismissal would tell them
// everything for months.
// Only PostgreSQL can be changed behind the back of a service that runs, as another replica would.
test.skipIf(!hasPostgres)(
  "an admin whom another replica demoted or removed can't make or change a webhook",
  async () => {
    const teamUsers: TestUser[] = []
    const withTeam = seeded(lastBackend, async (db) => {
      const teamId = await insertTeam(db)
      for (let n = 0; n < 2; n++) teamUsers.push(await insertUser(db, teamId, 'admin'))
    })
    const service = await TestService.start(withTeam)
    try {
      const [demoted, removed] = teamUsers
      if (demoted === undefined || removed === undefined) throw new Error('no user was added')
      const make = (user: TestUser) =>
        service.call({
          url: '/v1/webhooks',
          token: tokenFor(service, user),
          body: { url: ADDRESS },
        })
      const { id } = (await make(demoted)).json()
      const url = `/v1/webhooks/${id}`
      const tryAll = async (user: TestUser) => {
        const token = tokenFor(service, user)
        return [
          await make(user),
          await service.call({ method: 'PATCH', url, token, body: { url: ADDRESS } }),
          await service.call({ url: `${url}/rotate`, token, body: {} }),
        ].map(findOutcome)
      }
      // From here on the service remembers both as admins.
      expect(await tryAll(removed)).toEqual(['201', '200', '200'])
      await withDatabase(service.config, async (db) => {
        const of = (user: TestUser) => eq(users.id, user.userId)
        await db.update(users).set({ role: 'viewer' }).where(of(demoted))
        await db.delete(users).where(of(removed))
      })
      expect(await tryAll(demoted)).toEqual(Array(3).fill('403 insufficient_role'))
      expect(await tryAll(removed)).toEqual(Array(3).fill('401 unauthorized'))
    } finally {
      await service.close()
    }
  },
)
