import type { RouteOptions } from 'fastify'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { systemClock } from '../../../../src/platform/clock.ts'
import { putFile } from '../../../support/batches/example.ts'
import { findOutcome } from '../../../support/expect/answers.ts'
import { statsWith } from '../../../support/expect/stats.ts'
import {
  type KeyedCall,
  keyed,
  newKey,
  readChanges,
} from '../../../support/scenarios/idempotency.ts'
import { IMPORTED } from '../../../support/scenarios/import-scenarios.ts'
import { readRoutes } from '../../../support/scenarios/routes.ts'
import { loggedIds } from '../../../support/score-log/log-rows.ts'
import { backends } from '../../../support/start/databases.ts'
import { withDatabase } from '../../../support/start/seeded-database.ts'
import { TestService } from '../../../support/start/service.ts'
import { numberedSpec, Team } from '../../../support/start/team.ts'

type Prepare = (team: Team, slug: string) => Promise<Omit<KeyedCall, 'token'>>

interface Documented {
  readonly operationId: string
  readonly parameters?: readonly { name: string; in: string; required?: boolean }[]
  readonly responses: Readonly<Record<string, { readonly headers?: object }>>
}

const applicant = { income: 1 }
let members = 0

const v1 = (slug: string, rest: string) => `/v1/deployments/${slug}${rest}`
const apiV1 = (slug: string, rest: string) => `/api/v1/scorecards/${slug}${rest}`
const promoted: Prepare = async (team, slug) => {
  await team.promote(slug, (await team.challenge(slug, numberedSpec(2), 10)).id)
  return { url: '' }
}

/** How each operation that takes a key succeeds. */
const OPERATIONS: Readonly<Record<string, Prepare>> = {
  'scoring.score': async (_, slug) => ({ url: `/v1/score/${slug}`, body: applicant }),
  'scoring.score_batch': async (_, slug) => ({
    url: `/v1/score/${slug}/batch`,
    body: { records: [applicant, {}], include_contributions: true },
  }),
  'scoring.score_scorecard': async (_, slug) => ({
    url: '/api/v1/score',
    body: { scorecard_id: slug, applicant },
  }),
  'scoring.score_scorecard_batch': async (_, slug) => ({
    url: '/api/v1/score/batch',
    body: { scorecard_id: slug, applicants: [applicant] },
  }),
  'models.deploy': async () => ({
    url: '/v1/models/deploy',
    body: { spec: numberedSpec(1), environment: 'staging', auto_deploy: true },
  }),
  'models.import': async () => ({
    url: '/v1/models/import',
    body: { ...IMPORTED, register: { environment: 'staging', auto_deploy: false } },
  }),
  'keys.create': async () => ({ url: '/v1/keys', body: { name: 'loan desk' } }),
  'models.copy': async (team) => ({
    url: `/v1/models/${await team.register(numberedSpec(1), 'staging')}/copies`,
    body: { environment: 'production', auto_deploy: true },
  }),
  'keys.rotate': async (team) => {
    const { id } = await team.done('POST', '/v1/keys', { name: 'loan desk' })
    return { url: `/v1/keys/${id}/rotate`, body: { overlap_seconds: 60 } }
  },
  'service_accounts.create': async () => ({
    url: '/v1/service-accounts',
    body: { name: 'a pipeline', role: 'viewer' },
  }),
  'service_accounts.rotate': async (team) => {
    const order = { name: 'a pipeline', role: 'viewer' }
    const { id } = await team.done('POST', '/v1/service-accounts', order)
    return { url: `/v1/service-accounts/${id}/rotate`, body: {} }
  },
  'webhooks.create': async () => ({
    url: '/v1/webhooks',
    body: { url: 'https://risk.lender.example/' },
  }),
  'webhooks.rotate': async (team) => {
    const { id } = await team.done('POST', '/v1/webhooks', { url: 'https://risk.lender.example/' })
    return { url: `/v1/webhooks/${id}/rotate`, body: {} }
  },
  'members.create': async () => ({
    url: '/v1/members',
    body: {
      email: `m${++members}@lender.example`,
      password: 'a long password',
      role: 'viewer',
    },
  }),
  'deployments.traffic': async (_, slug) => ({
    method: 'PATCH',
    url: v1(slug, '/traffic'),
    body: { action: 'toggle_shadow', shadow_mode: true },
  }),
  'deployments.promote': async (team, slug) => ({
    url: v1(slug, '/promote'),
    body: { challenger_id: (await team.challenge(slug, numberedSpec(2), 10)).id },
  }),
  'deployments.rollback': async (team, slug) => ({
    ...(await promoted(team, slug)),
    url: v1(slug, '/rollback'),
    body: { reason: 'a test wants it' },
  }),
  'batches.start': async (team, slug) => {
    putFile(team, 'applicants.csv', 'income\n1\n')
    return {
      url: '/v1/batches',
      body: { deployment: slug, input: { path: 'applicants.csv' } },
    }
  },
  'batches.upload': async (_, slug) => ({
    url: `/v1/batches/upload?deployment=${slug}`,
    body: 'income\n1\n',
    headers: { 'content-type': 'text/csv' },
  }),
  'scorecards.add_challenger': async (team, slug) => {
    await team.register(numberedSpec(3))
    const body = { challenger_version: '3.0', mode: 'live', traffic_pct: 5 }
    return { url: apiV1(slug, '/challengers'), body }
  },
  'scorecards.remove_challenger': async (team, slug) => {
    await team.challenge(slug, numberedSpec(2), 10)
    return { method: 'DELETE', url: apiV1(slug, '/challengers/2.0') }
  },
  'scorecards.promote': async (team, slug) => {
    await team.challenge(slug, numberedSpec(2), 10)
    return { url: apiV1(slug, '/promote'), body: { version: '2.0' } }
  },
  'scorecards.rollback': async (team, slug) => ({
    ...(await promoted(team, slug)),
    url: apiV1(slug, '/rollback'),
  }),
}

/** The same changes where they wait for approval. */
const GUARDED = Object.fromEntries(
  Object.entries(OPERATIONS)
    .filter(([operation]) => /^(deployments|scorecards)\./.test(operation))
    .map(([operation, prepare]): [string, Prepare] => [
      `${operation}, which waits for approval,`,
      async (team, slug) => {
        const call = await prepare(team, slug)
        await team.done('PATCH', v1(slug, ''), { require_approval: true })
        return call
      },
    ]),
)
const ALL = { ...OPERATIONS, ...GUARDED }

describe.each(backends)('on $name', (backend) => {
  let service: TestService
  let team: Team
  let routes: RouteOptions[]

  beforeAll(async () => {
    // The minute of the quota stands still, so that no request leaves it while others are counted.
    const clock = { ...systemClock, monotonicMs: () => 0 }
    const found = await readRoutes(() => TestService.start(backend, { clock }))
    service = found.started
    routes = found.routes
    team = await Team.of(service)
  })
  afterAll(() => service.close())

  // A client whose connection broke can't know whether it was heard. It asks again.
  test.each(Object.keys(ALL))('%s is executed once for a key', async (operation) => {
    const { slug } = await team.deploy(numberedSpec(1))
    const rest = (await ALL[operation]?.(team, slug)) ?? expect.fail()
    const call = { ...rest, token: operation.startsWith('scoring.') ? team.key : team.owner }
    const key = newKey()
    const first = await keyed(service, key, call)
    expect(first.statusCode, first.body).toBeLessThan(300)
    expect(first.headers).not.toHaveProperty('idempotent-replayed')
    expect(first.headers).not.toHaveProperty('idempotency-kept')
    const changes = await readChanges(team)

    const second = await keyed(service, key, call)
    expect(second.headers['idempotent-replayed']).toBe('true')
    expect(second.statusCode).toBe(first.statusCode)
    expect(second.rawPayload.equals(first.rawPayload)).toBe(true)
    for (const name of ['x-request-id', 'content-type', 'content-length', 'cache-control']) {
      expect(second.headers[name], name).toBe(first.headers[name])
    }
    expect(await readChanges(team)).toBe(changes)
    const left = 'x-ratelimit-remaining'
    const taken = Number(first.headers[left]) - Number(second.headers[left])
    // The owner has read the audit log in between, a server has not.
    expect(taken).toBe(call.token === team.owner ? 2 : 1)

    const reused = await keyed(service, key, { ...call, body: '{"another":1}' })
    expect(['422 idempotency_key_reused', '400 invalid_request']).toContain(findOutcome(reused))
  })

  test('these are all the operations that take a key', () => {
    const taking = routes.filter(({ config }) => config?.takesIdempotencyKey === true)
    const names = taking.map(({ config }) => config?.operation)
    expect(names.toSorted()).toEqual(Object.keys(OPERATIONS).toSorted())
  })

  // A generated client offers what the document has, and nothing else.
  test('the document shows the header, what it adds to answers, and its errors', () => {
    const document = JSON.parse(JSON.stringify(service.app.swagger()))
    const operations: Documented[] = Object.values(document.paths).flatMap((path) =>
      Object.values(path as Record<string, Documented>),
    )
    for (const { operationId, parameters = [], responses } of operations) {
      const isTaken = operationId in OPERATIONS
      const header = parameters.find(({ name }) => name === 'Idempotency-Key')
      expect([header?.in, header?.required], operationId).toEqual(
        isTaken ? ['header', false] : [undefined, undefined],
      )
      const success = responses['200'] ?? responses['201'] ?? responses['202']
      const headers = Object.keys(success?.headers ?? {})
      for (const name of ['Idempotent-Replayed', 'Idempotency-Kept']) {
        expect(headers.includes(name), operationId).toBe(isTaken)
      }
      const codes = JSON.stringify([responses['409'], responses['422']])
      // The log makes the answer to a single score again.
      const isSingle = ['scoring.score', 'scoring.score_scorecard'].includes(operationId)
      expect(/IdempotencyInProgress/.test(codes), operationId).toBe(isTaken)
      expect(/IdempotencyKeyReused/.test(codes), operationId).toBe(isTaken)
      expect(/IdempotencyAnswerLost/.test(codes), operationId).toBe(isTaken && !isSingle)
    }
  })

  // A second score of one application counts twice in every figure that a lender draws from the
  // log.
  test('a score that is given again is logged once', async () => {
    const own = await TestService.start(backend)
    const desk = await Team.of(own)
    const { slug } = await desk.deploy(numberedSpec(1))
    const call = { url: `/v1/score/${slug}`, token: desk.key, body: applicant }
    const key = newKey()
    const answers = [await keyed(own, key, call), await keyed(own, key, call)]
    const plain = await own.call(call)
    // The end waits for the drain for two seconds only; what is left comes with the next start.
    await statsWith(own, desk.owner, slug, 2)
    await own.app.close()
    await own.services.close()
    const logged = await withDatabase(own.config, loggedIds)
    const ids = [answers[0], plain].map((answer) => answer?.json().request_id)
    expect(logged.toSorted()).toEqual(ids.toSorted())
    expect(answers[1]?.json().request_id).toBe(ids[0])
  })

  // An operator who counts changes in the log must not count repetitions.
  test('the log of the process names a change once', async () => {
    const info = vi.spyOn(service.services.log, 'info')
    const call = { url: '/v1/keys', token: team.owner, body: { name: 'loan desk' } }
    const key = newKey()
    for (let n = 0; n < 3; n++) expect((await keyed(service, key, call)).statusCode).toBe(201)
    const changes = info.mock.calls.filter(([, text]) => text === 'changed')
    info.mockRestore()
    expect(changes.length).toBe(1)
  })

  // A retry often comes after the restart that was the reason for it.
  test('an answer is given again after a restart', async () => {
    const database = await backend.create()
    const kept = { ...backend, create: async () => ({ ...database, drop: async () => {} }) }
    const before = await TestService.start(kept)
    const desk = await Team.of(before)
    const call = { url: '/v1/keys', token: desk.owner, body: { name: 'loan desk' } }
    const key = newKey()
    const first = await keyed(before, key, call)
    await before.close()
    const after = await TestService.start(kept)
    const second = await keyed(after, key, call)
    await after.close()
    await database.drop()
    expect(second.headers['idempotent-replayed']).toBe('true')
    expect(second.body).toBe(first.body)
  })

  // Two servers of a lender may count their requests by the same numbers.
  test('another caller, path or query makes another key', async () => {
    const { slug } = await team.deploy(numberedSpec(1))
    const { slug: other } = await team.deploy(numberedSpec(2))
    const token = await service.createKey(team.owner)
    const key = newKey()
    const calls = [
      { url: `/v1/score/${slug}`, token: team.key, body: applicant },
      { url: `/v1/score/${slug}`, token, body: applicant },
      { url: `/v1/score/${other}`, token, body: applicant },
      { url: `/v1/score/${slug}?way=1`, token, body: applicant },
    ]
    const ids = new Set<string>()
    for (const call of calls) {
      const answer = await keyed(service, key, call)
      expect(answer.headers).not.toHaveProperty('idempotent-replayed')
      ids.add(answer.json().request_id)
    }
    expect(ids.size).toBe(calls.length)
  })

  test('the same JSON in other bytes is another body', async () => {
    const { slug } = await team.deploy(numberedSpec(1))
    const key = newKey()
    const ask = (body: string) =>
      keyed(service, key, { url: `/v1/score/${slug}`, token: team.key, body })
    expect((await ask('{"income":1}')).statusCode).toBe(200)
    expect(findOutcome(await ask('{"income": 1}'))).toBe('422 idempotency_key_reused')
  })

  test('an operation that takes no key ignores the header', async () => {
    const headers = { 'idempotency-key': newKey() }
    const { slug } = await team.deploy(numberedSpec(1))
    for (const name of ['A', 'B']) {
      const call = { method: 'PATCH', url: v1(slug, ''), token: team.owner, headers } as const
      const answer = await service.call({ ...call, body: { name } })
      expect(answer.json().name).toBe(name)
    }
  })

  test.each([
    ['is empty', ''],
    ['has 256 characters', 'k'.repeat(256)],
    ['has a character beyond ASCII', 'clé'],
    ['has a control character', 'a\tb'],
    ['is sent twice', ['a', 'b']],
  ])('a key that %s is refused', async (_, key) => {
    const { slug } = await team.deploy(numberedSpec(1))
    const answer = await service.inject({
      method: 'POST',
      url: `/v1/score/${slug}`,
      headers: {
        authorization: `Bearer ${team.key}`,
        'content-type': 'application/json',
        'idempotency-key': key,
      },
      payload: '{}',
    })
    expect(findOutcome(answer)).toBe('400 invalid_request')
    expect(answer.json().message).toContain('Idempotency-Key')
  })

  test('a key of 255 characters is taken', async () => {
    const { slug } = await team.deploy(numberedSpec(1))
    const call = { url: `/v1/score/${slug}`, token: team.key, body: {} }
    expect((await keyed(service, ` ~${'k'.repeat(253)}`.trim(), call)).statusCode).toBe(200)
    const longest = `${newKey()} `.padEnd(255, '~')
    const ids = [await keyed(service, longest, call), await keyed(service, longest, call)]
    expect(ids[0]?.json().request_id).toBe(ids[1]?.json().request_id)
  })
})
