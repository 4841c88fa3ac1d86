import { createHmac } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { TokenResult } from '../../../../schemas/auth.ts'
import { expectSuccess, formatJson, formatRefusal } from '../../../support/expect/answers.ts'
import { backends } from '../../../support/start/databases.ts'
import { ManualClock } from '../../../support/start/manual-clock.ts'
import { OWNER, TestService } from '../../../support/start/service.ts'

const LOGIN = '/api/auth/login'
const WRONG = { status: 401, error: 'invalid_credentials', message: 'email or password is wrong' }

function decode(part: string | undefined) {
  return JSON.parse(Buffer.from(part ?? '', 'base64url').toString('utf8'))
}

describe.each(backends)('on $name', (backend) => {
  const clock = new ManualClock(Date.now())
  const service = TestService.forSuite(backend, { clock })

  /** A minute after the one before: many of these fail, and failures are bounded. */
  const login = (body: object | string) => {
    clock.advance(60_000)
    return service.call({ url: LOGIN, body })
  }

  // Clients rely on these four fields; a token that a proxy stores is a token that leaks.
  test('a login answers the four documented fields, for one hour, and forbids storing them', async () => {
    const response = await login(OWNER)
    const body = expectSuccess(response, TokenResult)
    expect(body).toEqual({
      access_token: expect.any(String),
      refresh_token: expect.stringMatching(/^[\w-]{43}$/),
      expires_in: 3600,
      token_type: 'Bearer',
    })
    expect(response.headers['cache-control']).toBe('no-store')
  })

  // Another issuer's token, or one that never ends, would pass where the service's own is meant.
  test('the access token is an HS256 JWT with subject, team, role, session, issuer, audience and one hour', async () => {
    const { access_token: token } = formatJson(await login(OWNER))
    const [header, claims, signature] = token.split('.')
    expect(decode(header)).toEqual({ alg: 'HS256', typ: 'JWT' })
    expect(decode(claims)).toEqual({
      sub: expect.stringMatching(/^usr_[0-9A-Za-z]+$/),
      team: expect.stringMatching(/^team_[0-9A-Za-z]+$/),
      role: 'owner',
      session: expect.stringMatching(/^fam_[0-9A-Za-z]+$/),
      iss: 'scoreline',
      aud: 'scoreline',
      iat: expect.any(Number),
      exp: decode(claims).iat + 3600,
    })
    expect(Math.abs(decode(claims).iat - Date.now() / 1000)).toBeLessThan(60)
    const key = service.services.jwtSecret
    const expected = createHmac('sha256', key).update(`${header}.${claims}`).digest('base64url')
    expect(signature).toBe(expected)
  })

  // One stolen session must not be all of them.
  test('each login gives a refresh token of its own', async () => {
    const [one, other] = [formatJson(await login(OWNER)), formatJson(await login(OWNER))]
    expect(one.refresh_token).not.toBe(other.refresh_token)
  })

  // Any difference would tell a stranger which addresses have an account.
  test('a wrong password and an unknown email get the identical answer', async () => {
    const wrong = await login({ ...OWNER, password: 'not the password' })
    const unknown = await login({ ...OWNER, email: 'nobody@lender.example' })
    expect(formatRefusal(wrong)).toEqual(WRONG)
    expect(formatRefusal(unknown)).toEqual(WRONG)
    const idless = ({ body, headers }: typeof wrong) => [
      body.replace(String(headers['x-request-id']), ''),
      { ...headers, 'x-request-id': '', date: '', 'x-ratelimit-remaining': '' },
    ]
    expect(idless(wrong)).toEqual(idless(unknown))
  })

  // People type their address as their phone writes it.
  test.each(['OWNER@LENDER.EXAMPLE', 'Owner@Lender.Example', ' owner@lender.example '])(
    'the email is compared without regard to case and outer white space: %j',
    async (email) => {
      expectSuccess(await login({ ...OWNER, email }), TokenResult)
    },
  )

  // A password that is nearly right is wrong: trimming or cutting it weakens every account.
  test.each([
    ['in another case', OWNER.password.toUpperCase()],
    ['with a space behind', `${OWNER.password} `],
    ['with a NUL behind', `${OWNER.password}\0`],
    ['cut', OWNER.password.slice(0, -1)],
    ['a NUL', '\0'],
    ['a lone surrogate', '\ud800'],
    ['as long as allowed', 'x'.repeat(1024)],
  ])('a password %s is a wrong one', async (_, password) => {
    expect(formatRefusal(await login({ ...OWNER, password }))).toEqual(WRONG)
  })

  // PostgreSQL can't hold NUL or half a character: such text in a query would be a failure of ours.
  test.each([
    ['a NUL', 'owner\0@lender.example'],
    ['a NUL behind', `${OWNER.email}\0`],
    ['a lone surrogate', 'owner\ud800@lender.example'],
    ['no @', 'owner'],
    ['a wildcard', '%@lender.example'],
    ['a quote', "owner@lender.example' or ''='"],
    ['254 characters', 'a'.repeat(254)],
  ])('an email with %s is an unknown one', async (_, email) => {
    expect(formatRefusal(await login({ ...OWNER, email }))).toEqual(WRONG)
  })

  test.each([
    ['without a password', { email: OWNER.email }, 'password'],
    ['without an email', { password: OWNER.password }, 'email'],
    ['with an empty email', { ...OWNER, email: '' }, 'email'],
    ['with an empty password', { ...OWNER, password: '' }, 'password'],
    ['with a number for an email', { ...OWNER, email: 1 }, 'email'],
    ['with null for a password', { ...OWNER, password: null }, 'password'],
    ['with true for a password', { ...OWNER, password: true }, 'password'],
    ['with a list of emails', { ...OWNER, email: [OWNER.email] }, 'email'],
    ['with an email of 255 characters', { ...OWNER, email: 'a'.repeat(255) }, 'email'],
    ['with a password of 1025', { ...OWNER, password: 'x'.repeat(1025) }, 'password'],
    ['with an unknown field', { ...OWNER, otp: '123456' }, 'otp'],
    ['that is a list', [OWNER], ''],
  ])('a login body %s is 400 and says where', async (_, body, path) => {
    const refusal = formatRefusal(await login(body))
    expect(refusal).toMatchObject({ status: 400, error: 'invalid_request' })
    expect(refusal.details?.[0]?.path).toBe(path)
  })

  // Signing in is open to anyone, so what it reads has a bound of its own.
  test('a login body above 16 KiB is refused as too large', async () => {
    const response = await login({ ...OWNER, password: 'x'.repeat(16 * 1024) })
    expect(formatRefusal(response)).toMatchObject({ status: 413, error: 'payload_too_large' })
  })
})
