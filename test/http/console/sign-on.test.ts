import type { LightMyRequestResponse } from 'fastify'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { signInAtProvider, TestProvider } from '../../support/servers/openid-provider.ts'
import { backends } from '../../support/start/databases.ts'
import { TestService } from '../../support/start/service.ts'
import { PUBLIC_URL, REDIRECT_URIS, signOnEnv } from '../../support/start/sign-on.ts'

type Headers = Readonly<Record<string, string>>

const [first = expect.fail('there is a database')] = backends

describe.each(backends)('single sign-on of the console on $name', (backend) => {
  let provider: TestProvider
  let service: TestService

  beforeAll(async () => {
    provider = await TestProvider.start({ redirectUris: REDIRECT_URIS })
    const groups = ['/scoreline/admins']
    provider.accounts.set('ann', { email: 'ann@lender.example', email_verified: true, groups })
    provider.accounts.set('bob', { email: 'bob@lender.example', email_verified: true, groups: [] })
    service = await TestService.start(backend, { env: signOnEnv(provider.issuer) })
  })
  afterAll(async () => {
    await service.close()
    await provider.close()
  })

  const get = (url: string, headers: Headers = {}) => service.inject({ url, headers })
  const setCookies = ({ headers }: LightMyRequestResponse) => [headers['set-cookie'] ?? []].flat()
  const readCookie = (answer: LightMyRequestResponse, name: string) =>
    setCookies(answer)
      .find((one) => one.startsWith(`${name}=`))
      ?.split(';')[0] ?? ''

  /** Goes to the provider and comes back with its answer, which is not sent yet. */
  async function awayAndBack(name: string): Promise<{ cookie: string; back: string }> {
    const start = await get('/console/sign-on')
    const back = await signInAtProvider(String(start.headers.location), name)
    expect(back.origin).toBe(PUBLIC_URL)
    return { cookie: readCookie(start, 'scoreline_sign_on'), back: back.pathname + back.search }
  }

  test('the way out has everything secret in a sealed cookie of ten minutes', async () => {
    const start = await get('/console/sign-on')
    expect(start.statusCode).toBe(302)
    const url = new URL(String(start.headers.location))
    expect(url.origin).toBe(provider.issuer)
    expect(Object.fromEntries(url.searchParams)).toMatchObject({
      response_type: 'code',
      code_challenge_method: 'S256',
      redirect_uri: `${PUBLIC_URL}/console/callback`,
      state: expect.stringMatching(/^[\w-]{43}$/),
      nonce: expect.stringMatching(/^[\w-]{43}$/),
    })
    expect(setCookies(start)).toEqual([
      expect.stringMatching(/^scoreline_sign_on=[\w-]+; Max-Age=600; HttpOnly; SameSite=Lax$/),
    ])
    expect(start.headers).toMatchObject({
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
    })
  })

  // A token in a URL stays in histories, logs and Referer headers.
  test('the way back sets the session cookie, and no token is in a URL or a body', async () => {
    const { cookie, back } = await awayAndBack('ann')
    const answer = await get(back, { cookie })
    expect([answer.statusCode, answer.headers.location, answer.body]).toEqual([
      302,
      '../console',
      '',
    ])
    expect(setCookies(answer)).toEqual([
      'scoreline_sign_on=; Max-Age=0; HttpOnly; SameSite=Lax',
      expect.stringMatching(
        /^scoreline_session=[\w-]{43}; Max-Age=2592000; HttpOnly; SameSite=Strict$/,
      ),
    ])
    const session = readCookie(answer, 'scoreline_session')
    const renewed = await service.app.inject({
      method: 'PUT',
      url: '/console/session',
      headers: { cookie: session },
      payload: {},
    })
    expect(renewed.statusCode, renewed.body).toBe(200)
    const call = { method: 'GET', url: '/v1/members', token: renewed.json().access_token } as const
    expect((await service.call(call)).statusCode).toBe(200)
  })

  test.each<[string, (of: { cookie: string; back: string }) => [string, Headers], string]>([
    ['without its cookie', ({ back }) => [back, {}], 'flow'],
    [
      'with the cookie of a program',
      ({ back }) => [back, { cookie: 'scoreline_sign_on=A' }],
      'flow',
    ],
    [
      'with another state',
      ({ cookie, back }) => [back.replace(/state=[^&]+/, 'state=other'), { cookie }],
      'state',
    ],
    ['without a code', ({ cookie }) => ['/console/callback', { cookie }], 'code'],
    [
      'with an error of the provider',
      ({ cookie }) => ['/console/callback?error=access_denied&state=s', { cookie }],
      'access_denied',
    ],
    [
      'of another issuer',
      ({ cookie, back }) => [
        back.replace(/iss=[^&]+/, 'iss=https%3A%2F%2Fevil.example'),
        { cookie },
      ],
      'iss',
    ],
  ])('an answer %s is refused with its reason, and gives no session', async (_, of, reason) => {
    const [url, headers] = of(await awayAndBack('ann'))
    const answer = await get(url, headers)
    expect([answer.statusCode, answer.headers.location]).toEqual([302, `sign-in?refused=${reason}`])
    expect(readCookie(answer, 'scoreline_session')).toBe('')
  })

  test('a code that is sent a second time is refused', async () => {
    const { cookie, back } = await awayAndBack('ann')
    expect((await get(back, { cookie })).headers.location).toBe('../console')
    expect((await get(back, { cookie })).headers.location).toBe('sign-in?refused=code')
  })

  describe('in a browser that has a session', () => {
    const renew = (cookie: string) =>
      service.app.inject({
        method: 'PUT',
        url: '/console/session',
        headers: { cookie },
        payload: {},
      })
    /** @returns the cookie of a session */
    async function signedOn(): Promise<string> {
      const { cookie, back } = await awayAndBack('ann')
      return readCookie(await get(back, { cookie }), 'scoreline_session')
    }
    async function againWith(session: string) {
      const start = await get('/console/sign-on', { cookie: session })
      const back = await signInAtProvider(String(start.headers.location), 'ann')
      return { cookie: readCookie(start, 'scoreline_sign_on'), back: back.pathname + back.search }
    }

    // Whoever turns back at the provider, or is refused there, stays who they are.
    test('a sign-on that comes to nothing leaves the session as it is', async () => {
      const session = await signedOn()
      const { cookie } = await againWith(session)
      const refused = await get('/console/callback?error=access_denied&state=s', { cookie })
      expect(readCookie(refused, 'scoreline_session')).toBe('')
      expect((await renew(session)).statusCode).toBe(200)
    })

    // The provider sends the browser back without this cookie, and the new one takes its place.
    test('a sign-on that succeeds ends the session whose cookie it replaces', async () => {
      const session = await signedOn()
      const { cookie, back } = await againWith(session)
      // Another tab renews the session meanwhile.
      const renewed = readCookie(await renew(session), 'scoreline_session')
      const answer = await get(back, { cookie })
      expect(answer.headers.location).toBe('../console')
      expect((await renew(renewed)).statusCode).toBe(401)
      expect((await renew(readCookie(answer, 'scoreline_session'))).statusCode).toBe(200)
    })
  })

  // A link or an image elsewhere must not sign anybody on who did not ask for it.
  test.each([
    ['cross-site', '../console'],
    ['same-site', '../console'],
    ['same-origin', 'the provider'],
    ['none', 'the provider'],
  ])('a browser that comes from a page that is %s goes to %s', async (site, where) => {
    const answer = await get('/console/sign-on', { 'sec-fetch-site': site })
    const location = String(answer.headers.location)
    if (where === 'the provider') expect(location).toContain(provider.issuer)
    else {
      expect(location).toBe(where)
      expect(setCookies(answer)).toEqual([])
    }
  })

  test('somebody without a role is sent to the page that says so', async () => {
    const { cookie, back } = await awayAndBack('bob')
    expect((await get(back, { cookie })).headers.location).toBe('sign-in?refused=groups')
  })

  test('the page learns which ways of signing in there are', async () => {
    expect((await get('/console/methods')).json()).toEqual({ sign_on: true, password: true })
  })

  test('behind TLS both cookies never leave it', async () => {
    const env = signOnEnv(provider.issuer, { PUBLIC_URL: 'https://scores.lender.example' })
    const secure = await TestService.start(backend, { env })
    const start = await secure.inject({ url: '/console/sign-on' })
    await secure.close()
    expect(setCookies(start)).toEqual([
      expect.stringMatching(/^__Secure-scoreline_sign_on=.*; SameSite=Lax; Secure$/),
    ])
  })
})

test('without a provider the console has passwords alone', async () => {
  const service = await TestService.start(first)
  const methods = await service.inject({ url: '/console/methods' })
  const start = await service.inject({ url: '/console/sign-on' })
  await service.close()
  expect(methods.json()).toEqual({ sign_on: false, password: true })
  expect(start.headers.location).toBe('sign-in?refused=not_found')
})

test('while the provider is away the browser comes to the page that says so', async () => {
  const env = signOnEnv('http://127.0.0.1:9')
  const service = await TestService.start(first, { env })
  const start = await service.inject({ url: '/console/sign-on' })
  await service.close()
  expect(start.headers.location).toBe('sign-in?refused=unavailable')
})
