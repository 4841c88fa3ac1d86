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
  "an admin whom another replica demoted or removed can't make, change or use a webhook",
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
      const spare = (await make(demoted)).json()
      const url = `/v1/webhooks/${id}`
      const token = tokenFor(service, demoted)
      const delivery = (await service.call({ url: `${url}/test`, token })).json()
      const tryAll = async (user: TestUser, removedId: string) => {
        const token = tokenFor(service, user)
        return [
          await make(user),
          await service.call({ method: 'PATCH', url, token, body: { url: ADDRESS } }),
          await service.call({ url: `${url}/rotate`, token, body: {} }),
          await service.call({ url: `${url}/test`, token }),
          await service.call({ url: `${url}/deliveries/${delivery.id}/replay`, token }),
          await service.call({ url: `${url}/replay`, token }),
          await service.call({ method: 'DELETE', url: `/v1/webhooks/${removedId}`, token }),
        ].map(findOutcome)
      }
      // From here on the service remembers both as admins.
      const all = ['201', '200', '200', '202', '202', '202', '204']
      expect(await tryAll(removed, spare.id)).toEqual(all)
      await withDatabase(service.config, async (db) => {
        const of = (user: TestUser) => eq(users.id, user.userId)
        await db.update(users).set({ role: 'viewer' }).where(of(demoted))
        await db.delete(users).where(of(removed))
      })
      expect(await tryAll(demoted, id)).toEqual(Array(7).fill('403 insufficient_role'))
      expect(await tryAll(removed, id)).toEqual(Array(7).fill('401 unauthorized'))
    } finally {
      await service.close()
    }
  },
)
