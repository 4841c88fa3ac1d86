import { describe, expect, test } from 'vitest'
import type { AppError } from '../../../../src/errors.ts'
import type { Role, UserCaller } from '../../../../src/http/access/caller.ts'
import { findOutcome } from '../../../support/expect/answers.ts'
import { guard } from '../../../support/start/changes.ts'
import { backends } from '../../../support/start/databases.ts'
import { TestService } from '../../../support/start/service.ts'
import { numberedSpec, Team } from '../../../support/start/team.ts'

const PASSWORD = 'a long password'

describe.each(backends)('a second person on $name', (backend) => {
  const service = TestService.forSuite(backend)
  const team = Team.forSuite(service)

  const as = (token: string, method: 'POST' | 'DELETE', url: string, body?: object) =>
    service.call({ method, url, token, ...(body !== undefined && { body }) })
  async function join(role: Role = 'admin', email = `${crypto.randomUUID()}@lender.example`) {
    const order = { email, password: PASSWORD, role }
    const { id } = await team.done('POST', '/v1/members', order)
    const remoteAddress = `192.0.2.${1 + Math.floor(Math.random() * 250)}`
    const login = { email, password: PASSWORD }
    const { access_token: token } = (
      await service.call({ url: '/api/auth/login', body: login, remoteAddress })
    ).json()
    return { id, email, token: token as string }
  }
  async function guarded(): Promise<string> {
    const { slug } = await team.deploy(numberedSpec(1))
    await team.promote(slug, (await team.challenge(slug, numberedSpec(2), 5)).id)
    await guard(service, team.owner, slug)
    return slug
  }
  const ask = async (token: string, slug: string): Promise<string> => {
    const asked = await as(token, 'POST', `/v1/deployments/${slug}/rollback`, { reason: 'x' })
    expect(asked.statusCode, asked.body).toBe(202)
    return asked.json().id
  }
  const decisions = async (token: string, id: string) => {
    const paths = ['approve', 'decline'].map((one) => `/v1/change-requests/${id}/${one}`)
    return [await as(token, 'POST', paths[0] ?? ''), await as(token, 'POST', paths[1] ?? '')].map(
      findOutcome,
    )
  }
  const refused = Array(2).fill('403 own_change_request')

  // With single sign-on a person can leave and be back by themselves, with a new id.
  test('is not the requester who left the team and joined it again', async () => {
    const slug = await guarded()
    const first = await join()
    const id = await ask(first.token, slug)
    expect((await as(first.token, 'DELETE', `/v1/members/${first.id}`)).statusCode).toBe(204)
    const again = await join('admin', first.email)
    expect(again.id).not.toBe(first.id)
    expect(await decisions(again.token, id)).toEqual(refused)
  })

  test('is not somebody who joined after the request', async () => {
    const id = await ask(team.owner, await guarded())
    const { token } = await join()
    expect(await decisions(token, id)).toEqual(refused)
  })

  // The account asks after they are back: only the address tells who they are.
  test('is not the maker of the account that asked, who was away meanwhile', async () => {
    const slug = await guarded()
    const first = await join('owner')
    const made = await as(first.token, 'POST', '/v1/service-accounts', { name: 'p', role: 'admin' })
    expect(made.statusCode, made.body).toBe(201)
    const { token: account } = made.json()
    expect((await as(first.token, 'DELETE', `/v1/members/${first.id}`)).statusCode).toBe(204)
    const again = await join('owner', first.email)
    expect(await decisions(again.token, await ask(account, slug))).toEqual(refused)
  })

  // An owner could make the second person for themselves.
  test('is not somebody whom the requester added or raised, before or after the request', async () => {
    const slug = await guarded()
    const owner = await join('owner')
    const email = `${crypto.randomUUID()}@lender.example`
    const order = { email, password: PASSWORD, role: 'admin' }
    expect((await as(owner.token, 'POST', '/v1/members', order)).statusCode).toBe(201)
    const login = { email, password: PASSWORD }
    const added = (
      await service.call({ url: '/api/auth/login', body: login, remoteAddress: '192.0.2.251' })
    ).json().access_token
    const viewer = await join('viewer')
    const raise = (token: string, id: string, role: Role) =>
      service.call({ method: 'PATCH', url: `/v1/members/${id}`, token, body: { role } })
    expect((await raise(owner.token, viewer.id, 'admin')).statusCode).toBe(200)
    const id = await ask(owner.token, slug)
    expect(await decisions(added, id)).toEqual(refused)
    expect(await decisions(viewer.token, id)).toEqual(refused)
    // Whoever was raised by another one, but only after the request, has seen nothing of it.
    const late = await join('modeler')
    const second = await ask(owner.token, slug)
    expect((await raise(team.owner, late.id, 'admin')).statusCode).toBe(200)
    expect(await decisions(late.token, second)).toEqual(refused)
    const third = await ask(owner.token, slug)
    expect((await decisions(late.token, third))[0]).toBe('200')
  })

  test('may have been raised from admin to owner meanwhile, by somebody else', async () => {
    const slug = await guarded()
    const [first, second] = [await join('admin'), await join('admin')]
    const id = await ask(first.token, slug)
    const url = `/v1/members/${second.id}`
    const body = { role: 'owner' }
    await service.call({ method: 'PATCH', url, token: team.owner, body })
    expect((await decisions(second.token, id))[0]).toBe('200')
  })

  // Each replica may remember a role for a minute, and what is made meanwhile would last.
  describe('or a manager whose role is of the past', () => {
    const stale = async (isRemoved: boolean): Promise<UserCaller> => {
      const { id, token } = await join('admin')
      if (isRemoved) await as(team.owner, 'DELETE', `/v1/members/${id}`)
      else await team.done('PATCH', `/v1/members/${id}`, { role: 'viewer' })
      return { kind: 'user', userId: id, teamId: findTeam(token), role: 'owner' }
    }
    const findTeam = (token: string): string =>
      JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()).team
    const readCode = (change: Promise<unknown>) =>
      change.then(
        () => 'done',
        (error: AppError) => error.code,
      )

    test.each([
      ['demoted', 'insufficient_role'],
      ['removed', 'unauthorized'],
    ])('makes no credentials and decides on nothing once %s', async (how, code) => {
      const requestId = await ask(team.owner, await guarded())
      const key = await team.done('POST', '/v1/keys', { name: 'k' })
      const account = await team.done('POST', '/v1/service-accounts', { name: 'p', role: 'viewer' })
      const caller = await stale(how === 'removed')
      const { keys, serviceAccounts, approvals } = service.services
      const order = { overlapSeconds: 0 }
      const changes = {
        key: () => keys.issue(caller, { name: 'k' }),
        rotatedKey: () => keys.rotate(caller, key.id, order),
        account: () => serviceAccounts.create(caller, { name: 'p', role: 'viewer' }),
        rotatedAccount: () => serviceAccounts.rotate(caller, account.id, order),
        approval: () => approvals.approve(caller, requestId, undefined),
        refusal: () => approvals.decline(caller, requestId, undefined),
      }
      for (const [name, change] of Object.entries(changes)) {
        expect(await readCode(change()), name).toBe(code)
      }
      const listed = (await team.done('GET', '/v1/keys')).keys
      expect(listed.find(({ id }: { id: string }) => id === key.id).prefix).toBe(key.prefix)
    })

    test('sets no quota that only their former role may set', async () => {
      const { id, token } = await join('admin')
      const caller: UserCaller = {
        kind: 'user',
        userId: id,
        teamId: findTeam(token),
        role: 'owner',
      }
      const issued = service.services.keys.issue(caller, { name: 'k', rateLimitPerMinute: 9 })
      expect(await readCode(issued)).toBe('insufficient_role')
      const wanted = { name: 'p', role: 'admin' } as const
      expect(await readCode(service.services.serviceAccounts.create(caller, wanted))).toBe(
        'insufficient_role',
      )
    })
  })
})
