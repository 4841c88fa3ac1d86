import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { findOutcome } from '../../../support/expect/answers.ts'
import { TestProvider } from '../../../support/servers/openid-provider.ts'
import { switchedOff } from '../../../support/start/changes.ts'
import { backends, type TestDatabase } from '../../../support/start/databases.ts'
import { OWNER, TestService } from '../../../support/start/service.ts'
import { formatRefusal, REDIRECT_URIS, signOn, signOnEnv } from '../../../support/start/sign-on.ts'
import { numberedSpec } from '../../../support/start/team.ts'
import { tokenFor } from '../../../support/start/users.ts'

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
  const operator = () => {
    const { team: teamId } = JSON.parse(atob(owner.split('.')[1] ?? ''))
    return { userId: 'operator', teamId, role: null }
  }

  test('the break-glass owner signs in with a password, and nobody else', async () => {
    expect(owner).toEqual(expect.any(String))
    const member = { email: 'm@lender.example', password: 'a long password' }
    await service.services.members.create(operator(), { ...member, role: 'admin' })
    expect(findOutcome(await login(member))).toBe('401 invalid_credentials')
  })

  // Its password could never be used, and would be one more way in once passwords are on again.
  test('no member is made with a password', async () => {
    const body = { email: 'm@lender.example', password: 'a long password', role: 'viewer' }
    const made = await service.call({ url: '/v1/members', token: owner, body })
    expect(findOutcome(made)).toBe('409 passwords_off')
  })

  // An owner could delete that member, make them anew with a password of their own, and approve
  // their own change with it.
  test('the break-glass owner is made, changed and removed by the command line alone, and decides nothing', async () => {
    const { members, approvals } = service.services
    const boss = {
      email: 'boss@lender.example',
      password: 'a long password',
      role: 'owner',
    } as const
    const { id: bossId, teamId } = await members.create(operator(), boss)
    const token = tokenFor(service, { userId: bossId, teamId, role: 'owner' })
    const list = await service.call({ method: 'GET', url: '/v1/members', token })
    const { id } = list.json().members.find(({ email }: { email: string }) => email === OWNER.email)
    const refused = '403 insufficient_role'
    const url = `/v1/members/${id}`
    const changed = { method: 'PATCH', url, token, body: { role: 'viewer' } } as const
    expect(findOutcome(await service.call(changed))).toBe(refused)
    expect(findOutcome(await service.call({ method: 'DELETE', url, token }))).toBe(refused)
    const again = { ...OWNER, email: OWNER.email.toUpperCase(), role: 'owner' }
    expect(findOutcome(await service.call({ url: '/v1/members', token, body: again }))).toBe(
      refused,
    )
    const slug = await service.deploy(token, numberedSpec(1))
    const request = await switchedOff(service, token, slug)
    for (const decision of ['approve', 'decline']) {
      const call = { url: `/v1/change-requests/${request}/${decision}`, token: owner }
      expect(findOutcome(await service.call(call))).toBe(refused)
    }
    expect((await approvals.get(teamId, request)).state).toBe('waiting')
    await members.remove(operator(), id)
  })

  // Else a person at the provider could take the account that is there against the provider.
  test('nobody becomes the break-glass owner by single sign-on', async () => {
    const groups = ['/scoreline/admins']
    provider.accounts.set('mallory', { email: OWNER.email, email_verified: true, groups })
    expect(formatRefusal(await signOn(service, 'mallory'))).toBe('401 sign_on_refused member')
    expect(findOutcome(await login(OWNER))).toBe('200')
  })

  test('the owner of that address loses the way in with the role', async () => {
    const { members } = service.services
    const second = { email: 'second@lender.example', password: 'a long password' }
    await members.create(operator(), { ...second, role: 'owner' })
    const session = (await login(OWNER)).json()
    const list = await service.call({ method: 'GET', url: '/v1/members', token: owner })
    const { id } = list.json().members.find(({ email }: { email: string }) => email === OWNER.email)
    await members.setRole(operator(), id, 'admin')
    expect(findOutcome(await login(OWNER))).toBe('401 invalid_credentials')
    const body = { refresh_token: session.refresh_token }
    const refreshed = await service.call({ url: '/api/auth/refresh', body })
    expect(findOutcome(refreshed)).toBe('401 invalid_refresh_token')
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
    expect(formatRefusal(await signOn(service, 'linked'))).toBe('401 sign_on_refused member')
    const refreshed = await service.call({ url: '/api/auth/refresh', body: { refresh_token } })
    expect(findOutcome(refreshed)).toBe('401 invalid_refresh_token')
    expect(refreshed.json().message).toContain('BREAK_GLASS_EMAIL')
    const fault = () => service.services.signOn.breakGlassFault()
    expect(await fault()).toContain('admin, not owner')
    const { members } = service.services
    const { id, teamId } = await members.resetPassword('operator', email, 'a long password')
    await members.setRole({ userId: 'operator', teamId, role: null }, id, 'owner')
    expect(await fault()).toBeNull()
    const login = { email, password: 'a long password' }
    expect(findOutcome(await service.call({ url: '/api/auth/login', body: login }))).toBe('200')
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
