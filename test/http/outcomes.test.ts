import type { RouteOptions } from 'fastify'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '../../src/platform/ids.ts'
import { findOutcome } from '../support/expect/answers.ts'
import { BATCH_BYTES_MAX } from '../support/scenarios/batch-scenarios.ts'
import { DECIDED, documentedOutcomes, SPECIFIED } from '../support/scenarios/documented.ts'
import { idempotencyScenarios } from '../support/scenarios/idempotency-scenarios.ts'
import { IMPORTED } from '../support/scenarios/import-scenarios.ts'
import {
  formatPath,
  type Ids,
  isOfPage,
  ROUTES,
  readRoutes,
  UNKNOWN,
  withIds,
} from '../support/scenarios/routes.ts'
import { type Row, SCENARIOS, type Scenario } from '../support/scenarios/scenarios.ts'
import { BODY_BYTES_MAX, sharedScenarios } from '../support/scenarios/shared-scenarios.ts'
import { backends } from '../support/start/databases.ts'
import { TestService } from '../support/start/service.ts'
import { numberedSpec, Team, TwoTeams } from '../support/start/team.ts'

/** A path as the specification writes it. */
const documentedPath = (row: string) => row.replace(/:(\w+)/g, '{$1}')

/** The table: each endpoint × each outcome, how it comes about, and what does it. */
const TABLE: Array<[pair: string, how: string, scenario: Scenario]> = [
  ...Object.entries(SCENARIOS).flatMap(([endpoint, outcomes]) =>
    Object.entries(outcomes).flatMap(([outcome, rows]) => {
      const list = (typeof rows[0] === 'string' ? [rows] : rows) as readonly Row[]
      return list.map(([how, scenario]): (typeof TABLE)[number] => [
        ...([`${endpoint} → ${outcome}`, how] as const),
        scenario,
      ])
    }),
  ),
  ...Object.keys(ROUTES).flatMap((row) =>
    [...sharedScenarios(row), ...idempotencyScenarios(row, documentedPath(row))].map(
      ([outcome, how, scenario]): (typeof TABLE)[number] => [
        ...([`${documentedPath(row)} → ${outcome}`, how] as const),
        scenario,
      ],
    ),
  ),
].sort(([a], [b]) => (a < b ? -1 : 1))

describe.each(backends)('on $name', (backend) => {
  let teams: TwoTeams
  let routes: RouteOptions[]
  let ids: Ids

  beforeAll(async () => {
    const env = { BODY_LIMIT_BYTES: `${BODY_BYTES_MAX}`, BATCH_MAX_BYTES: `${BATCH_BYTES_MAX}` }
    const { started, routes: found } = await readRoutes(() => TwoTeams.start(backend, { env }))
    teams = started
    routes = found
    const { slug } = await teams.team.deploy(numberedSpec(1))
    ids = { ...UNKNOWN, slug, model: await teams.team.register(numberedSpec(2)) }
  })
  afterAll(() => teams.service.close())

  // A client that meets an answer that no test has ever produced is the first one to test it.
  test.each(TABLE)('%s (%s)', async (pair, _, scenario) => {
    const response = await scenario(teams, ids)
    expect(findOutcome(response), response.body).toBe(pair.split(' → ')[1])
  })

  test('the service has exactly the endpoints that are documented', () => {
    const served = routes
      // The document and its page describe the others; the console uses them.
      .filter(({ config }) => !isOfPage(config?.operation))
      .map(({ method, url }) => documentedPath(`${method} ${url}`))
    const documented = Object.keys({ ...SPECIFIED, ...DECIDED }).filter(
      (endpoint) => endpoint !== 'any other path',
    )
    expect(served.sort()).toEqual(documented.sort())
  })
})

test('the table has every documented outcome of every endpoint, and no other', () => {
  // Those that every endpoint has alike are shown below.
  const alike = documentedOutcomes().filter(
    (pair) => pair.endsWith('503 unavailable') || pair.endsWith('429 rate_limited'),
  )
  const shown = new Set([...TABLE.map(([pair]) => pair), ...alike])
  expect([...shown].sort()).toEqual([...new Set(documentedOutcomes())].sort())
})

/** Endpoints that answer from memory alone, and those that ask the identity provider first. */
const NEEDS_NO_DATABASE = new Set([
  ...['GET /v1/log/key', 'POST /api/auth/oidc/start', 'POST /api/auth/oidc'],
])

/** Bodies that need the database, where that of `ROUTES` does not: a card that is only checked. */
const BODIES_WHILE_AWAY: Readonly<Record<string, object>> = {
  'POST /v1/models/import': {
    ...IMPORTED,
    register: { environment: 'staging', auto_deploy: false },
  },
}

// Whoever is told to come back must be told apart from one who made a mistake.
test.each(backends)(
  'on $name every endpoint is 503 unavailable while the database is away',
  async (backend) => {
    const service = await TestService.start(backend)
    const team = await Team.of(service)
    await team.call('GET', '/v1/models')
    await team.ask(UNKNOWN.slug, {})
    await service.services.close()
    const ids = { ...UNKNOWN, slug: newId('dep_', 1) }
    const away: string[] = []
    for (const [row, { admitted, body: usual, file }] of Object.entries(ROUTES)) {
      if (NEEDS_NO_DATABASE.has(row)) continue
      const { method, path } = formatPath(row)
      const body = BODIES_WHILE_AWAY[row] ?? usual
      const token = admitted === 'score key' ? team.key : team.owner
      const response = await service.call({
        method,
        url: withIds(path, ids),
        token,
        ...(body !== undefined && { body: withIds(JSON.stringify(body), ids) }),
        ...(file !== undefined && { body: file.text, headers: { 'content-type': file.type } }),
      })
      const retryAfter = Number(response.headers['retry-after'])
      expect([findOutcome(response), retryAfter > 0], row).toEqual(['503 unavailable', true])
      away.push(`${documentedPath(row)} → 503 unavailable`)
    }
    const documented = documentedOutcomes().filter((pair) => pair.endsWith('503 unavailable'))
    expect(away.sort()).toEqual(documented.sort())
    await service.close()
  },
)

// A client that is told to wait must be told so everywhere, for how long, and before its body is
// read.
test.each(backends)(
  'on $name every endpoint is 429 rate_limited when the quota is used up',
  async (backend) => {
    const quota = 20
    const service = await TestService.start(backend, { env: { RATE_LIMIT_PER_MINUTE: `${quota}` } })
    const team = await Team.of(service)
    for (let n = 0; n < quota; n++) {
      await team.call('GET', '/v1/models')
      await team.ask(UNKNOWN.slug, {})
      await service.call({ method: 'GET', url: '/nowhere' })
    }
    const limited: string[] = []
    for (const [row, { admitted, body }] of Object.entries(ROUTES)) {
      const { method, path } = formatPath(row)
      const caller = admitted === 'score key' ? team.key : team.owner
      const response = await service.call({
        method,
        url: withIds(path, UNKNOWN),
        ...(admitted !== 'anyone' && { token: caller }),
        ...(body !== undefined && { body: '{' }),
      })
      const retryAfter = Number(response.headers['retry-after'])
      const waitMs = response.json().retry_after_ms
      expect(findOutcome(response), row).toBe('429 rate_limited')
      expect(retryAfter, row).toBe(Math.ceil(waitMs / 1000))
      limited.push(`${documentedPath(row)} → 429 rate_limited`)
    }
    const documented = documentedOutcomes().filter((pair) => pair.endsWith('429 rate_limited'))
    expect(limited.sort()).toEqual([...new Set(documented)].sort())
    await service.close()
  },
)
