import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { findOutcome } from '../../../support/expect/answers.ts'
import { HostileProvider, type Lie } from '../../../support/servers/hostile-provider.ts'
import {
  type Person,
  signInAtProvider,
  TestProvider,
} from '../../../support/servers/openid-provider.ts'
import { backends } from '../../../support/start/databases.ts'
import { ManualClock } from '../../../support/start/manual-clock.ts'
import { TestService } from '../../../support/start/service.ts'
import {
  endSignOn,
  formatRefusal,
  REDIRECT_URIS,
  signOn,
  signOnEnv,
  startSignOn,
} from '../../../support/start/sign-on.ts'

const ADMINS = '/scoreline/admins'
const VIEWERS = '/scoreline/viewers'

const [first = expect.fail('there is a database')] = backends

describe.each(backends)('single sign-on on $name', (backend) => {
  const clock = new ManualClock(Date.now())
  let provider: TestProvider
  let service: TestService
  let owner: string

  beforeAll(async () => {
    provider = await TestProvider.start({ redirectUris: REDIRECT_URIS })
    service = await TestService.start(backend, { clock, env: signOnEnv(provider.issuer) })
    owner = await service.signIn()
  })
  afterAll(async () => {
    await service.close()
    await provider.close()
  })

  let accounts = 0
  /** A new person at the provider. */
  function person(groups: string[], more: Partial<Person> = {}) {
    const name = `person${++accounts}`
    const email = more.email ?? `${name}@lender.example`
    provider.accounts.set(name, { email, email_verified: more.email_verified ?? true, groups })
    return { name, email }
  }
  const refresh = (token: string) =>
    service.call({ url: '/api/auth/refresh', body: { refresh_token: token } })
  const members = async () =>
    (await service.call({ method: 'GET', url: '/v1/members', token: owner })).json().members
  const makeMember = async (email: string) =>
    (await members()).find((one: { email: string }) => one.email === email)
  const records = async (subject: string) =>
    (
      await service.call({ method: 'GET', url: `/v1/audit-log?subject=${subject}`, token: owner })
    ).json().records
  const ask = (token: string) => service.call({ method: 'GET', url: '/v1/members', token })

  test('the first sign-on makes the member, and its tokens work as those of a password', async () => {
    const { name, email } = person([ADMINS, 'others'])
    const answer = await signOn(service, name)
    expect(findOutcome(answer), answer.body).toBe('200')
    expect(answer.headers['cache-control']).toBe('no-store')
    expect(findOutcome(await ask(answer.json().access_token))).toBe('200')
    const member = await makeMember(email)
    expect(member).toMatchObject({ email, role: 'admin' })
    expect(member.last_sign_in_at).not.toBeNull()
    const after = { email, role: 'admin', issuer: provider.issuer }
    expect(await records(member.id)).toMatchObject([{ action: 'member.create', after }])
    const again = await signOn(service, name)
    expect(findOutcome(again)).toBe('200')
    expect((await members()).filter((one: { email: string }) => one.email === email)).toHaveLength(
      1,
    )
  })

  test('the highest role of all groups counts', async () => {
    const { name, email } = person([VIEWERS, ADMINS, '/scoreline/modelers'])
    await signOn(service, name)
    expect((await makeMember(email)).role).toBe('admin')
  })

  test.each([
    ['no group with a role', { groups: ['others'] }, 'groups'],
    [
      'an address that nobody verified',
      { groups: [ADMINS], email_verified: false },
      'email_verified',
    ],
    ['a text that is not an address', { groups: [ADMINS], email: 'nobody' }, 'email'],
    // Lowered by Unicode, its first letter is that of another person.
    ['a Kelvin sign for a K', { groups: [ADMINS], email: '\u212aim@lender.example' }, 'email'],
    [
      'a letter that is written otherwise',
      { groups: [ADMINS], email: 'ﬁ@lender.example' },
      'email',
    ],
  ])(
    'somebody with %s is refused with the reason, and does not become a member',
    async (_, of, reason) => {
      const { name, email } = person(of.groups, of)
      expect(formatRefusal(await signOn(service, name))).toBe(`401 sign_on_refused ${reason}`)
      expect(await makeMember(email)).toBeUndefined()
    },
  )

  // Whoever leaves the company leaves its groups, and nothing else tells this service.
  test('a removed group takes the role at the next refresh, the last one the session', async () => {
    const { name, email } = person([ADMINS, VIEWERS])
    const { refresh_token: first } = (await signOn(service, name)).json()
    const groups = provider.accounts.get(name)?.groups ?? []
    groups.shift()
    const second = await refresh(first)
    expect(findOutcome(second)).toBe('200')
    expect((await makeMember(email)).role).toBe('viewer')
    expect(findOutcome(await ask(second.json().access_token))).toBe('403 insufficient_role')
    const member = await makeMember(email)
    expect((await records(member.id))[0]).toMatchObject({
      action: 'member.update',
      before: { role: 'admin' },
      after: { role: 'viewer' },
      reason: 'groups of the identity provider',
    })
    const elsewhere = (await signOn(service, name)).json()
    groups.shift()
    const third = await refresh(second.json().refresh_token)
    expect(findOutcome(third)).toBe('401 invalid_refresh_token')
    expect(third.json().message).toContain('none of your groups has a role here')
    groups.push(ADMINS)
    expect(findOutcome(await refresh(elsewhere.refresh_token))).toBe('401 invalid_refresh_token')
    expect(findOutcome(await refresh(second.json().refresh_token))).toBe(
      '401 invalid_refresh_token',
    )
  })

  test('a person whom the provider no longer knows loses the session', async () => {
    const { name } = person([ADMINS])
    const { refresh_token } = (await signOn(service, name)).json()
    provider.accounts.delete(name)
    expect(findOutcome(await refresh(refresh_token))).toBe('401 invalid_refresh_token')
  })

  // The provider's refresh tokens work once: a second use would end the session there.
  test('many refreshes at once ask the provider one after the other', async () => {
    const { name } = person([ADMINS])
    const { refresh_token } = (await signOn(service, name)).json()
    const answers = await Promise.all(Array.from({ length: 10 }, () => refresh(refresh_token)))
    expect(answers.map(findOutcome)).toEqual(Array(10).fill('200'))
    const next = new Set(answers.map((answer) => answer.json().refresh_token))
    expect(next.size).toBe(1)
    expect(findOutcome(await refresh([...next][0]))).toBe('200')
  })

  test('a member with the verified address is linked, and their password ends', async () => {
    const { name, email } = person([VIEWERS])
    const order = { email, password: 'a long password', role: 'modeler' }
    const made = await service.call({ url: '/v1/members', token: owner, body: order })
    const login = { email, password: order.password }
    const before = (await service.call({ url: '/api/auth/login', body: login })).json()
    expect(findOutcome(await signOn(service, name))).toBe('200')
    expect(await makeMember(email)).toMatchObject({ id: made.json().id, role: 'viewer' })
    expect(findOutcome(await service.call({ url: '/api/auth/login', body: login }))).toBe(
      '401 invalid_credentials',
    )
    expect(findOutcome(await refresh(before.refresh_token))).toBe('401 invalid_refresh_token')
    const actions = (await records(made.json().id)).map(({ action }: { action: string }) => action)
    expect(actions).toContain('member.link')
    // Who has the address next at the provider is another person.
    const next = person([ADMINS], { email })
    expect(formatRefusal(await signOn(service, next.name))).toBe('401 sign_on_refused member')
  })

  test('a code works once, for the sign-on that began it, within ten minutes', async () => {
    const { name } = person([ADMINS])
    const one = await startSignOn(service)
    const back = await signInAtProvider(one.authorization_url, name)
    const other = await startSignOn(service)
    const stolen = { flow: other.flow, back }
    expect(formatRefusal(await endSignOn(service, stolen))).toBe('401 sign_on_refused state')
    expect(findOutcome(await endSignOn(service, { flow: one.flow, back }))).toBe('200')
    expect(formatRefusal(await endSignOn(service, { flow: one.flow, back }))).toBe(
      '401 sign_on_refused code',
    )
    const late = await startSignOn(service)
    const backLate = await signInAtProvider(late.authorization_url, name)
    clock.advance(600_001)
    expect(formatRefusal(await endSignOn(service, { flow: late.flow, back: backLate }))).toBe(
      '401 sign_on_refused flow',
    )
    for (const flow of ['A', 'A'.repeat(500), `B${late.flow}`]) {
      expect(formatRefusal(await endSignOn(service, { flow, back }))).toBe(
        '401 sign_on_refused flow',
      )
    }
  })

  test('the code is sent to no other machine', async () => {
    const secret = 'http://:p@127.0.0.1/'
    const others = ['https://evil.example/', 'http://127.0.0.1.evil.example/', 'nonsense']
    for (const url of [...others, secret]) {
      const body = { redirect_uri: url }
      const answer = await service.call({ url: '/api/auth/oidc/start', body })
      expect(findOutcome(answer)).toBe('400 invalid_request')
    }
  })

  // A session that goes on unasked would outlive the leave of its person.
  test('while the provider is away nothing is renewed, and sessions wait for it', async () => {
    const { name } = person([ADMINS])
    const { refresh_token } = (await signOn(service, name)).json()
    const port = Number(new URL(provider.issuer).port)
    const { accounts: known } = provider
    await provider.close()
    const away = await refresh(refresh_token)
    expect(findOutcome(away)).toBe('503 unavailable')
    expect(Number(away.headers['retry-after'])).toBeGreaterThan(0)
    provider = await TestProvider.start({ port, redirectUris: REDIRECT_URIS })
    for (const [key, value] of known) provider.accounts.set(key, value)
    // The new process has forgotten its tokens: the session ends with its answer.
    expect(findOutcome(await refresh(refresh_token))).toBe('401 invalid_refresh_token')
    expect(findOutcome(await signOn(service, name))).toBe('200')
  })
})

test('a service starts while its provider is away, and says so', async () => {
  const service = await TestService.start(first, { env: signOnEnv('http://127.0.0.1:9') })
  const body = { redirect_uri: 'http://127.0.0.1:1/' }
  expect(findOutcome(await service.call({ url: '/api/auth/oidc/start', body }))).toBe(
    '503 unavailable',
  )
  expect(await service.signIn()).toEqual(expect.any(String))
  await service.close()
})

describe('a provider that lies', () => {
  let provider: HostileProvider
  let service: TestService

  beforeAll(async () => {
    provider = await HostileProvider.start()
    service = await TestService.start(first, { env: signOnEnv(provider.issuer) })
  })
  afterEach(() => {
    provider.lie = {}
  })
  afterAll(async () => {
    await service.close()
    await provider.close()
  })

  async function outcomeWith(lie: Lie): Promise<string> {
    provider.lie = lie
    const { authorization_url, flow } = await startSignOn(service)
    const asked = new URL(authorization_url).searchParams
    const back = new URL('http://127.0.0.1/')
    // Its codes are nonces, so that its tokens can have the right one.
    back.searchParams.set('code', asked.get('nonce') ?? '')
    back.searchParams.set('state', asked.get('state') ?? '')
    const answer = await endSignOn(service, { flow, back })
    return answer.statusCode === 200 ? '200' : formatRefusal(answer)
  }

  test('is believed while it does not', async () => {
    expect(await outcomeWith({})).toBe('200')
  })

  test.each<[string, Lie, string]>([
    ['of another issuer', { claims: (of) => ({ ...of, iss: 'https://evil.example' }) }, 'iss'],
    ['for another audience', { claims: (of) => ({ ...of, aud: 'another' }) }, 'aud'],
    ['without an audience', { claims: (of) => ({ ...of, aud: undefined }) }, 'id_token'],
    ['for others too', { claims: (of) => ({ ...of, aud: [of['aud'], 'another'] }) }, 'aud'],
    ['with another nonce', { claims: (of) => ({ ...of, nonce: 'another' }) }, 'nonce'],
    ['without a nonce', { claims: (of) => ({ ...of, nonce: undefined }) }, 'id_token'],
    ['that has expired', { claims: (of) => ({ ...of, exp: Number(of['iat']) - 60 }) }, 'exp'],
    ['without a subject', { claims: (of) => ({ ...of, sub: undefined }) }, 'id_token'],
    ['signed with another key', { hasOtherKey: true }, 'id_token'],
    ['without a signature', { isUnsigned: true }, 'id_token'],
  ])('a token %s is refused with the reason', async (_, lie, reason) => {
    expect(await outcomeWith(lie)).toBe(`401 sign_on_refused ${reason}`)
  })

  test('a provider that describes itself as another one is not used', async () => {
    provider.lie = { issuer: 'https://evil.example' }
    const other = await TestService.start(first, { env: signOnEnv(provider.issuer) })
    const body = { redirect_uri: 'http://127.0.0.1:1/' }
    const answer = await other.call({ url: '/api/auth/oidc/start', body })
    await other.close()
    expect(findOutcome(answer)).toBe('503 unavailable')
  })

  test('user info of another person is refused', async () => {
    const lie = { userInfo: (of: object) => ({ ...of, sub: 'alice' }) }
    expect(await outcomeWith(lie)).toBe('401 sign_on_refused sub')
  })

  // One place says the address, the other that an address is verified: it is not this one.
  test('an address is not verified by what another place says of another address', async () => {
    const lie = {
      userInfo: ({ email_verified: _, ...of }: Record<string, unknown>) => ({
        ...of,
        email: 'owner@lender.example',
      }),
    }
    expect(await outcomeWith(lie)).toBe('401 sign_on_refused email_verified')
  })

  // The request has the secret of this service.
  test('a redirection of the request for tokens is not followed', async () => {
    expect(await outcomeWith({ isElsewhere: true })).toBe('503 unavailable')
    expect(provider.asked).not.toContain('/elsewhere')
  })

  test('a provider that never answers is away, after some seconds', async () => {
    const startedAtMs = performance.now()
    expect(await outcomeWith({ isSilent: true })).toBe('503 unavailable')
    expect(performance.now() - startedAtMs).toBeLessThan(9_000)
  })

  test('wrong credentials of this service are its own fault, not that of the person', async () => {
    expect(await outcomeWith({ refusal: { status: 401, error: 'invalid_client' } })).toBe(
      '503 unavailable',
    )
  })
})
