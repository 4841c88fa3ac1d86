import { eq, isNotNull } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { CreatedKey, KeyList } from '../../../../schemas/keys.ts'
import type { Role } from '../../../../src/http/access/caller.ts'
import { OPERATOR } from '../../../../src/identity/audit/record.ts'
import { KeyStore } from '../../../../src/identity/keys/store.ts'
import type { Database } from '../../../../src/platform/db/client.ts'
import { auditLog } from '../../../../src/tables/audit.ts'
import { apiKeys } from '../../../../src/tables/keys.ts'
import { card, plainFeature } from '../../../support/cards/cards.ts'
import { expectSuccess, findOutcome, formatRefusal } from '../../../support/expect/answers.ts'
import { backends } from '../../../support/start/databases.ts'
import { seeded, withDatabase } from '../../../support/start/seeded-database.ts'
import { TestService } from '../../../support/start/service.ts'
import { insertTeam, insertUser, type TestUser, tokenFor } from '../../../support/start/users.ts'

const AT = Date.parse('2026-03-04T05:06:07.089Z')

interface Team {
  readonly teamId: string
  readonly teamUsers: Readonly<Record<Role, TestUser>>
}

async function insertTeamOfAll(db: Database): Promise<Team> {
  const teamId = await insertTeam(db)
  const teamUsers = {
    owner: await insertUser(db, teamId, 'owner'),
    admin: await insertUser(db, teamId, 'admin'),
    lead_modeler: await insertUser(db, teamId, 'lead_modeler'),
    modeler: await insertUser(db, teamId, 'modeler'),
    auditor: await insertUser(db, teamId, 'auditor'),
    viewer: await insertUser(db, teamId, 'viewer'),
  }
  return { teamId, teamUsers }
}

/** A service with two teams, whose wall clock the test moves. */
async function startService(backend: (typeof backends)[number]) {
  const teams: Team[] = []
  const withTeams = seeded(backend, async (db) => {
    teams.push(await insertTeamOfAll(db), await insertTeamOfAll(db))
  })
  const clock = { nowMs: AT, epochMs: () => clock.nowMs, monotonicMs: () => performance.now() }
  const service = await TestService.start(withTeams, { clock })
  const [team, otherTeam] = teams
  if (team === undefined || otherTeam === undefined) throw new Error('no team was made')
  return { service, team, otherTeam, clock }
}

describe.each(backends)('on $name', (backend) => {
  let service: TestService
  let team: Team
  let otherTeam: Team
  let clock: { nowMs: number }

  beforeAll(async () => {
    ;({ service, team, otherTeam, clock } = await startService(backend))
  })
  afterAll(() => service.close())

  const as = (role: Role, of = team) => tokenFor(service, of.teamUsers[role])
  const create = async (order: object = {}, token = as('owner')) => {
    clock.nowMs += 1
    const body = { name: 'key of a test', ...order }
    return expectSuccess(await service.call({ url: '/v1/keys', token, body }), CreatedKey, 201)
  }
  const list = async (query = '', token = as('viewer')) =>
    expectSuccess(await service.call({ method: 'GET', url: `/v1/keys${query}`, token }), KeyList)
  const revoke = (id: string, token = as('admin')) =>
    service.call({ method: 'DELETE', url: `/v1/keys/${id}`, token })
  const score = async (key: string) =>
    findOutcome(await service.call({ url: '/v1/score/dep_none', token: key, body: {} }))

  // What a key opens and who uses it is read off this list before one is revoked.
  test('the list shows the documented fields of each key, and no secret or hash', async () => {
    const plain = await create({ name: 'loan desk' })
    const limited = await create({
      name: 'nightly',
      scopes: ['read', 'score'],
      environment: 'staging',
      rate_limit_per_minute: 1_000_000,
    })
    const { keys } = await list('?limit=2')
    const { key: _limitedSecret, ...limitedFields } = limited
    const { key: _plainSecret, ...plainFields } = plain
    expect(keys).toEqual([
      { ...limitedFields, last_used_at: null },
      { ...plainFields, last_used_at: null },
    ])
    expect(keys[0]).toMatchObject({
      environment: 'staging',
      scopes: ['read', 'score'],
      rate_limit_per_minute: 1_000_000,
      created_at: new Date(clock.nowMs).toISOString(),
    })
    expect(Object.keys(keys[1]).sort()).toEqual(
      [
        ...['created_at', 'created_by', 'environment', 'expires_at', 'id', 'last_used_at'],
        ...['name', 'prefix', 'scopes', 'allowed_addresses'],
      ].sort(),
    )
  })

  test('the list holds everything, newest first, and pages lead through all of it once', async () => {
    const made: string[] = []
    for (let n = 0; n < 5; n++) made.unshift((await create()).id)
    const all = (await list()).keys.map(({ id }: { id: string }) => id)
    expect(all.slice(0, 5)).toEqual(made)

    const paged: string[] = []
    let cursor: string | undefined
    do {
      const page = await list(`?limit=2${cursor === undefined ? '' : `&cursor=${cursor}`}`)
      expect(page.keys.length).toBeLessThanOrEqual(2)
      paged.push(...page.keys.map(({ id }: { id: string }) => id))
      cursor = page.next_cursor
    } while (cursor !== undefined)
    expect(paged).toEqual(all)
  })

  test.each(['limit=0', 'limit=201', 'limit=x', 'limit=1.5', 'cursor=%00', 'offset=1', 'limit='])(
    'a list asked for with %s is 400',
    async (query) => {
      const url = `/v1/keys?${query}`
      const response = await service.call({ method: 'GET', url, token: as('owner') })
      expect(findOutcome(response)).toBe('400 invalid_request')
    },
  )

  // A stranger's keys in the list would tell who else is a customer, and what for.
  test('the list holds the keys of the own team only', async () => {
    const { id } = await create({ name: 'secret project' }, as('owner', otherTeam))
    const ids = (keys: Array<{ id: string }>) => keys.map((key) => key.id)
    expect(ids((await list()).keys)).not.toContain(id)
    expect(ids((await list('', as('viewer', otherTeam))).keys)).toContain(id)
    // A cursor is a place in the order of ids, not a right to what stands there.
    expect(ids((await list(`?cursor=${id}`)).keys)).not.toContain(id)
  })

  // Who revokes a stolen key must not wait for a cache: it may be in use this second.
  test.each(['owner', 'admin'] as const)(
    'a key that the %s revoked is refused at once, and leaves the list',
    async (role) => {
      const { id, key } = await create()
      expect(await score(key), 'it is warm').toBe('404 deployment_not_found')
      const response = await revoke(id, as(role))
      expect([response.statusCode, response.body]).toEqual([204, ''])
      expect(await score(key)).toBe('401 invalid_api_key')
      const listed = (await list()).keys.map((one: { id: string }) => one.id)
      expect(listed).not.toContain(id)
    },
  )

  // Any difference would tell a stranger which ids exist.
  test('revoking a key that is unknown, revoked or of another team gives one error', async () => {
    const revoked = await create()
    expect((await revoke(revoked.id)).statusCode).toBe(204)
    const foreign = await create({}, as('owner', otherTeam))
    const answers = []
    for (const id of [
      revoked.id,
      foreign.id,
      'key_none',
      team.teamUsers.owner.userId,
      'x',
      '%00',
      'a'.repeat(500),
      "key_' or true --",
    ]) {
      answers.push(formatRefusal(await revoke(encodeURI(decodeURI(id)))))
    }
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1)
    expect(answers[0]).toMatchObject({ status: 404, error: 'key_not_found' })
    expect(await score(foreign.key), 'it is in force').toBe('404 deployment_not_found')
  })

  test('of many revocations of a key at once, one succeeds and the others are 404', async () => {
    const tenTimes = <T>(work: () => Promise<T>) => Promise.all(Array.from({ length: 10 }, work))
    // Else the first would be done before the others have a connection.
    await tenTimes(() => list())
    for (const { id } of await tenTimes(() => create())) {
      const outcomes = (await tenTimes(() => revoke(id))).map(findOutcome).sort()
      expect(outcomes).toEqual(['204', ...Array(9).fill('404 key_not_found')])
    }
  })

  test('a revocation with a JSON header and no body is carried out, one with half a body is 400', async () => {
    const { id } = await create()
    const call = { method: 'DELETE', url: `/v1/keys/${id}`, token: as('owner') } as const
    expect(findOutcome(await service.call({ ...call, body: '{' }))).toBe('400 invalid_request')
    const headers = { 'content-type': 'application/json' }
    expect(findOutcome(await service.call({ ...call, headers }))).toBe('204')
  })

  test.each(['lead_modeler', 'modeler', 'viewer'] as const)(
    'the %s may list keys, not make or revoke them',
    async (role) => {
      const { id, key } = await create()
      await list('', as(role))
      const body = { name: 'k' }
      const made = await service.call({ url: '/v1/keys', token: as(role), body })
      expect(findOutcome(made)).toBe('403 insufficient_role')
      expect(findOutcome(await revoke(id, as(role)))).toBe('403 insufficient_role')
      expect(await score(key)).toBe('404 deployment_not_found')
    },
  )

  // A quota is what the operator sells: an admin must not help himself.
  test.each([1_000, 1, 0, 'x', null])(
    'an admin who asks for the quota %j is 403, before anything else is looked at',
    async (limit) => {
      const body = { name: 7, scopes: ['admin'], rate_limit_per_minute: limit }
      const refused = await service.call({ url: '/v1/keys', token: as('admin'), body })
      expect(findOutcome(refused)).toBe('403 insufficient_role')
    },
  )

  test.each([0, -1, 1.5, 1_000_001, '5', null, true, [1]])(
    'the quota %j is 400 at its field',
    async (limit) => {
      const body = { name: 'k', rate_limit_per_minute: limit }
      const refusal = formatRefusal(
        await service.call({ url: '/v1/keys', token: as('owner'), body }),
      )
      expect(refusal).toMatchObject({ status: 400, error: 'invalid_request' })
      expect(refusal.details?.[0]?.path).toBe('rate_limit_per_minute')
    },
  )

  const update = (id: string, body: object, token = as('owner')) =>
    service.call({ method: 'PATCH', url: `/v1/keys/${id}`, token, body })

  test('name and quota change while the secret stays, and the quota is in force at once', async () => {
    const made = await create()
    expect((await update(made.id, { rate_limit_per_minute: 2 })).json()).toMatchObject({
      id: made.id,
      name: made.name,
      rate_limit_per_minute: 2,
    })
    const asked = await service.call({ url: '/v1/score/dep_none', token: made.key, body: {} })
    expect(asked.headers['x-ratelimit-limit']).toBe('2')
    const renamed = await update(made.id, { name: 'desk' }, as('admin'))
    expect(renamed.json()).toMatchObject({ name: 'desk', rate_limit_per_minute: 2 })
    const unlimited = await update(made.id, { rate_limit_per_minute: null, name: 'hall' })
    expect(unlimited.json()).not.toHaveProperty('rate_limit_per_minute')
    expect((await list('?limit=1')).keys[0]).toMatchObject({ id: made.id, name: 'hall' })
  })

  test('a change of a key is refused like its creation', async () => {
    const { id } = await create()
    const foreign = await create({}, as('owner', otherTeam))
    const outcome = async (...order: Parameters<typeof update>) =>
      findOutcome(await update(...order))
    expect(await outcome(id, { rate_limit_per_minute: 5 }, as('admin'))).toBe(
      '403 insufficient_role',
    )
    expect(await outcome(id, { name: 'x' }, as('lead_modeler'))).toBe('403 insufficient_role')
    for (const body of [{}, { name: '' }, { rate_limit_per_minute: 0 }, { scopes: ['read'] }]) {
      expect(await outcome(id, body), JSON.stringify(body)).toBe('400 invalid_request')
    }
    expect(await outcome(foreign.id, { name: 'x' })).toBe('404 key_not_found')
    expect(await outcome('key_none', { name: 'x' })).toBe('404 key_not_found')
    await revoke(id)
    expect(await outcome(id, { name: 'x' })).toBe('404 key_not_found')
  })

  describe('for the operator', () => {
    const readOperator = (teamId: string) => ({ userId: OPERATOR, teamId })

    test('the team of a key in force is found by its id, and the limit is set and taken away', async () => {
      const { id } = await create()
      const { keys } = service.services
      const actor = readOperator(await keys.findTeam(id))
      expect(actor.teamId).toBe(team.teamId)
      const makeLimit = async () => (await keys.list(team.teamId, { limit: 1 })).items[0]
      await keys.update(actor, id, { rateLimitPerMinute: 5 })
      expect(await makeLimit()).toMatchObject({ id, rateLimitPerMinute: 5 })
      await keys.update(actor, id, { rateLimitPerMinute: null })
      expect(await makeLimit()).toMatchObject({ id, rateLimitPerMinute: null })
    })

    test('a key that is unknown, revoked or of another team has no team and takes no limit', async () => {
      const { keys } = service.services
      const { id } = await create()
      await revoke(id)
      const foreign = await create({}, as('owner', otherTeam))
      for (const keyId of [id, 'key_none', 'x\0']) {
        await expect(keys.findTeam(keyId)).rejects.toMatchObject({ code: 'key_not_found' })
      }
      for (const keyId of [id, 'key_none', 'x\0', foreign.id]) {
        const change = keys.update(readOperator(team.teamId), keyId, { rateLimitPerMinute: 5 })
        await expect(change).rejects.toMatchObject({ code: 'key_not_found' })
      }
    })

    test.each([0, -1, 1.5, 1_000_001, Number.NaN])('the limit %d is refused', async (limit) => {
      const { id } = await create()
      const change = service.services.keys.update(readOperator(team.teamId), id, {
        rateLimitPerMinute: limit,
      })
      await expect(change).rejects.toMatchObject({ code: 'invalid_request' })
    })
  })
})

// Without a record nobody can say later who cut a server off.
test.each(backends)('on $name each change of a key has an audit record', async (backend) => {
  const { service, team } = await startService(backend)
  onTestFinished(() => service.close())
  const { owner, admin } = team.teamUsers
  const body = { name: 'k', rate_limit_per_minute: 7 }
  const made = await service.call({ url: '/v1/keys', token: tokenFor(service, owner), body })
  const { id, prefix, key } = expectSuccess(made, CreatedKey, 201)
  await service.services.keys.update({ userId: OPERATOR, teamId: team.teamId }, id, {
    rateLimitPerMinute: 9,
  })
  await service.call({
    method: 'PATCH',
    url: `/v1/keys/${id}`,
    token: tokenFor(service, owner),
    body: { name: 'l', rate_limit_per_minute: null },
  })
  const token = tokenFor(service, admin)
  await service.call({ method: 'DELETE', url: `/v1/keys/${id}`, token })
  await service.call({ method: 'DELETE', url: `/v1/keys/${id}`, token })
  await service.services.close()

  const records = await withDatabase(service.config, (db) => db.select().from(auditLog))
  const fields = { name: 'k', prefix, scopes: ['score'], environment: null }
  const rest = { subject: id, reason: null, teamId: team.teamId, createdAt: new Date(AT) }
  const limit = (perMinute: number) => ({ rate_limit_per_minute: perMinute })
  const expected = [
    { action: 'key.create', actor: owner.userId, before: null, after: { ...fields, ...limit(7) } },
    { action: 'key.set_limit', actor: OPERATOR, before: limit(7), after: limit(9) },
    {
      action: 'key.update',
      actor: owner.userId,
      before: { name: 'k', ...limit(9) },
      after: { name: 'l', rate_limit_per_minute: null },
    },
    { action: 'key.revoke', actor: admin.userId, before: { ...fields, name: 'l' }, after: null },
  ].map((record) => ({
    id: expect.stringMatching(/^aud_/),
    position: expect.any(Number),
    ...rest,
    ...record,
  }))
  expect(records).toHaveLength(4)
  expect(records).toEqual(expect.arrayContaining(expected))
  expect(JSON.stringify(records)).not.toContain(key.slice(prefix.length))
})

test.each(backends)('on $name the last use of a key is kept over the end', async (backend) => {
  const { service, team, clock } = await startService(backend)
  onTestFinished(() => service.close())
  const token = tokenFor(service, team.teamUsers.owner)
  const slug = await service.deploy(token, card([plainFeature('income')]))
  const [used, unused] = [await service.createKey(token), await service.createKey(token)]
  for (let n = 0; n < 3; n++) {
    clock.nowMs += 1_000
    await service.call({ url: `/v1/score/${slug}`, token: used, body: {} })
  }
  const usedAt = new Date(clock.nowMs)
  clock.nowMs += 1_000
  await service.services.close()
  const rows = await withDatabase(service.config, (db) =>
    db.select({ prefix: apiKeys.keyPrefix, lastUsedAt: apiKeys.lastUsedAt }).from(apiKeys),
  )
  expect(rows).toHaveLength(2)
  expect(rows).toContainEqual({ prefix: used.slice(0, 12), lastUsedAt: usedAt })
  expect(rows).toContainEqual({ prefix: unused.slice(0, 12), lastUsedAt: null })

  // Replicas write in any order, and a use may belong to a key that a restored backup does not
  // hold.
  const late = await withDatabase(service.config, async (db) => {
    const found = await db.select().from(apiKeys).where(isNotNull(apiKeys.lastUsedAt))
    const keyId = found[0]?.id ?? ''
    const earlier = { keyId, usedAt: new Date(usedAt.getTime() - 1) }
    await new KeyStore(db).noteUses([earlier, { ...earlier, keyId: 'key_none' }])
    return db.select().from(apiKeys).where(eq(apiKeys.id, keyId))
  })
  expect(late).toMatchObject([{ lastUsedAt: usedAt }])
})
