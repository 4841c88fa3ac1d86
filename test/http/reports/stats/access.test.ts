import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ROLES } from '../../../../src/http/access/caller.ts'
import { card, plainFeature } from '../../../support/cards/cards.ts'
import { findOutcome, formatRefusal } from '../../../support/expect/answers.ts'
import { statsWith } from '../../../support/expect/stats.ts'
import { backends } from '../../../support/start/databases.ts'
import { seeded } from '../../../support/start/seeded-database.ts'
import { TestService } from '../../../support/start/service.ts'
import {
  insertOwner,
  insertTeam,
  insertUser,
  type TestUser,
  tokenFor,
} from '../../../support/start/users.ts'

describe.each(backends)('on $name', (backend) => {
  const teamUsers: TestUser[] = []
  let stranger: TestUser
  let service: TestService
  let owner: string
  let slug: string

  beforeAll(async () => {
    service = await TestService.start(
      seeded(backend, async (db) => {
        const teamId = await insertTeam(db)
        await insertOwner(db, teamId)
        for (const role of ROLES) teamUsers.push(await insertUser(db, teamId, role))
        stranger = await insertUser(db, await insertTeam(db), 'owner')
      }),
    )
    owner = await service.signIn()
    slug = await service.deploy(owner, card([plainFeature('income')]), 'production')
    const key = await service.createKey(owner)
    await service.call({ url: `/v1/score/${slug}`, token: key, body: {} })
    await statsWith(service, owner, slug, 1)
  })
  afterAll(() => service.close())

  const ask = (token: string | undefined, query = '', of = slug) =>
    service.call({
      method: 'GET',
      url: `/v1/deployments/${of}/stats${query}`,
      ...(token !== undefined && { token }),
    })
  const keyWith = (order: object) => service.createKey(owner, order)

  test('every member of the team may read stats, and every key with read', async () => {
    for (const user of teamUsers) {
      expect(findOutcome(await ask(tokenFor(service, user)))).toBe('200')
    }
    expect(findOutcome(await ask(await keyWith({ scopes: ['read'] })))).toBe('200')
    const ofProduction = await keyWith({ scopes: ['read', 'score'], environment: 'production' })
    expect(findOutcome(await ask(ofProduction))).toBe('200')
  })

  test('a key without read and whoever is not proven are refused', async () => {
    for (const token of [await keyWith({ scopes: ['score'] }), 'sk_live_x', 'x', undefined]) {
      expect(findOutcome(await ask(token))).toBe('401 unauthorized')
    }
    // Before anything is said of the query.
    expect(findOutcome(await ask(undefined, '?recent=0'))).toBe('401 unauthorized')
  })

  // What exists elsewhere must not be told from what exists nowhere.
  test('a deployment of another team or environment answers as one that does not exist', async () => {
    const absent = formatRefusal(await ask(owner, '', 'dep_00000000000000000000000'))
    expect(absent).toMatchObject({ status: 404, error: 'deployment_not_found' })
    const ofStaging = await keyWith({ scopes: ['read'], environment: 'staging' })
    expect(formatRefusal(await ask(ofStaging))).toEqual(absent)
    expect(formatRefusal(await ask(tokenFor(service, stranger)))).toEqual(absent)
    for (const odd of ['no-slug', 'mod_00000000000000000000000', '%00', 'dep_%27']) {
      expect(formatRefusal(await ask(owner, '', odd))).toEqual(absent)
    }
  })

  // A lender that has switched a deployment off still has to explain what it decided.
  test('an inactive deployment answers as before', async () => {
    const before = await ask(owner)
    const url = `/v1/deployments/${slug}`
    const switched = await service.call({
      method: 'PATCH',
      url,
      token: owner,
      body: { is_active: false },
    })
    expect(switched.statusCode).toBe(200)
    expect((await ask(owner)).json()).toEqual(before.json())
    await service.call({ method: 'PATCH', url, token: owner, body: { is_active: true } })
  })

  test.each([
    'recent=0',
    'recent=101',
    'recent=-1',
    'recent=1.5',
    'recent=x',
    'recent=',
    'from=yesterday',
    'from=2026-01-01',
    'from=2026-01-01T00:00:00',
    'from=2026-02-30T00:00:00Z',
    'to=2026-01-01T25:00:00Z',
    'to=2026-12-31T23:59:60Z',
    'from=1767225600000',
    'from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z',
    'from=2026-01-01T00:00:00.002Z&to=2026-01-01T00:00:00.001Z',
    'since=2026-01-01T00:00:00Z',
  ])('the query ?%s is refused', async (query) => {
    expect(findOutcome(await ask(owner, `?${query}`))).toBe('400 invalid_request')
    // Before anything is looked up.
    expect(findOutcome(await ask(owner, `?${query}`, 'no-slug'))).toBe('400 invalid_request')
  })
})
