import { eq } from 'drizzle-orm'
import { expect, test } from 'vitest'
import type { Database } from '../../../../src/platform/db/client.ts'
import { newId } from '../../../../src/platform/ids.ts'
import { refreshTokens } from '../../../../src/tables/auth.ts'
import { serviceAccounts } from '../../../../src/tables/keys.ts'
import { findOutcome } from '../../../support/expect/answers.ts'
import { hasPostgres, lastBackend } from '../../../support/start/databases.ts'
import { withDatabase } from '../../../support/start/seeded-database.ts'
import { TestService } from '../../../support/start/service.ts'

const PASSWORD = 'correct horse battery'
const ADDRESS = 'https://risk.lender.example/scoreline'

// Without Redis a replica may remember a session or token for a minute. What is made with it would
// last for months.
// Only PostgreSQL can be changed behind the back of a service that runs, as another replica would.
test.skipIf(!hasPostgres)(
  "a session or token that another replica has ended can't make or change anything",
  async () => {
    const service = await TestService.start(lastBackend)
    try {
      const behind = (work: (db: Database) => PromiseLike<unknown>) =>
        withDatabase(service.config, async (db) => void (await work(db)))
      const owner = await service.signIn()
      const body = { name: 'deployer', role: 'admin' }
      const made = await service.call({ url: '/v1/service-accounts', token: owner, body })
      const { id, token: account } = made.json()
      const makeKey = async (token: string) =>
        findOutcome(await service.call({ url: '/v1/keys', token, body: { name: 'k' } }))
      const makeOthers = async () => {
        const member = {
          email: `${newId('usr_', Date.now()).toLowerCase()}@lender.example`,
          password: PASSWORD,
          role: 'owner',
        }
        return [
          await service.call({ url: '/v1/service-accounts', token: owner, body }),
          await service.call({ url: '/v1/members', token: owner, body: member }),
          await service.call({ url: '/v1/webhooks', token: owner, body: { url: ADDRESS } }),
        ].map(findOutcome)
      }
      // From here on the service remembers both.
      expect([await makeKey(owner), await makeKey(account)]).toEqual(['201', '201'])
      expect(await makeOthers()).toEqual(Array(3).fill('201'))

      await behind((db) =>
        db
          .update(serviceAccounts)
          .set({ tokenHash: 'another', previousTokenHash: null })
          .where(eq(serviceAccounts.id, id)),
      )
      expect([await makeKey(owner), await makeKey(account)]).toEqual(['201', '401 unauthorized'])
      await behind((db) => db.update(refreshTokens).set({ revokedAt: new Date() }))
      expect(await makeKey(owner)).toBe('401 unauthorized')
      expect(await makeOthers()).toEqual(Array(3).fill('401 unauthorized'))
      // Its record follows what was erased, which can't be taken back.
      const erasure = { url: '/v1/log/erasures', token: owner, body: { reference: 'A-1' } }
      expect(findOutcome(await service.call(erasure))).toBe('200')
      const url = '/v1/audit-log?action=log.erase'
      const erasures = await service.call({ method: 'GET', url, token: owner })
      expect(erasures.json().records).toHaveLength(1)
      const list = await service.call({ method: 'GET', url: '/v1/keys', token: owner })
      // The replica has not heard of the end, else the answers above would say nothing.
      expect(list.statusCode).toBe(200)
    } finally {
      await service.close()
    }
  },
)
