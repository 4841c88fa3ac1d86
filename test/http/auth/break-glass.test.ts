import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { outcomeOf } from '../../support/expect/answers.ts'
import { TestProvider } from '../../support/servers/openid-provider.ts'
import { backends } from '../../support/start/databases.ts'
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
