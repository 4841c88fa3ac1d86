import { beforeAll, describe, expect, test } from 'vitest'
import { findOutcome } from '../../../support/expect/answers.ts'
import { backends } from '../../../support/start/databases.ts'
import { TestService } from '../../../support/start/service.ts'
import { claimsFor, signToken, type TestUser } from '../../../support/start/users.ts'

const NEXT = 'the next secret is long enough for it'
const FORMER = 'the former secret is long enough too'

describe.each(backends)('a rotation of the secret of tokens on $name', (backend) => {
  const service = TestService.forSuite(backend, { env: { JWT_SECRET: `${NEXT},${FORMER}` } })
  let owner: TestUser

  beforeAll(async () => {
    const token = await service.signIn()
    const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
    owner = { userId: claims.sub, teamId: claims.team, role: 'owner' }
  })

  const ask = async (token: string) =>
    findOutcome(await service.call({ method: 'GET', url: '/v1/members', token }))

  // Else every rotation would sign everybody out, and so nobody would rotate.
  test('tokens of both secrets are accepted, and of no other', async () => {
    expect(await ask(signToken(claimsFor(owner), NEXT))).toBe('200')
    expect(await ask(signToken(claimsFor(owner), FORMER))).toBe('200')
    expect(await ask(signToken(claimsFor(owner), `${NEXT},${FORMER}`))).toBe('401 unauthorized')
    const expired = { ...claimsFor(owner), exp: Math.floor(Date.now() / 1000) - 1 }
    expect(await ask(signToken(expired, FORMER))).toBe('401 unauthorized')
    const stranger = { ...claimsFor(owner), iss: 'elsewhere' }
    expect(await ask(signToken(stranger, FORMER))).toBe('401 unauthorized')
    expect(await ask(signToken(claimsFor(owner), FORMER, 'HS512'))).toBe('401 unauthorized')
  })

  test('new tokens are signed with the first secret', async () => {
    const [head, claims, signature] = (await service.signIn()).split('.')
    const read = (part = '') => JSON.parse(Buffer.from(part, 'base64url').toString())
    const again = signToken(read(claims), NEXT).split('.')
    expect(read(head)).toEqual({ alg: 'HS256', typ: 'JWT' })
    expect([claims, signature]).toEqual(again.slice(1))
  })
})
