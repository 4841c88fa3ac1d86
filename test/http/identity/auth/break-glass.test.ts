import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { outcomeOf } from '../../support/expect/answers.ts'
import { TestProvider } from '../../support/servers/openid-provider.ts'
import { backends, type TestDatabase } from '../../support/start/databases.ts'
import { OWNER, TestService } from '../../support/start/service.ts'
import { REDIRECT_URIS, refusalOf, signOn, signOnEnv } from '../../support/start/sign-on.ts'

describe.each(backends)('passwords switched off on $name', (backend) => {
  let provider: TestProvider
  let service: TestService
  let owner: string

  beforeEach(async () => {
    provider = await TestProvider.start({ redirectUris: REDIRECT_URIS })
    const more = { PASSWORD_LOGIN: 'off', BREAK_GLASS_EMAIL: OWNER.email.toUpperCase() }
    service = await TestService.start(backend, { env: signOnEnv(provider.issuer, more) })
    owner = await service.signIn()
  })
  afterEach(async () => {
    await service.close()
    await provider.close()
  })

  const login = (body: object) => service.call({ url: '/api/auth/login', body })

  test('the break-glass owner signs in with a password, and nobody else', async () => {
    expect(owner).toEqual(expect.any(String))
    const member = { email: 'm@lender.example', password: 'a long password' }
    const made = await service.call({
      url: '/v1/members',
      token: owner,
      body: { ...member, role: 'admin' },
    })
    expect(outcomeOf(made)).toBe('201')
    expect(outcomeOf(await login(member))).toBe('401 invalid_credentials')
  })

  // Else a person at the provider could take the account that is there against the provider.
  test('nobody becomes the break-glass owner by single sign-on', async () => {
    const groups = ['/scoreline/admins']
    provider.accounts.set('mallory', { email: OWNER.email, email_verified: true, groups })
    expect(refusalOf(await signOn(service, 'mallory'))).toBe('401 sign_on_refused member')
    expect(outcomeOf(await login(OWNER))).toBe('200')
  })

  test('the owner of that address loses the way in with the role', async () => {
    const second = { email: 'second@lender.example', password: 'a long password', role: 'owner' }
    await service.call({ url: '/v1/members', token: owner, body: second })
    const session = (await login(OWNER)).json()
    const list = await service.call({ method: 'GET', url: '/v1/members', token: owner })
    const { id } = list.json().members.find(({ email }: { email: string }) => email === OWNER.email)
    const url = `/v1/members/${id}`
    await service.call({ method: 'PATCH', url, token: owner, body: { role: 'admin' } })
    expect(outcomeOf(await login(OWNER))).toBe('401 invalid_credentials')
    const body = { refresh_token: session.refresh_token }
    const refreshed = await service.call({ url: '/api/auth/refresh', body })
    expect(outcomeOf(refreshed)).toBe('401 invalid_refresh_token')
    expect(refreshed.json().message).toContain('passwords are switched off')
  })
})

describe.each(backends)('an owner who was linked before they were named on $name', (backend) => {
  const email = 'linked@lender.example'
  let provider: TestProvider
  let database: TestDatabase
  /** The last one that was started. */
  let open: TestService

  beforeEach(async () => {
    provider = await TestProvider.start({ redirectUris: REDIRECT_URIS })
    database = await backend.create()
  })
  afterEach(async () => {
    await open.close()
    await database.drop()
    await provider.close()
  })

  async function start(more: Readonly<Record<string, string>>): Promise<TestService> {
    const kept = { ...backend, create: async () => ({ ...database, drop: async () => undefined }) }
    const service = await TestService.start(kept, { env: signOnEnv(provider.issuer, more) })
    open = service
    return service
  }

  // Without a password of their own, nobody could sign in while the provider is away.
  test('signs on no more, keeps no session of it, and the start says what to do', async () => {
    const before = await start({})
    provider.accounts.set('linked', {
      email,
      email_verified: true,
      groups: ['/scoreline/admins'],
    })
    const { refresh_token } = (await signOn(before, 'linked')).json()
    await before.close()
    const service = await start({ PASSWORD_LOGIN: 'off', BREAK_GLASS_EMAIL: email })
    expect(refusalOf(await signOn(service, 'linked'))).toBe('401 sign_on_refused member')
    const refreshed = await service.call({ url: '/api/auth/refresh', body: { refresh_token } })
    expect(outcomeOf(refreshed)).toBe('401 invalid_refresh_token')
    expect(refreshed.json().message).toContain('BREAK_GLASS_EMAIL')
    const fault = () => service.services.signOn.breakGlassFault()
    expect(await fault()).toContain('admin, not owner')
    const { members } = service.services
    const { id, teamId } = await members.resetPassword('operator', email, 'a long password')
    await members.setRole({ userId: 'operator', teamId, role: null }, id, 'owner')
    expect(await fault()).toBeNull()
    const login = { email, password: 'a long password' }
    expect(outcomeOf(await service.call({ url: '/api/auth/login', body: login }))).toBe('200')
  })

  test('is told from one who is not there, and from one without a password', async () => {
    const before = await start({})
    provider.accounts.set('linked', { email, email_verified: true, groups: ['/scoreline/admins'] })
    await signOn(before, 'linked')
    const { members, signOn: of } = before.services
    expect(await of.breakGlassFault()).toBeNull()
    const owner = await before.signIn()
    const list = await before.call({ method: 'GET', url: '/v1/members', token: owner })
    const { id } = list.json().members.find((one: { email: string }) => one.email === email)
    const { team: teamId } = JSON.parse(atob(owner.split('.')[1] ?? ''))
    await members.setRole({ userId: 'operator', teamId, role: null }, id, 'owner')
    await before.close()
    const off = { PASSWORD_LOGIN: 'off' }
    const named = await start({ ...off, BREAK_GLASS_EMAIL: email })
    expect(await named.services.signOn.breakGlassFault()).toContain('no password')
    await named.close()
    const absent = await start({ ...off, BREAK_GLASS_EMAIL: 'nobody@lender.example' })
    expect(await absent.services.signOn.breakGlassFault()).toContain('no such member')
  })
})
