import { describe, expect, test } from 'vitest'
import {
  ScorecardPromoteResult,
  ScorecardRollbackResult,
} from '../../../../../schemas/deployments.ts'
import { ScorecardList } from '../../../../../schemas/scorecards.ts'
import { newId } from '../../../../../src/platform/ids.ts'
import { expectSuccess, findOutcome, formatRefusal } from '../../../../support/expect/answers.ts'
import { auditAtTheEnd } from '../../../../support/expect/audit.ts'
import { backends } from '../../../../support/start/databases.ts'
import { numberedSpec, steppingClock, TwoTeams } from '../../../../support/start/team.ts'

describe.each(backends)('on $name', (backend) => {
  const teams = TwoTeams.forSuite(backend, { clock: steppingClock() })
  const { team } = teams

  const promote = (id: string, body: object | string) =>
    team.call('POST', `/api/v1/scorecards/${id}/promote`, body)
  const rollBack = (id: string, body?: object | string, headers = {}) =>
    team.service.call({
      url: `/api/v1/scorecards/${id}/rollback`,
      token: team.owner,
      headers,
      ...(body !== undefined && { body }),
    })
  async function contest() {
    const { slug, modelId } = await team.deploy(numberedSpec(1))
    const [two, three] = [
      await team.challenge(slug, numberedSpec(2), 5),
      await team.challenge(slug, numberedSpec(3), 5),
    ]
    return { slug, modelId, two, three }
  }

  test('a version is promoted, the others end, and the answer is that of /v1 with scorecard_id', async () => {
    const { slug, modelId, two } = await contest()
    expect(expectSuccess(await promote(slug, { version: '2.0' }), ScorecardPromoteResult)).toEqual({
      scorecard_id: slug,
      promoted_model_id: two.modelId,
      previous_champion_id: modelId,
      challengers_deactivated: 1,
      cache_version: 4,
    })
    expect((await team.score(slug, {})).model_version).toBe('2.0')
    expect([await team.findStatus(modelId), await team.findStatus(two.modelId)]).toEqual([
      ...['archived', 'active'],
    ])
  })

  // A rollback here has no body; clients send that in every way that HTTP has for it.
  test.each<[string, object | string | undefined, Record<string, string>]>([
    ['no body and no content type', undefined, {}],
    ['no body, but the content type of JSON', '', {}],
    ['an empty object', {}, {}],
    ['null', 'null', {}],
  ])('a rollback with %s restores the previous champion', async (_, body, headers) => {
    const { slug, modelId, two } = await contest()
    await promote(slug, { version: '2.0' })
    await team.challenge(slug, numberedSpec(4), 5)
    expect(expectSuccess(await rollBack(slug, body, headers), ScorecardRollbackResult)).toEqual({
      scorecard_id: slug,
      challengers_deactivated: 1,
      cache_version: 6,
      rolled_back_from: { model_id: two.modelId, version: '2.0' },
      rolled_back_to: { model_id: modelId, version: '1.0' },
    })
    expect((await team.score(slug, {})).model_version).toBe('1.0')
    expect(await team.findStatus(two.modelId)).toBe('archived')
  })

  test('an impossible promotion or rollback gets the same error as on /v1', async () => {
    const { slug } = await contest()
    const theirs = await teams.otherTeam.deploy(numberedSpec(1))
    for (const id of [theirs.slug, newId('dep_', 0), 'x']) {
      expect(findOutcome(await promote(id, { version: '1.0' }))).toBe('404 deployment_not_found')
      expect(findOutcome(await rollBack(id))).toBe('404 deployment_not_found')
    }
    expect(findOutcome(await rollBack(slug))).toBe('400 no_rollback_target')
    expect(findOutcome(await promote(slug, { version: '9.9' }))).toBe('404 model_not_found')
    expect(findOutcome(await promote(slug, { version: '1.0' }))).toBe('404 challenger_not_found')
    for (const body of [{}, { version: 2 }, { version: '2.0', why: 'x' }, [], '{', '']) {
      expect(findOutcome(await promote(slug, body))).toBe('400 invalid_request')
    }
    for (const body of ['{', [], '"x"', { to: 'x' }]) {
      expect(findOutcome(await rollBack(slug, body))).toBe('400 invalid_request')
    }
    expect((await team.deployment(slug)).cache_version).toBe(3)
  })

  const list = async (token: string, query = '') =>
    expectSuccess(
      await team.service.call({ method: 'GET', url: `/api/v1/scorecards${query}`, token }),
      ScorecardList,
    ).scorecards

  test('the list shows every scorecard, newest first, to members and to keys that read', async () => {
    const [production, staging] = [
      await team.deploy(numberedSpec(7)),
      await team.deploy(numberedSpec(8), 'staging'),
    ]
    await team.done('PATCH', `/v1/deployments/${production.slug}`, { name: 'N', is_active: false })
    await team.shadow(staging.slug, true)
    await teams.otherTeam.deploy(numberedSpec(9))
    const all = await list(team.owner)
    const created_at = expect.stringMatching(/^2026-03-04T05:06:\d\d\.\d{3}Z$/)
    expect(all.slice(0, 2)).toEqual([
      {
        id: staging.slug,
        name: 'Ladder',
        model_version: '8.0',
        environment: 'staging',
        is_active: true,
        shadow_mode: true,
        created_at,
      },
      {
        id: production.slug,
        name: 'N',
        model_version: '7.0',
        environment: 'production',
        is_active: false,
        shadow_mode: false,
        created_at,
      },
    ])
    expect(await list(teams.readToken('viewer'))).toEqual(all)
    expect(await list(team.key)).toEqual(all)
    const url = '/api/v1/scorecards?environment=staging'
    const pages = await team.listPages(url, 'scorecards', 1)
    const inStaging = all.filter((one: { environment: string }) => one.environment === 'staging')
    expect(pages.flat()).toEqual(inStaging)
  })

  // A staging key lies about in test systems: it must not tell what runs in production.
  test.each(['production', 'staging'])('a key for %s sees only that environment', async (own) => {
    const slugs = [
      (await team.deploy(numberedSpec(1))).slug,
      (await team.deploy(numberedSpec(2), 'staging')).slug,
    ]
    const key = await team.service.createKey(team.owner, { scopes: ['read'], environment: own })
    const visible = own === 'production' ? slugs.slice(0, 1) : slugs.slice(1)
    for (const query of ['', `?environment=${own}`]) {
      const ids = (await list(key, query)).map(({ id }: { id: string }) => id)
      expect(ids.filter((id: string) => slugs.includes(id))).toEqual(visible)
    }
    const other = own === 'staging' ? 'production' : 'staging'
    expect(await list(key, `?environment=${other}`)).toEqual([])
    for (const query of ['?limit=0', '?environment=x', '?status=active', '?cursor=']) {
      const call = { method: 'GET', url: `/api/v1/scorecards${query}`, token: key } as const
      expect(formatRefusal(await team.service.call(call)).status).toBe(400)
    }
  })
})

// A change through /api/v1 must reach the replicas as a change through /v1 does.
test.each(backends)(
  'on $name changes by /api/v1 leave the same records as by /v1',
  async (backend) => {
    const { service, team } = await TwoTeams.start(backend, { clock: steppingClock() })
    const { slug } = await team.deploy(numberedSpec(1))
    await team.register(numberedSpec(2))
    const path = `/api/v1/scorecards/${slug}`
    const order = { challenger_version: '2.0', mode: 'shadow', traffic_pct: 100 }
    await team.done('POST', `${path}/challengers`, order)
    await team.done('DELETE', `${path}/challengers/2.0`)
    await team.done('POST', `${path}/challengers`, order)
    await team.done('POST', `${path}/promote`, { version: '2.0' })
    await team.done('POST', `${path}/rollback`)
    const records = (await auditAtTheEnd(service)).filter(({ subject }) => subject === slug)
    expect(records.map(({ action }) => action)).toEqual([
      ...['deployment.create', 'deployment.add_challenger', 'deployment.remove_challenger'],
      ...['deployment.add_challenger', 'deployment.promote', 'deployment.rollback'],
    ])
    await service.close()
  },
)
