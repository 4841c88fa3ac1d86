import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { eq } from 'drizzle-orm'
import type { FastifyInstance, RouteOptions } from 'fastify'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ROLES, type Role } from '../../../src/auth/caller.ts'
import type { Database } from '../../../src/db/client.ts'
import { users } from '../../../src/db/tables/auth.ts'
import { deployments } from '../../../src/db/tables/deployments.ts'
import { apiKeys } from '../../../src/db/tables/keys.ts'
import { newId } from '../../../src/ids.ts'
import { keyHashOf, newKeySecret } from '../../../src/keys/secret.ts'
import { outcomeOf } from '../../support/answers.ts'
import { card, plainFeature } from '../../support/cards.ts'
import { backends } from '../../support/databases.ts'
import {
  insertOwner,
  insertPerson,
  insertTeam,
  type Person,
  tokenFor,
} from '../../support/people.ts'
import { prepared, withDatabase } from '../../support/prepared.ts'
import { OWNER, TestService } from '../../support/service.ts'
import { bearer, UNPROVEN, type World } from '../../support/unproven.ts'

/** Who may call a route: anyone, an API key with the scope, or users of these roles. */
type Admitted = 'anyone' | 'score key' | readonly Role[]

interface Route {
  readonly operation: string
  readonly admitted: Admitted
  /** What the route answers to whoever it admits; 200 when left out. */
  readonly success?: string
  /** A body that the route carries out; a route without it reads none. */
  readonly body?: (slug: string) => object
}

const spec = card([plainFeature('income')])
const applicant = { income: 1 }

/** Every route of the service, as the specification admits callers to it. */
const ROUTES: Readonly<Record<string, Route>> = {
  'POST /api/auth/login': { operation: 'auth.login', admitted: 'anyone', body: () => OWNER },
  // A token that nobody was given: one in force would be used up by the first caller.
  'POST /api/auth/refresh': {
    operation: 'auth.refresh',
    admitted: 'anyone',
    success: '401 invalid_refresh_token',
    body: () => ({ refresh_token: 'none' }),
  },
  'POST /v1/models/deploy': {
    operation: 'models.deploy',
    admitted: ['owner', 'admin', 'lead_modeler'],
    body: () => ({ spec, environment: 'staging', auto_deploy: false }),
  },
  'POST /v1/keys': {
    operation: 'keys.create',
    admitted: ['owner', 'admin'],
    success: '201',
    body: () => ({ name: 'key of the access table' }),
  },
  'GET /v1/keys': { operation: 'keys.list', admitted: ROLES },
  // A key that is not there: one that is could be revoked once only.
  'DELETE /v1/keys/:id': {
    operation: 'keys.revoke',
    admitted: ['owner', 'admin'],
    success: '404 key_not_found',
  },
  'GET /v1/members': { operation: 'members.list', admitted: ['owner', 'admin'] },
  'POST /v1/members': {
    operation: 'members.create',
    admitted: ['owner', 'admin'],
    success: '201',
    body: () => ({
      ...{ email: `${newId('usr_', 0)}@lender.example`, password: 'a long password' },
      role: 'viewer',
    }),
  },
  // A member who is not there: one of this table would lose his row in it.
  'PATCH /v1/members/:id': {
    operation: 'members.update',
    admitted: ['owner', 'admin'],
    success: '404 member_not_found',
    body: () => ({ role: 'viewer' }),
  },
  'DELETE /v1/members/:id': {
    operation: 'members.delete',
    admitted: ['owner', 'admin'],
    success: '404 member_not_found',
  },
  'POST /v1/score/:slug': {
    operation: 'scoring.score',
    admitted: 'score key',
    body: () => applicant,
  },
  'POST /v1/score/:slug/batch': {
    operation: 'scoring.score_batch',
    admitted: 'score key',
    body: () => ({ records: [applicant] }),
  },
  'POST /api/v1/score': {
    operation: 'scoring.score_scorecard',
    admitted: 'score key',
    body: (slug) => ({ scorecard_id: slug, applicant }),
  },
  'POST /api/v1/score/batch': {
    operation: 'scoring.score_scorecard_batch',
    admitted: 'score key',
    body: (slug) => ({ scorecard_id: slug, applicants: [applicant] }),
  },
}

describe.each(backends)('on $name', (backend) => {
  const routes: RouteOptions[] = []
  let world: World
  let slug: string

  beforeAll(async () => {
    const people: Partial<Record<Role, Person>> = {}
    let otherTeamId = ''
    const revoked = newKeySecret(null)
    const withPeople = prepared(backend, async (db) => {
      const teamId = await insertTeam(db)
      otherTeamId = await insertTeam(db)
      for (const role of ROLES) {
        people[role] =
          role === 'owner' ? await insertOwner(db, teamId) : await insertPerson(db, teamId, role)
      }
      await db.insert(apiKeys).values({
        ...{ id: newId('key_', 0), teamId, name: 'revoked', keyHash: keyHashOf(revoked) },
        ...{ keyPrefix: 'sk_live_', scopes: ['score', 'read'], createdBy: 'a test' },
        ...{ createdAt: new Date(0), revokedAt: new Date(1) },
      })
    })
    // Told of each Fastify instance before it has routes.
    const listen = (message: unknown) => {
      const { fastify } = message as { fastify: FastifyInstance }
      fastify.addHook('onRoute', (route) => {
        // Fastify adds a HEAD to each GET, with the same declarations.
        if (route.method !== 'HEAD') routes.push(route)
      })
    }
    subscribe('fastify.initialization', listen)
    const service = await TestService.start(withPeople)
    unsubscribe('fastify.initialization', listen)
    const owner = await service.signIn()
    slug = await service.deploy(owner, spec, 'staging')
    const keys = {
      score: await service.createKey(owner),
      read: await service.createKey(owner, { scopes: ['read'] }),
      both: await service.createKey(owner, { scopes: ['read', 'score'] }),
      staging: await service.createKey(owner, { environment: 'staging' }),
      revoked,
    }
    world = { service, people: people as Record<Role, Person>, otherTeamId, keys }
  })
  afterAll(() => world.service.close())

  /** What each route answers to a caller, with a good body and with one that is no JSON. */
  async function answersTo(authorization: string | undefined): Promise<Record<string, string[]>> {
    const answers: Record<string, string[]> = {}
    for (const [route, { body }] of Object.entries(ROUTES)) {
      const [method, path = ''] = route.split(' ') as ['GET' | 'POST' | 'PATCH' | 'DELETE', string]
      const url = path.replace(':slug', slug).replace(':id', 'key_none')
      const headers = authorization === undefined ? {} : { authorization }
      const call = { method, url, headers }
      const good = await world.service.call(body ? { ...call, body: body(slug) } : call)
      answers[route] = [outcomeOf(good)]
      if (body === undefined) continue
      answers[route].push(outcomeOf(await world.service.call({ ...call, body: '{' })))
    }
    return answers
  }

  /** The specification's table, for a caller who is admitted to some kinds of routes. */
  function expected(admits: (admitted: Admitted) => boolean, refusedUser?: string) {
    const answers: Record<string, string[]> = {}
    for (const [route, { admitted, success = '200', body }] of Object.entries(ROUTES)) {
      const refusal = admitted === 'score key' ? '401 invalid_api_key' : '401 unauthorized'
      const isRole = Array.isArray(admitted) && refusedUser !== undefined
      const refused = isRole ? refusedUser : refusal
      const outcomes = admits(admitted) ? [success, '400 invalid_request'] : [refused, refused]
      answers[route] = body === undefined ? outcomes.slice(0, 1) : outcomes
    }
    return answers
  }

  // A route that nobody decided on would be open to anyone: the hook lets pass what declares nothing.
  test('every route declares its operation and its callers, and has a row in this table', () => {
    const found = routes.map(({ method, url, config }) => [
      `${method} ${url}`,
      { operation: config?.operation, access: config?.access },
    ])
    const declared = Object.entries(ROUTES).map(([route, { operation, admitted }]) => {
      const access =
        admitted === 'anyone'
          ? { by: 'anyone' }
          : admitted === 'score key'
            ? { by: 'key', scope: 'score' }
            : { by: 'user', roles: admitted }
      return [route, { operation, access }]
    })
    expect(Object.fromEntries(found)).toEqual(Object.fromEntries(declared))
    const operations = routes.map(({ config }) => config?.operation)
    expect(new Set(operations).size).toBe(routes.length)
  })

  // Whoever is not proven must learn nothing, not even that his body is malformed.
  test.each(Object.entries(UNPROVEN))('%s opens nothing but the login', async (_, header) => {
    const answers = await answersTo(header(world))
    expect(answers).toEqual(expected((admitted) => admitted === 'anyone'))
  })

  // A role too many may deploy a model that decides about loans, or make keys for the whole team.
  test.each(ROLES)('the role %s opens the routes of its row, and no scoring', async (role) => {
    const answers = await answersTo(bearer(tokenFor(world.service, world.people[role])))
    const admits = (admitted: Admitted) =>
      admitted === 'anyone' || (Array.isArray(admitted) && admitted.includes(role))
    expect(answers).toEqual(expected(admits, '403 insufficient_role'))
  })

  // A token lives for an hour; a demotion must not wait for its end.
  test('the role that counts is that of the user, not the one in the token', async () => {
    const { service, people } = world
    const promoted = tokenFor(service, { ...people.viewer, role: 'owner' })
    const answers = await answersTo(bearer(promoted))
    const admits = (admitted: Admitted) =>
      admitted === 'anyone' || (Array.isArray(admitted) && admitted.includes('viewer'))
    expect(answers).toEqual(expected(admits, '403 insufficient_role'))
  })

  // A server's key must not manage: it lies about in configurations.
  test.each(['score', 'both', 'staging'] as const)(
    'a key with the scope score opens scoring and no management: %s',
    async (name) => {
      const answers = await answersTo(bearer(world.keys[name]))
      const admits = (admitted: Admitted) => ['anyone', 'score key'].some((a) => a === admitted)
      expect(answers).toEqual(expected(admits))
    },
  )

  // RFC 9110: the scheme is compared without regard to case.
  test('the scheme may be written in any case', async () => {
    const url = `/v1/score/${slug}`
    for (const scheme of ['bearer', 'BEARER']) {
      const headers = { authorization: `${scheme} ${world.keys.score}` }
      expect(outcomeOf(await world.service.call({ url, headers, body: {} }))).toBe('200')
    }
  })
})

// Only PostgreSQL can be changed behind the back of a service that runs, as another replica would.
const shared = backends.filter(({ name }) => name === 'PostgreSQL')

describe.each(shared)('what is taken away on $name by another process', (backend) => {
  const MINUTE_MS = 60_000
  const CACHE_TTL_SEC = 3_600
  let aheadMs = 0
  const clock = { epochMs: Date.now, monotonicMs: () => performance.now() + aheadMs }
  let service: TestService

  beforeAll(async () => {
    const env = { SPEC_CACHE_TTL_SECONDS: `${CACHE_TTL_SEC}` }
    service = await TestService.start(backend, { clock, env })
  })
  afterAll(() => service.close())

  const change = (work: (db: Database) => PromiseLike<unknown>) =>
    withDatabase(service.config, async (db) => void (await work(db)))

  // A token lives for an hour; whoever is dismissed must not have that hour.
  test('a removed user and a changed role are in force within a minute, however long caches live', async () => {
    const people: Person[] = []
    await change(async (db) => {
      const teamId = await insertTeam(db)
      for (const role of ['admin', 'owner'] as const) {
        people.push(await insertPerson(db, teamId, role))
      }
    })
    const ask = async (person: Person | undefined) => {
      const token = tokenFor(service, person ?? expect.fail('nobody was prepared'))
      return outcomeOf(await service.call({ url: '/v1/keys', token, body: { name: 'k' } }))
    }
    const [removed, demoted] = people
    expect([await ask(removed), await ask(demoted)]).toEqual(['201', '201'])

    await change((db) => db.delete(users).where(eq(users.id, removed?.userId ?? '')))
    await change((db) =>
      db
        .update(users)
        .set({ role: 'viewer' })
        .where(eq(users.id, demoted?.userId ?? '')),
    )
    aheadMs += MINUTE_MS
    expect([await ask(removed), await ask(demoted)]).toEqual([
      '401 unauthorized',
      '403 insufficient_role',
    ])
  })

  // A key that was stolen and revoked must end, even where no message tells of it.
  test('a revoked key and a switched-off deployment end within the time-to-live of the cache', async () => {
    const owner = await service.signIn()
    const [slug, off] = [await service.deploy(owner, spec), await service.deploy(owner, spec)]
    const [key, revoked] = [await service.createKey(owner), await service.createKey(owner)]
    const ask = async (to: string, token: string) =>
      outcomeOf(await service.call({ url: `/v1/score/${to}`, token, body: applicant }))
    const askAll = async () => [await ask(slug, key), await ask(slug, revoked), await ask(off, key)]
    expect(await askAll()).toEqual(['200', '200', '200'])

    const revokedAt = new Date()
    await change((db) =>
      db
        .update(apiKeys)
        .set({ revokedAt })
        .where(eq(apiKeys.keyHash, keyHashOf(revoked))),
    )
    await change((db) =>
      db.update(deployments).set({ isActive: false }).where(eq(deployments.id, off)),
    )
    aheadMs += CACHE_TTL_SEC * 1000
    expect(await askAll()).toEqual(['200', '401 invalid_api_key', '404 deployment_not_found'])
  })
})
