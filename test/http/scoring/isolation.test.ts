import type { LightMyRequestResponse } from 'fastify'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Environment } from '../../../src/http/access/caller.ts'
import type { Database } from '../../../src/platform/db/client.ts'
import { newId } from '../../../src/platform/ids.ts'
import { deployments } from '../../../src/tables/deployments.ts'
import { models } from '../../../src/tables/models.ts'
import { card, plainFeature } from '../../support/cards/cards.ts'
import { findOutcome, formatRefusal } from '../../support/expect/answers.ts'
import { backends } from '../../support/start/databases.ts'
import { seeded } from '../../support/start/seeded-database.ts'
import { TestService } from '../../support/start/service.ts'
import {
  insertOwner,
  insertTeam,
  insertUser,
  type TestUser,
  tokenFor,
} from '../../support/start/users.ts'

const spec = card([plainFeature('income')])
const ENVIRONMENTS = ['production', 'staging'] as const
const unknownSlug = newId('dep_', 0)

/** The four routes that score, each with a body that would be answered. */
const ROUTES = {
  'POST /v1/score/{slug}': (slug: string) => ({
    url: `/v1/score/${encodeURIComponent(slug)}`,
    body: { income: 1 },
  }),
  'POST /v1/score/{slug}/batch': (slug: string) => ({
    url: `/v1/score/${encodeURIComponent(slug)}/batch`,
    body: { records: [{ income: 1 }] },
  }),
  'POST /api/v1/score': (slug: string) => ({
    url: '/api/v1/score',
    body: { scorecard_id: slug, applicant: { income: 1 } },
  }),
  'POST /api/v1/score/batch': (slug: string) => ({
    url: '/api/v1/score/batch',
    body: { scorecard_id: slug, applicants: [{ income: 1 }] },
  }),
}
const routes = Object.entries(ROUTES)

/** The part of a response that a caller sees, without the request's id and its time. */
function readVisible({ statusCode, headers, body }: LightMyRequestResponse): unknown {
  const requestId = String(headers['x-request-id'])
  // The quota counts down with each request, whatever it asks for.
  const { date: _date, 'x-ratelimit-remaining': _remaining, ...others } = headers
  return { statusCode, body: body.replaceAll(requestId, ''), ...others, 'x-request-id': '' }
}

describe.each(backends)('on $name', (backend) => {
  let service: TestService
  let keys: Record<Environment | 'both', string>
  let otherKey: string
  let own: Record<Environment | 'inactive', string>
  let otherSlug: string

  beforeAll(async () => {
    let otherOwner: TestUser | undefined
    const inactive = newId('dep_', 0)
    const withTeams = seeded(backend, async (db) => {
      const teamId = await insertTeam(db)
      const { userId } = await insertOwner(db, teamId)
      otherOwner = await insertUser(db, await insertTeam(db), 'owner')
      await insertInactive(db, inactive, teamId, userId)
    })
    service = await TestService.start(withTeams)
    if (otherOwner === undefined) throw new Error('the database was not seeded')
    const owner = await service.signIn()
    const other = tokenFor(service, otherOwner)
    own = {
      production: await service.deploy(owner, spec, 'production'),
      staging: await service.deploy(owner, spec, 'staging'),
      inactive,
    }
    otherSlug = await service.deploy(other, spec, 'production')
    keys = {
      production: await service.createKey(owner, { environment: 'production' }),
      staging: await service.createKey(owner, { environment: 'staging' }),
      both: await service.createKey(owner),
    }
    otherKey = await service.createKey(other)
  })
  afterAll(() => service.close())

  async function insertInactive(db: Database, id: string, teamId: string, userId: string) {
    const modelId = newId('mod_', 0)
    const of = { teamId, name: spec.name, environment: 'production' } as const
    const at = { createdAt: new Date(0), updatedAt: new Date(0) }
    await db.insert(models).values({
      id: modelId,
      ...of,
      ...at,
      version: spec.version,
      specVersion: '1.0',
      spec,
      ...({ status: 'active', deployedBy: userId } as const),
    })
    await db.insert(deployments).values({
      id,
      ...of,
      ...at,
      isActive: false,
      championModelId: modelId,
      shadowMode: false,
      cacheVersion: 2,
    })
  }

  // Any difference would tell which deployments another team has, or lead test data into
  // production.
  test.each(routes)(
    '%s answers alike for what is absent, inactive, of another team or of another environment',
    async (_, formatCall) => {
      const ask = (slug: string, token: string) => service.call({ ...formatCall(slug), token })
      const reference = await ask(unknownSlug, keys.both)
      expect(formatRefusal(reference)).toEqual({
        status: 404,
        error: 'deployment_not_found',
        message: expect.any(String),
      })
      const hidden: Array<[what: string, slug: string, token: string]> = [
        ['another team’s deployment', otherSlug, keys.both],
        ['another team’s deployment for a key of its environment', otherSlug, keys.production],
        ['an own deployment for another team’s key', own.production, otherKey],
        ['a staging deployment for a production key', own.staging, keys.production],
        ['a production deployment for a staging key', own.production, keys.staging],
        ['an inactive deployment', own.inactive, keys.both],
        ['an inactive deployment for a key of its environment', own.inactive, keys.production],
        ['an unknown slug for a production key', unknownSlug, keys.production],
        ['a slug of another form', 'german-credit', keys.both],
        ['the prefix of a slug', 'dep_', keys.both],
        ['an own slug in upper case', own.production.toUpperCase(), keys.both],
        ['an own slug with more behind it', `${own.production}0`, keys.both],
        ['an own slug with white space', `${own.production} `, keys.both],
        ['an own slug with a NUL', `${own.production}\0`, keys.both],
        ['an own slug with a wildcard', `${own.production.slice(0, -1)}_`, keys.both],
        ['a statement for a slug', "dep_' or ''='", keys.both],
        ['a slug of another alphabet', 'dep_ü🦄', keys.both],
        ['a path for a slug', '../keys', keys.both],
      ]
      // Cold and warm: what a cache has learned of a deployment must show no more than the
      // database.
      for (const round of ['cold', 'warm']) {
        for (const [what, slug, token] of hidden) {
          const answer = await ask(slug, token)
          expect(readVisible(answer), `${what}, ${round}`).toEqual(readVisible(reference))
        }
      }
    },
  )

  // The refusals above would prove nothing if these deployments did not score at all.
  test.each(routes)('%s scores for the keys that may see the deployment', async (_, formatCall) => {
    const seen: Array<[slug: string, token: string]> = [
      [own.production, keys.production],
      [own.production, keys.both],
      [own.staging, keys.staging],
      [own.staging, keys.both],
      [otherSlug, otherKey],
    ]
    for (const [slug, token] of seen) {
      expect(findOutcome(await service.call({ ...formatCall(slug), token }))).toBe('200')
    }
  })

  // Which deployment a warm key asks for must not depend on what it asked for before.
  test('keys of both environments used in turn never see the other one', async () => {
    for (let round = 0; round < 10; round++) {
      for (const [of, other] of [ENVIRONMENTS, ENVIRONMENTS.toReversed()]) {
        if (of === undefined || other === undefined) continue
        const token = keys[of]
        const call = (slug: string) => service.call({ url: `/v1/score/${slug}`, token, body: {} })
        expect(findOutcome(await call(own[of]))).toBe('200')
        expect(findOutcome(await call(own[other]))).toBe('404 deployment_not_found')
      }
    }
  })
})
