import { beforeAll, describe, expect, test } from 'vitest'
import { TokenResult } from '../../../../schemas/auth.ts'
import { newId } from '../../../../src/platform/ids.ts'
import { expectSuccess, findOutcome } from '../../../support/expect/answers.ts'
import { backends } from '../../../support/start/databases.ts'
import { TestService } from '../../../support/start/service.ts'

/** Each may fail a login; at ten the address would be throttled. */
const ROUNDS = 9
const PASSWORD = 'correct horse battery'

describe.each(backends)('on $name', (backend) => {
  const service = TestService.forSuite(backend)
  let owner: string

  beforeAll(async () => {
    owner = await service.signIn()
  })

  // Removal and refresh lock the user and their tokens: in different orders they would deadlock.
  test('removing a member during their refreshes and sign-ins succeeds and is final', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const body = { email: `${newId('usr_', 0)}@lender.example`, password: PASSWORD }
      const create = { url: '/v1/members', token: owner, body: { ...body, role: 'viewer' } }
      const { id } = (await service.call(create)).json()
      const login = () => service.call({ url: '/api/auth/login', body })
      const refresh = (refresh_token: string) =>
        service.call({ url: '/api/auth/refresh', body: { refresh_token } })
      const sessions = await Promise.all([login(), login()])
      const tokens = sessions.map(
        (session) => expectSuccess(session, TokenResult).refresh_token as string,
      )

      const [removal, ...others] = await Promise.all([
        service.call({ method: 'DELETE', url: `/v1/members/${id}`, token: owner }),
        ...tokens.map(refresh),
        ...tokens.map(refresh),
        login(),
      ])
      expect(removal?.statusCode).toBe(204)
      for (const response of others) {
        expect(findOutcome(response)).toMatch(/^(200|401 invalid_(refresh_token|credentials))$/)
      }
      const kept = others.filter(({ statusCode }) => statusCode === 200)
      for (const session of kept) {
        const { refresh_token, access_token: token } = session.json()
        expect(findOutcome(await refresh(refresh_token))).toBe('401 invalid_refresh_token')
        const ask = { method: 'GET', url: '/v1/keys', token } as const
        expect(findOutcome(await service.call(ask))).toBe('401 unauthorized')
      }
    }
  })
})
