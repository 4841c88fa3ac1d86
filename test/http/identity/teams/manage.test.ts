import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { TokenResult } from '../../../../schemas/auth.ts'
import { Member, MemberList } from '../../../../schemas/members.ts'
import { ROLES, type Role } from '../../../../src/http/access/caller.ts'
import type { Database } from '../../../../src/platform/db/client.ts'
import { newId } from '../../../../src/platform/ids.ts'
import { users } from '../../../../src/tables/auth.ts'
import { expectSuccess, findOutcome, formatRefusal } from '../../../support/expect/answers.ts'
import { backends } from '../../../support/start/databases.ts'
import { seeded, withDatabase } from '../../../support/start/seeded-database.ts'
import { TestService } from '../../../support/start/service.ts'
import { insertTeam, insertUser, type TestUser, tokenFor } from '../../../support/start/users.ts'

/** Later than the users whom the test adds. */
const AT = Date.parse('2096-03-04T05:06:07.089Z')
const PASSWORD = 'correct horse battery'
const URL = '/v1/members'

type Team = Readonly<Record<Role, TestUser>>

async function insertTeamOfAll(db: Database): Promise<Team> {
  const teamId = await insertTeam(db)
  const teamUsers: Partial<Record<Role, TestUser>> = {}
  for (const role of ROLES) teamUsers[role] = await insertUser(db, teamId, role)
  return teamUsers as Team
}

/** An address that no other test has. */
const freshEmail = () => `${newId('usr_', 0).toLowerCase()}@lender.example`

describe.each(backends)('on $name', (backend) => {
  const clock = { nowMs: AT, epochMs: () => clock.nowMs, monotonicMs: () => performance.now() }
  const teams: Team[] = []
  let service: TestService

  beforeAll(async () => {
    const withTeams = seeded(backend, async (db) => {
      for (let n = 0; n < 3; n++) teams.push(await insertTeamOfAll(db))
    })
    service = await TestService.start(withTeams, { clock })
  })
  afterAll(() => service.close())

  const team = (at = 0): Team => teams[at] ?? expect.fail('the team was not added')
  const as = (role: Role, of = team()) => tokenFor(service, of[role])
  const post = (body: object | string, token = as('owner')) =>
    service.call({ url: URL, token, body })
  const patch = (id: string, body: object | string, token = as('owner')) =>
    service.call({ method: 'PATCH', url: `${URL}/${id}`, token, body })
  const remove = (id: string, token = as('owner')) =>
    service.call({ method: 'DELETE', url: `${URL}/${id}`, token })
  const list = async (query = '', token = as('owner')) =>
    expectSuccess(await service.call({ method: 'GET', url: URL + query, token }), MemberList)
  const login = (email: string, password = PASSWORD) =>
    service.call({ url: '/api/auth/login', body: { email, password } })
  /** Adds a member who can sign in. */
  const add = async (role: Role, token = as('owner')) => {
    clock.nowMs += 1
    const response = await post({ email: freshEmail(), password: PASSWORD, role }, token)
    return expectSuccess(response, Member, 201)
  }

  test('a new member has the documented fields and signs in with their role', async () => {
    const email = freshEmail()
    const body = { email: `  ${email.toUpperCase()} `, password: PASSWORD, role: 'lead_modeler' }
    const member = expectSuccess(await post(body), Member, 201)
    expect(member).toEqual({
      id: expect.stringMatching(/^usr_[0-9A-Za-z]{20,}$/),
      email,
      role: 'lead_modeler',
      created_at: new Date(clock.nowMs).toISOString(),
      last_sign_in_at: null,
    })
    const { access_token: token } = expectSuccess(await login(email), TokenResult)
    const deploy = { url: '/v1/models/deploy', token, body: '{' }
    expect(findOutcome(await service.call(deploy))).toBe('400 invalid_request')
    expect(findOutcome(await service.call({ url: '/v1/keys', token, body: '{' }))).toBe(
      '403 insufficient_role',
    )
  })

  // What is listed here decides whom an owner removes.
  test("the list holds the team's members only, newest first, and pages lead through all of it once", async () => {
    const of = team(1)
    const token = as('admin', of)
    const before = await list('', token)
    const made = []
    for (let n = 0; n < 3; n++) made.unshift(await add('viewer', token))
    const { members } = await list('', token)
    expect(members).toEqual([...made, ...before.members])
    const inTeam = before.members.map(({ id }: { id: string }) => id)
    for (const { userId } of Object.values(of)) expect(inTeam).toContain(userId)
    for (const { userId } of Object.values(team())) expect(inTeam).not.toContain(userId)

    const paged = []
    let cursor: string | undefined
    do {
      const page = await list(`?limit=3${cursor === undefined ? '' : `&cursor=${cursor}`}`, token)
      expect(page.members.length).toBeLessThanOrEqual(3)
      paged.push(...page.members)
      cursor = page.next_cursor
    } while (cursor !== undefined)
    expect(paged).toEqual(members)
  })

  test.each(['limit=0', 'limit=201', 'limit=x', 'cursor=%00', 'cursor=', 'role=owner'])(
    'a list asked for with %s is 400',
    async (query) => {
      const call = { method: 'GET', url: `${URL}?${query}`, token: as('owner') } as const
      expect(findOutcome(await service.call(call))).toBe('400 invalid_request')
    },
  )

  const good = { email: 'jane@lender.example', password: PASSWORD, role: 'viewer' }
  test.each<[string, object, string]>([
    ['no email', { password: PASSWORD, role: 'viewer' }, 'email'],
    ['no password', { email: good.email, role: 'viewer' }, 'password'],
    ['no role', { email: good.email, password: PASSWORD }, 'role'],
    ['an empty email', { ...good, email: '' }, 'email'],
    ['an email without @', { ...good, email: 'jane' }, 'email'],
    ['an email with two @', { ...good, email: 'jane@doe@lender.example' }, 'email'],
    ['an email without a name', { ...good, email: '@lender.example' }, 'email'],
    ['an email without a host', { ...good, email: 'jane@ ' }, 'email'],
    ['an email with a space', { ...good, email: 'jane doe@lender.example' }, 'email'],
    ['an email with a NUL', { ...good, email: 'jane\0@lender.example' }, 'email'],
    ['an email with an escape', { ...good, email: 'jane\u001b@lender.example' }, 'email'],
    ['an email with half a character', { ...good, email: 'jane\ud800@lender.example' }, 'email'],
    ['an email of 255 characters', { ...good, email: `${'a'.repeat(250)}@b.cd` }, 'email'],
    // Lower case makes two characters of one.
    ['an email that grows', { ...good, email: `${'İ'.repeat(200)}@b.cd` }, 'email'],
    ['a number for an email', { ...good, email: 1 }, 'email'],
    ['null for a password', { ...good, password: null }, 'password'],
    ['a password of 7 characters', { ...good, password: '1234567' }, 'password'],
    ['a password of 7 wide characters', { ...good, password: '🦄'.repeat(7) }, 'password'],
    ['a password of 1025', { ...good, password: 'x'.repeat(1025) }, 'password'],
    ['a password with a NUL', { ...good, password: `${PASSWORD}\0` }, 'password'],
    ['a password with half a character', { ...good, password: `${PASSWORD}\ud800` }, 'password'],
    ['an unknown role', { ...good, role: 'superuser' }, 'role'],
    ['a role in capitals', { ...good, role: 'VIEWER' }, 'role'],
    ['a list of roles', { ...good, role: ['viewer'] }, 'role'],
    ['an unknown field', { ...good, team: 'team_mine' }, 'team'],
    ['an id of its own', { ...good, id: 'usr_mine' }, 'id'],
  ])('a new member with %s is 400 at that field', async (_, body, path) => {
    const refusal = formatRefusal(await post(body))
    expect(refusal).toMatchObject({ status: 400, error: 'invalid_request' })
    expect(refusal.details?.[0]?.path).toBe(path)
  })

  test.each([
    ['of 8 characters', 'kt4-vg7x'],
    ['of 8 wide characters', '🦄🐙🦜🌵🍉🎺🧭🪁'],
    ['of 1024 characters', `kt4vg${'€'.repeat(1019)}`],
    ['with spaces at its ends', '  kt4 vg7 '],
    ['with a line break', 'two\nlines of it'],
  ])('a password %s is taken as it is', async (_, password) => {
    const email = freshEmail()
    expectSuccess(await post({ email, password, role: 'viewer' }), Member, 201)
    expectSuccess(await login(email, password), TokenResult)
  })

  // An admin changes champions: ten guesses a minute must not be enough.
  test.each(['viewer', 'admin'] as const)('a %s gets no password that is guessed', async (role) => {
    const email = freshEmail()
    for (const password of ['12345678', 'Password123!', `${email.split('@')[0]}1`]) {
      const refusal = formatRefusal(await post({ email, password, role }))
      expect(refusal).toMatchObject({ status: 400, error: 'invalid_request' })
      expect(refusal.message).toContain('password is easy to guess')
    }
    expect(findOutcome(await login(email, '12345678'))).toBe('401 invalid_credentials')
  })

  test.each([
    ['a NUL', 'usr_\0'],
    ['another prefix', 'team_0000000000000000000000'],
    ['nothing known', newId('usr_', 0)],
    ['a quote', "usr_' or ''='"],
    ['10,000 characters', `usr_${'a'.repeat(10_000)}`],
    ['half a character', 'usr_\ufffd'],
  ])('an id with %s is 404 member_not_found', async (_, id) => {
    const path = encodeURIComponent(id)
    expect(findOutcome(await patch(path, { role: 'viewer' }))).toBe('404 member_not_found')
    expect(findOutcome(await remove(path))).toBe('404 member_not_found')
  })

  // A difference would tell who else is a customer here.
  test("another team's member answers like an unknown one and does not change", async () => {
    const other = team(1).modeler.userId
    const unknown = newId('usr_', 0)
    for (const role of ['owner', 'admin'] as const) {
      const token = as(role)
      const to = { role: 'viewer' }
      expect(formatRefusal(await patch(other, to, token))).toEqual(
        formatRefusal(await patch(unknown, to, token)),
      )
      expect(formatRefusal(await remove(other, token))).toEqual(
        formatRefusal(await remove(unknown, token)),
      )
    }
    const { members } = await list('', as('owner', team(1)))
    expect(members).toContainEqual(expect.objectContaining({ id: other, role: 'modeler' }))
  })

  test('an email that a user of any team has is 409 member_exists, however it is written', async () => {
    const { email } = await add('viewer', as('owner', team(1)))
    for (const written of [email, ` ${email.toUpperCase()}`]) {
      const refusal = formatRefusal(await post({ ...good, email: written }))
      expect(refusal).toMatchObject({ status: 409, error: 'member_exists' })
    }
    expect(findOutcome(await login(email)), 'their password still works').toBe('200')
  })

  test('if several requests at once add one address, one succeeds', async () => {
    const email = freshEmail()
    const askers = [as('owner'), as('admin'), as('owner', team(1)), as('admin', team(2))]
    const outcomes = await Promise.all(
      askers.map(async (token) => findOutcome(await post({ ...good, email }, token))),
    )
    expect(outcomes.sort()).toEqual(['201', ...Array(3).fill('409 member_exists')])
  })

  // Members who could grant a role above their own could get every role.
  test.each(ROLES)('an owner grants, changes and removes the role %s', async (role) => {
    const member = await add(role)
    const changed = expectSuccess(await patch(member.id, { role: 'admin' }), Member)
    expect(changed).toEqual({ ...member, role: 'admin' })
    expect(expectSuccess(await patch(member.id, { role }), Member)).toEqual(member)
    expect((await remove(member.id)).statusCode).toBe(204)
  })

  test.each(ROLES.slice(1))('an admin grants, changes and removes the role %s', async (role) => {
    const token = as('admin')
    const member = await add(role, token)
    expectSuccess(await patch(member.id, { role: 'viewer' }, token), Member)
    expectSuccess(await patch(member.id, { role: 'admin' }, token), Member)
    expect((await remove(member.id, token)).statusCode).toBe(204)
  })

  test('an admin neither creates, promotes to, changes nor removes an owner', async () => {
    const token = as('admin')
    const owner = await add('owner')
    const viewer = await add('viewer')
    const outcomes = [
      await post({ ...good, email: freshEmail(), role: 'owner' }, token),
      await patch(viewer.id, { role: 'owner' }, token),
      await patch(team().admin.userId, { role: 'owner' }, token),
      await patch(owner.id, { role: 'owner' }, token),
      await patch(owner.id, { role: 'admin' }, token),
      await remove(owner.id, token),
      // 403 goes before 400 and 404.
      await post({ role: 'owner' }, token),
      await patch(viewer.id, { role: 'owner', name: 'x' }, token),
      await patch(newId('usr_', 0), { role: 'owner' }, token),
    ].map(findOutcome)
    expect(outcomes).toEqual(Array(outcomes.length).fill('403 insufficient_role'))
    const { members } = await list()
    expect(members).toContainEqual(owner)
    expect(members).toContainEqual(viewer)
  })

  test.each([
    ['nothing', {}],
    ['no role it knows', { role: 'root' }],
    ['null', { role: null }],
    ['a password', { role: 'viewer', password: PASSWORD }],
    ['an email', { role: 'viewer', email: 'new@lender.example' }],
    ['a list', []],
  ])('a change to %s is 400', async (_, body) => {
    expect(findOutcome(await patch(team().viewer.userId, body))).toBe('400 invalid_request')
  })

  // A team without an owner can be managed by nobody.
  test("the last owner can't be removed, by anyone; one of two can", async () => {
    const token = as('owner', team(2))
    const self = team(2).owner.userId
    const refused = [
      await remove(self, token),
      ...(await Promise.all(ROLES.slice(1).map((role) => patch(self, { role }, token)))),
    ].map(findOutcome)
    expect(refused).toEqual(Array(refused.length).fill('409 last_owner'))
    expectSuccess(await patch(self, { role: 'owner' }, token), Member)

    const second = await add('owner', token)
    expect((await remove(second.id, token)).statusCode).toBe(204)
    const third = await add('owner', token)
    expectSuccess(await patch(self, { role: 'modeler' }, token), Member)
    const session = expectSuccess(await login(third.email), TokenResult)
    const last = await remove(third.id, session.access_token)
    expect(findOutcome(last)).toBe('409 last_owner')
  })

  // A removed member must lose access before their token or a cache expires.
  test('a changed role and a removal are in force with the answer', async () => {
    const member = await add('admin')
    const { access_token: token, refresh_token } = expectSuccess(
      await login(member.email),
      TokenResult,
    )
    const ask = async () => findOutcome(await service.call({ method: 'GET', url: URL, token }))
    expect(await ask()).toBe('200')
    await patch(member.id, { role: 'viewer' })
    expect(await ask()).toBe('403 insufficient_role')
    await patch(member.id, { role: 'admin' })
    expect(await ask()).toBe('200')

    const removal = await remove(member.id)
    expect([removal.statusCode, removal.body]).toEqual([204, ''])
    expect(await ask()).toBe('401 unauthorized')
    const refresh = { url: '/api/auth/refresh', body: { refresh_token } }
    expect(findOutcome(await service.call(refresh))).toBe('401 invalid_refresh_token')
    expect(findOutcome(await login(member.email))).toBe('401 invalid_credentials')
    expect(findOutcome(await remove(member.id))).toBe('404 member_not_found')
    expect(findOutcome(await patch(member.id, { role: 'viewer' }))).toBe('404 member_not_found')
    const again = { email: member.email, password: PASSWORD, role: 'viewer' }
    expect(expectSuccess(await post(again), Member, 201).id).not.toBe(member.id)
  })

  test('a change answers in the form of the list, and shows no password', async () => {
    const member = await add('viewer')
    const changed = await patch(member.id, { role: 'modeler' })
    const all = await service.call({ method: 'GET', url: URL, token: as('owner') })
    expect(all.json().members).toContainEqual(expectSuccess(changed, Member))
    for (const { body } of [changed, all]) expect(body).not.toMatch(/argon|hash|password/)
  })

  test('a body above 16 KiB is 413', async () => {
    const body = { ...good, password: 'x'.repeat(16 * 1024) }
    expect(findOutcome(await post(body))).toBe('413 payload_too_large')
  })
})

// Only PostgreSQL can be changed behind the back of a service that runs, as another replica would.
describe.each(backends.filter(({ name }) => name === 'PostgreSQL'))('on $name', (backend) => {
  // Each replica may remember a role for a minute: enough to undo a demotion, or to make an
  // accomplice.
  test("an owner whom another replica demoted or removed can't change anything", async () => {
    const teamUsers: TestUser[] = []
    const withTeam = seeded(backend, async (db) => {
      const teamId = await insertTeam(db)
      for (let n = 0; n < 3; n++) teamUsers.push(await insertUser(db, teamId, 'owner'))
    })
    const service = await TestService.start(withTeam)
    try {
      const [demoted, removed] = teamUsers
      if (demoted === undefined || removed === undefined) throw new Error('no user was added')
      const list = (user: TestUser) =>
        service.call({ method: 'GET', url: URL, token: tokenFor(service, user) })
      const regrant = async (user: TestUser) => {
        const token = tokenFor(service, user)
        const body = { email: freshEmail(), password: PASSWORD, role: 'owner' }
        const promotion = { method: 'PATCH', url: `${URL}/${user.userId}`, token } as const
        return [
          await service.call({ url: URL, token, body }),
          await service.call({ ...promotion, body: { role: 'owner' } }),
          await service.call({ method: 'DELETE', url: `/v1/keys/${key.id}`, token }),
        ].map(findOutcome)
      }
      const asked = { url: '/v1/keys', token: tokenFor(service, removed), body: { name: 'k' } }
      const key = (await service.call(asked)).json()
      // From here on the service remembers both as owners.
      for (const user of [demoted, removed]) expect((await list(user)).statusCode).toBe(200)
      await withDatabase(service.config, async (db) => {
        const of = (user: TestUser) => eq(users.id, user.userId)
        await db.update(users).set({ role: 'viewer' }).where(of(demoted))
        await db.delete(users).where(of(removed))
      })
      for (const user of [demoted, removed]) expect((await list(user)).statusCode).toBe(200)
      expect(await regrant(demoted)).toEqual(Array(3).fill('403 insufficient_role'))
      // The removed manager can't be promoted again.
      const refusals = ['401 unauthorized', '404 member_not_found', '401 unauthorized']
      expect(await regrant(removed)).toEqual(refusals)
    } finally {
      await service.close()
    }
  })
})
