import { beforeAll, describe, expect, test } from 'vitest'
import { ModelList } from '../../../../schemas/models.ts'
import { expectSuccess, formatRefusal } from '../../../support/expect/answers.ts'
import { backends } from '../../../support/start/databases.ts'
import { numberedSpec, steppingClock, TwoTeams } from '../../../support/start/team.ts'

const ENVIRONMENTS = ['production', 'staging'] as const
const MODELS = 9

describe.each(backends)('on $name', (backend) => {
  const teams = TwoTeams.forSuite(backend, { clock: steppingClock() })
  const { team } = teams
  /** Oldest first; the third and every third after it is archived. */
  const made: Array<{ id: string; environment: string; status: string }> = []

  beforeAll(async () => {
    for (let n = 0; n < MODELS; n++) {
      const environment = ENVIRONMENTS[n % 2] ?? 'staging'
      // The first two are champions.
      const id =
        n < 2
          ? (await team.deploy(numberedSpec(n), environment)).modelId
          : await team.register(numberedSpec(n), environment)
      const status = n % 3 === 2 ? 'archived' : 'active'
      if (status === 'archived') await team.setStatus(id, status)
      made.push({ id, environment, status })
    }
    await teams.otherTeam.register(numberedSpec(1))
  })

  const list = async (query = '', by = team) =>
    expectSuccess(await by.call('GET', `/v1/models${query}`), ModelList)
  const listIds = (body: { models: Array<{ id: string }> }) => body.models.map(({ id }) => id)

  /** Newest first. */
  const expected = (fits: (model: (typeof made)[number]) => boolean) =>
    made
      .filter(fits)
      .map(({ id }) => id)
      .reverse()

  // A model that the list leaves out is a model that nobody finds again.
  test('the list holds every model of the team, newest first, without specs and on one page', async () => {
    const body = await list()
    expect(listIds(body)).toEqual(expected(() => true))
    expect(Object.keys(body)).toEqual(['models'])
    expect(body.models.at(-1)).toEqual({
      id: made[0]?.id,
      name: 'Ladder',
      version: '0.0',
      spec_version: '1.0',
      status: 'active',
      environment: 'production',
      description: null,
      deployed_by: teams.teamUsers.owner.userId,
      created_at: expect.stringMatching(/^2026-03-04T05:06:0\d\.\d{3}Z$/),
    })
  })

  test('every member of the team sees the same list, another team only its own', async () => {
    const all = await list()
    for (const role of ['admin', 'lead_modeler', 'modeler', 'viewer'] as const) {
      const call = { method: 'GET', url: '/v1/models', token: teams.readToken(role) } as const
      expect(expectSuccess(await teams.service.call(call), ModelList)).toEqual(all)
    }
    const others = listIds(await list('', teams.otherTeam))
    expect(others).not.toEqual([])
    for (const id of others) expect(listIds(all)).not.toContain(id)
  })

  test.each<[string, (model: (typeof made)[number]) => boolean]>([
    ['?environment=production', ({ environment }) => environment === 'production'],
    ['?environment=staging', ({ environment }) => environment === 'staging'],
    ['?status=active', ({ status }) => status === 'active'],
    ['?status=archived', ({ status }) => status === 'archived'],
    [
      '?status=archived&environment=staging',
      ({ status, environment }) => status === 'archived' && environment === 'staging',
    ],
  ])('%s lists the models that fit, on pages of any size', async (query, fits) => {
    expect(listIds(await list(query))).toEqual(expected(fits))
    const pages = await team.listPages(`/v1/models${query}`, 'models', 2)
    expect(listIds({ models: pages.flat() as [] })).toEqual(expected(fits))
  })

  // A page that repeats or skips a model makes whoever copies the list wrong for good.
  test.each([1, 2, MODELS - 1, MODELS, MODELS + 1, 200])(
    'pages of %i join to the whole list, and none but the last has fewer',
    async (limit) => {
      const pages = await team.listPages('/v1/models', 'models', limit)
      expect(pages.flat()).toEqual((await list()).models)
      expect(pages).toHaveLength(Math.ceil(MODELS / limit))
      for (const page of pages.slice(0, -1)) expect(page).toHaveLength(limit)
    },
  )

  test('a model that is made between two pages is on none of the later ones, and shifts no item', async () => {
    const { otherTeam } = teams
    for (let n = 0; n < 3; n++) await otherTeam.register(numberedSpec(n))
    const before = listIds(await list('', otherTeam))
    const first = await list('?limit=2', otherTeam)
    const newest = await otherTeam.register(numberedSpec(7))
    const rest = await list(`?cursor=${first.next_cursor}`, otherTeam)
    expect([...listIds(first), ...listIds(rest)]).toEqual(before)
    expect(listIds(await list('', otherTeam))).toEqual([newest, ...before])
  })

  // What another team's cursor shows must be the reader's own, or nothing.
  test('a cursor of another team shows no item of that team', async () => {
    const [theirs] = listIds(await list('', teams.otherTeam))
    const all = listIds(await list())
    for (const id of listIds(await list(`?cursor=${theirs}`))) expect(all).toContain(id)
    expect(listIds(await list('?cursor=mod_zzzzzzzz'))).toEqual(all)
    expect(listIds(await list('?cursor=0'))).toEqual([])
  })

  // A filter that is silently ignored lists production where somebody asked for staging.
  test.each([
    'limit=0',
    'limit=201',
    'limit=-1',
    'limit=1.5',
    'limit=ten',
    'limit=',
    'limit=null',
    'limit=1&limit=2',
    'limit=%20',
    'cursor=',
    'cursor=%00',
    'cursor=a%20b',
    `cursor=${'a'.repeat(65)}`,
    'cursor=a&cursor=b',
    'environment=',
    'environment=test',
    'environment=Production',
    'environment=staging&environment=production',
    'status=deleted',
    'status=',
    'page=2',
    'offset=1',
    '__proto__=1',
    'constructor=1',
  ])('?%s is 400 invalid_request', async (query) => {
    const refusal = formatRefusal(await team.call('GET', `/v1/models?${query}`))
    expect(refusal).toMatchObject({ status: 400, error: 'invalid_request' })
    expect(refusal.details?.[0]?.path).toContain(query.split('=')[0])
  })
})
