import { eq } from 'drizzle-orm'
import type { LightMyRequestResponse, RouteOptions } from 'fastify'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ROLES, type Role } from '../../../../src/http/access/caller.ts'
import { hashKey } from '../../../../src/identity/keys/secret.ts'
import type { Database } from '../../../../src/platform/db/client.ts'
import { users } from '../../../../src/tables/auth.ts'
import { deployments } from '../../../../src/tables/deployments.ts'
import { apiKeys } from '../../../../src/tables/keys.ts'
import { card, plainFeature } from '../../../support/cards/cards.ts'
import { findOutcome } from '../../../support/expect/answers.ts'
import { ANONYMOUS, bearer, type World } from '../../../support/scenarios/anonymous-callers.ts'
import { readBelongings } from '../../../support/scenarios/belongings.ts'
import {
  type Admitted,
  formatPath,
  type IdName,
  type Ids,
  isOfPage,
  ROUTES,
  readRoutes,
  UNKNOWN,
  withIds,
} from '../../../support/scenarios/routes.ts'
import { backends } from '../../../support/start/databases.ts'
import { withDatabase } from '../../../support/start/seeded-database.ts'
import { TestService } from '../../../support/start/service.ts'
import { type Team, TwoTeams } from '../../../support/start/team.ts'
import { insertTeam, insertUser, type TestUser, tokenFor } from '../../../support/start/users.ts'

const spec = card([plainFeature('income')])
const applicant = { income: 1 }

/** Roles that may deploy a model. */
const DEPLOYING: Role[] = ['owner', 'admin', 'lead_modeler']
/** What the scope `score` opens. */
const SCORING: Admitted[] = [
  ...(['score key', 'score key or deployer'] as const),
  ...(['score key or file reader', 'member or any key'] as const),
]

/** Whether a member of a role, or a service account with it, is admitted. */
const admitsRole = (role: Role) => (admitted: Admitted) =>
  admitted === 'anyone' ||
  READING.includes(admitted) ||
  (admitted === 'score key or deployer' && DEPLOYING.includes(role)) ||
  (admitted === 'score key or file reader' && [...DEPLOYING, 'auditor'].includes(role)) ||
  (Array.isArray(admitted) && admitted.includes(role))

/** What the scope `read` opens. */
const READING: Admitted[] = ['member or read key', 'member or any key']

/** What each kind of key opens beside the login, on a deployment for staging. */
const KEYS: Record<string, { order: object; opens: Admitted[]; score?: string }> = {
  score: { order: { scopes: ['score'] }, opens: SCORING },
  read: { order: { scopes: ['read'] }, opens: READING },
  both: { order: { scopes: ['read', 'score'] }, opens: [...SCORING, 'member or read key'] },
  staging: { order: { environment: 'staging' }, opens: SCORING },
  production: {
    order: { environment: 'production' },
    opens: SCORING,
    score: '404 deployment_not_found',
  },
  'staging read': {
    order: { scopes: ['read'], environment: 'staging' },
    opens: READING,
  },
}

/** The part of a response that a caller sees, without the request's id, its time and the quota. */
function readVisible({ statusCode, headers, body }: LightMyRequestResponse): unknown {
  const requestId = String(headers['x-request-id'])
  const { date: _date, 'x-ratelimit-remaining': _remaining, ...others } = headers
  return { statusCode, body: body.replaceAll(requestId, ''), ...others, 'x-request-id': '' }
}

describe.each(backends)('on $name', (backend) => {
  let routes: RouteOptions[]
  let teams: TwoTeams
  let world: World & { keys: Record<string, string> }
  let ids: Ids

  beforeAll(async () => {
    const { started, routes: found } = await readRoutes(() => TwoTeams.start(backend))
    routes = found
    teams = started
    const { service, team, teamUsers, otherTeamId } = teams
    const { slug, modelId } = await team.deploy(spec, 'staging')
    // Keys and members that are there could be revoked and removed once only.
    ids = { ...UNKNOWN, slug, model: modelId }
    const keys: Record<string, string> = {}
    for (const [name, { order }] of Object.entries(KEYS)) {
      keys[name] = await service.createKey(team.owner, order)
    }
    const { id, key } = await team.done('POST', '/v1/keys', {
      name: 'k',
      scopes: ['score', 'read'],
    })
    await team.call('DELETE', `/v1/keys/${id}`)
    keys['revoked'] = key
    world = { service, teamUsers, otherTeamId, keys } as typeof world
  })
  afterAll(() => teams.service.close())

  /** What each route answers to a caller, with a good body and with one that is no JSON. */
  async function answersTo(authorization: string | undefined): Promise<Record<string, string[]>> {
    const answers: Record<string, string[]> = {}
    const headers = authorization === undefined ? {} : { authorization }
    for (const [row, { body }] of Object.entries(ROUTES)) {
      const { method, path } = formatPath(row)
      const call = { method, url: withIds(path, ids), headers }
      const ask = async (text?: string) =>
        findOutcome(await world.service.call(text === undefined ? call : { ...call, body: text }))
      answers[row] =
        body === undefined
          ? [await ask()]
          : [await ask(withIds(JSON.stringify(body), ids)), await ask('{')]
    }
    return answers
  }

  /** The specification's table, for a caller who is admitted to some kinds of routes. */
  function expected(
    admits: (admitted: Admitted) => boolean,
    { refusedUser, score }: { refusedUser?: string; score?: string | undefined } = {},
  ) {
    const answers: Record<string, string[]> = {}
    for (const [row, { admitted, success = '200', body }] of Object.entries(ROUTES)) {
      const anonymous = admitted === 'score key' ? '401 invalid_api_key' : '401 unauthorized'
      const isForRoles =
        Array.isArray(admitted) ||
        admitted === 'score key or deployer' ||
        admitted === 'score key or file reader'
      const refused = (isForRoles && refusedUser) || anonymous
      const isScoring = admitted === 'score key' || admitted === 'member or any key'
      const scored = isScoring && score !== undefined ? score : success
      const outcomes = admits(admitted) ? [scored, '400 invalid_request'] : [refused, refused]
      answers[row] = body === undefined ? outcomes.slice(0, 1) : outcomes
    }
    return answers
  }
  const isAnyone = (admitted: Admitted) => admitted === 'anyone'

  // A route that nobody decided on would be open to anyone: the hook lets pass what declares
  // nothing.
  test('every route declares its operation and its callers, and has a row in this table', () => {
    // What the pages of the documentation and the console are made of has no row: it is anyone's.
    const isPage = ({ config }: RouteOptions) => isOfPage(config?.operation)
    for (const { config } of routes.filter(isPage)) expect(config?.access).toEqual({ by: 'anyone' })
    const own = routes.filter((route) => !isPage(route))
    const found = own.map(({ method, url, config }) => [
      `${method} ${url}`,
      { operation: config?.operation, access: config?.access },
    ])
    const readAccess = (admitted: Admitted) => {
      if (admitted === 'anyone') return { by: 'anyone' }
      if (admitted === 'score key') return { by: 'key', scope: 'score' }
      if (admitted === 'member or read key') return { by: 'user-or-key', scope: 'read' }
      if (admitted === 'member or any key') {
        return { by: 'user-or-key', scope: 'score', orScope: 'read' }
      }
      if (admitted === 'score key or deployer') {
        return { by: 'user-or-key', scope: 'score', roles: DEPLOYING }
      }
      if (admitted === 'score key or file reader') {
        return { by: 'user-or-key', scope: 'score', roles: [...DEPLOYING, 'auditor'] }
      }
      return { by: 'user', roles: admitted }
    }
    const declared = Object.entries(ROUTES).map(([row, { operation, admitted, inPerson }]) => [
      row,
      { operation, access: { ...readAccess(admitted), ...(inPerson && { inPerson }) } },
    ])
    expect(Object.fromEntries(found)).toEqual(Object.fromEntries(declared))
    expect(new Set(Object.values(ROUTES).map(({ operation }) => operation)).size).toBe(found.length)
  })

  // A caller that is not proven must learn nothing, not even that the body is malformed.
  test.each(Object.entries(ANONYMOUS))('%s opens nothing but the sign-in', async (_, header) => {
    expect(await answersTo(header(world))).toEqual(expected(isAnyone))
  })

  // A role too many may deploy a model that decides about loans, or make keys for the whole team.
  test.each(ROLES)('the role %s opens the routes of its row, and no scoring', async (role) => {
    const answers = await answersTo(bearer(teams.readToken(role)))
    const admits = admitsRole(role)
    expect(answers).toEqual(expected(admits, { refusedUser: '403 insufficient_role' }))
  })

  // Wherever a token of the role is accepted, a pipeline must be; and nowhere else.
  test.each(ROLES.slice(1))(
    'a service account with the role %s opens what a member with it opens, has no password, and changes no members and no accounts',
    async (role) => {
      const order = { name: 'of the access table', role }
      const { token } = await teams.team.done('POST', '/v1/service-accounts', order)
      const admits = admitsRole(role)
      const refused = '403 insufficient_role'
      const inPerson = Object.entries(ROUTES).filter(([, row]) => row.inPerson)
      expect(inPerson).toHaveLength(6)
      expect(await answersTo(bearer(token))).toEqual({
        ...expected(admits, { refusedUser: refused }),
        ...Object.fromEntries(
          inPerson.map(([row, { body }]) => [row, body ? [refused, refused] : [refused]]),
        ),
        'POST /api/auth/password': ['403 insufficient_role', '400 invalid_request'],
      })
    },
  )

  // A token lives for an hour; a demotion must not wait for its end.
  test('the role that counts is that of the user, not the one in the token', async () => {
    const promoted = tokenFor(world.service, { ...world.teamUsers.viewer, role: 'owner' })
    expect(await answersTo(bearer(promoted))).toEqual(
      await answersTo(bearer(teams.readToken('viewer'))),
    )
  })

  // A server's key must not manage: it lies about in configurations.
  test.each(Object.entries(KEYS))(
    'a key of the kind "%s" opens what its scope says, in its environment, and no management',
    async (name, { opens, score }) => {
      const answers = await answersTo(bearer(world.keys[name] ?? ''))
      const admits = (admitted: Admitted) => isAnyone(admitted) || opens.includes(admitted)
      expect(answers).toEqual(expected(admits, { score }))
    },
  )

  /** All that a team can read of what it has, but when a key was used last, which comes late. */
  const readShelf = async (team: Team) => {
    const lists = [
      '/v1/models',
      '/v1/deployments',
      '/v1/keys',
      '/v1/members',
      '/v1/service-accounts',
      '/api/v1/scorecards',
    ]
    const read = async (url: string) =>
      (await team.call('GET', url)).body.replaceAll(/"last_used_at":(?:null|"[^"]*")/g, '')
    return Promise.all(lists.map(read))
  }

  // Any difference would tell a lender what another team has.
  test('a resource of another team is answered byte for byte like one that does not exist', async () => {
    const { team, otherTeam, service } = teams
    const theirs = await readBelongings(otherTeam, spec.name)
    const shelf = await readShelf(otherTeam)
    const details = await otherTeam.deployment(theirs.slug)
    const compared: string[] = []
    for (const [row, { admitted, body, naming = [] }] of Object.entries(ROUTES)) {
      const { method, path } = formatPath(row)
      const token = admitted === 'score key' ? team.key : team.owner
      for (const one of [body, ...naming]) {
        const text = one === undefined ? undefined : JSON.stringify(one)
        for (const name of Object.keys(UNKNOWN) as IdName[]) {
          if (name === 'definition' || !`${path} ${text}`.includes(`<${name}>`)) continue
          const ask = (id: string) => {
            const named = { ...ids, [name]: id }
            const call = { method, url: withIds(path, named), token }
            return service.call(text === undefined ? call : { ...call, body: withIds(text, named) })
          }
          const unknown = await ask(UNKNOWN[name])
          expect(findOutcome(unknown), row).toMatch(/^404 [a-z_]+_not_found$/)
          expect(readVisible(await ask(theirs[name])), `${row}, ${name}`).toEqual(
            readVisible(unknown),
          )
          compared.push(`${row} ${name}`)
        }
      }
    }
    // Nothing of theirs was changed by it, and every id of the table was put to the test.
    expect(await readShelf(otherTeam)).toEqual(shelf)
    expect(await otherTeam.deployment(theirs.slug)).toEqual(details)
    // Each team names its own definitions.
    const inPaths = Object.keys(ROUTES).filter(
      (row) => row.includes(':') && ROUTES[row]?.id !== 'definition',
    )
    for (const row of inPaths)
      expect(
        compared.some((one) => one.startsWith(row)),
        row,
      ).toBe(true)
  })

  test('no list shows anything of another team', async () => {
    const { team, otherTeam } = teams
    const theirs = await readBelongings(otherTeam, spec.name)
    const lists = Object.keys(ROUTES).filter((row) => row.startsWith('GET') && !row.includes(':'))
    for (const row of lists) {
      const { body } = await team.call('GET', formatPath(row).path)
      for (const [name, id] of Object.entries(theirs)) {
        if (name !== 'definition') expect(body, row).not.toContain(id)
      }
    }
    const keyed = { method: 'GET', url: '/api/v1/scorecards', token: team.key } as const
    expect((await teams.service.call(keyed)).body).not.toContain(theirs.slug)
  })

  // RFC 9110: the scheme is compared without regard to case.
  test('the scheme may be written in any case', async () => {
    const url = `/v1/score/${ids.slug}`
    for (const scheme of ['bearer', 'BEARER']) {
      const headers = { authorization: `${scheme} ${world.keys['score']}` }
      expect(findOutcome(await world.service.call({ url, headers, body: {} }))).toBe('200')
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
    const teamUsers: TestUser[] = []
    await change(async (db) => {
      const teamId = await insertTeam(db)
      for (const role of ['admin', 'owner'] as const) {
        teamUsers.push(await insertUser(db, teamId, role))
      }
    })
    const ask = async (user: TestUser | undefined) => {
      const token = tokenFor(service, user ?? expect.fail('no user was added'))
      return findOutcome(await service.call({ url: '/v1/keys', token, body: { name: 'k' } }))
    }
    const [removed, demoted] = teamUsers
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
      findOutcome(await service.call({ url: `/v1/score/${to}`, token, body: applicant }))
    const askAll = async () => [await ask(slug, key), await ask(slug, revoked), await ask(off, key)]
    expect(await askAll()).toEqual(['200', '200', '200'])

    const revokedAt = new Date()
    await change((db) =>
      db
        .update(apiKeys)
        .set({ revokedAt })
        .where(eq(apiKeys.keyHash, hashKey(revoked))),
    )
    await change((db) =>
      db.update(deployments).set({ isActive: false }).where(eq(deployments.id, off)),
    )
    aheadMs += CACHE_TTL_SEC * 1000
    expect(await askAll()).toEqual(['200', '401 invalid_api_key', '404 deployment_not_found'])
  })
})
