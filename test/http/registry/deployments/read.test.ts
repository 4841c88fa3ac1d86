import { beforeAll, describe, expect, test } from 'vitest'
import { DeploymentList } from '../../../../schemas/deployments.ts'
import { newId } from '../../../../src/platform/ids.ts'
import { expectSuccess, formatRefusal } from '../../../support/expect/answers.ts'
import { backends } from '../../../support/start/databases.ts'
import { numberedSpec, steppingClock, TwoTeams } from '../../../support/start/team.ts'

const TIME = expect.stringMatching(/^2026-03-04T05:06:\d\d\.\d{3}Z$/)

describe.each(backends)('on $name', (backend) => {
  const teams = TwoTeams.forSuite(backend, { clock: steppingClock() })
  const { team } = teams
  /** Oldest first. */
  const made: Array<{ slug: string; environment: string }> = []

  beforeAll(async () => {
    for (const [index, environment] of ['production', 'staging', 'production'].entries()) {
      made.push({ ...(await team.deploy(numberedSpec(index + 1), environment)), environment })
    }
    await teams.otherTeam.deploy(numberedSpec(9))
  })

  const list = async (query = '', by = team) =>
    expectSuccess(await by.call('GET', `/v1/deployments${query}`), DeploymentList)
  /** The first deployments, newest first; other tests add more. */
  const readSlugs = ({ deployments }: { deployments: Array<{ slug: string }> }) =>
    deployments.map(({ slug }) => slug).filter((slug) => made.some((one) => one.slug === slug))
  const expected = (wanted?: string) =>
    made
      .filter(({ environment }) => wanted === undefined || wanted === environment)
      .map(({ slug }) => slug)
      .reverse()

  test('the list holds every deployment of the team, newest first, in the list form', async () => {
    const body = await list()
    expect(readSlugs(body)).toEqual(expected())
    const [oldest] = body.deployments.slice(-1)
    expect(oldest).toEqual({
      id: made[0]?.slug,
      slug: made[0]?.slug,
      name: 'Ladder',
      is_active: true,
      champion_model: { name: 'Ladder', version: '1.0' },
      created_at: TIME,
    })
    expect(Object.keys(body)).toEqual(['deployments'])
  })

  test('an environment filters, pages add up to the list, and another team sees only their own', async () => {
    for (const environment of ['production', 'staging']) {
      const query = `?environment=${environment}`
      expect(readSlugs(await list(query))).toEqual(expected(environment))
      const pages = await team.listPages(`/v1/deployments${query}`, 'deployments', 1)
      expect(pages.flat()).toEqual((await list(query)).deployments)
    }
    const { deployments } = await list()
    for (const limit of [1, 2, deployments.length, 200]) {
      const pages = await team.listPages('/v1/deployments', 'deployments', limit)
      expect(pages.flat()).toEqual(deployments)
      expect(pages).toHaveLength(Math.ceil(deployments.length / limit))
    }
    const theirs = await list('', teams.otherTeam)
    expect(theirs.deployments).toHaveLength(1)
    expect(readSlugs(theirs)).toEqual([])
  })

  test.each(['limit=0', 'limit=201', 'limit=x', 'cursor=', 'environment=test', 'status=active'])(
    '?%s is 400 invalid_request',
    async (query) => {
      const refusal = formatRefusal(await team.call('GET', `/v1/deployments?${query}`))
      expect(refusal).toMatchObject({ status: 400, error: 'invalid_request' })
    },
  )

  // The list tells what answers now: a list of yesterday's champions misleads whoever decides.
  test('list and single form show a new champion, a new name and a switched-off deployment', async () => {
    const { slug } = await team.deploy(numberedSpec(1))
    await team.promote(slug, (await team.challenge(slug, numberedSpec(2), 5)).id)
    await team.done('PATCH', `/v1/deployments/${slug}`, { name: 'Renamed', is_active: false })
    const found = (await list()).deployments.find((one: { slug: string }) => one.slug === slug)
    const shown = { name: 'Renamed', is_active: false }
    expect(found).toMatchObject({ ...shown, champion_model: { name: 'Ladder', version: '2.0' } })
    expect(await team.deployment(slug)).toMatchObject({
      ...shown,
      champion_model: { version: '2.0' },
    })
  })

  test('a new deployment has no challengers, no shadow mode and cache version 1', async () => {
    const { slug, modelId } = await team.deploy(numberedSpec(4))
    expect(await team.deployment(slug)).toEqual({
      id: slug,
      slug,
      name: 'Ladder',
      is_active: true,
      created_at: TIME,
      champion_model: { id: modelId, name: 'Ladder', version: '4.0' },
      challengers: [],
      shadow_mode: false,
      strict_mode: false,
      require_approval: false,
      emergency_rollback: true,
      cutoff: null,
      cache_version: 1,
    })
  })

  test('the single form shows the active challengers, oldest first, and none that were removed', async () => {
    const { slug } = await team.deploy(numberedSpec(1))
    const first = await team.challenge(slug, numberedSpec(2, { name: 'Other card' }), 1)
    const removed = await team.challenge(slug, numberedSpec(3), 2)
    const last = await team.challenge(slug, numberedSpec(4), 12.5)
    await team.remove(slug, removed.id)
    await team.resize(slug, first.id, 30.01)
    const { challengers } = await team.deployment(slug)
    expect(challengers).toEqual([
      {
        id: first.id,
        model_id: first.modelId,
        model_name: 'Other card',
        model_version: '2.0',
        traffic_pct: 30.01,
        is_active: true,
        added_at: TIME,
      },
      {
        id: last.id,
        model_id: last.modelId,
        model_name: 'Ladder',
        model_version: '4.0',
        traffic_pct: 12.5,
        is_active: true,
        added_at: TIME,
      },
    ])
    for (const { id } of challengers) expect(id).toMatch(/^ch_[0-9A-Za-z]{20,}$/)
  })

  test('a deployment that is unknown or of another team answers 404', async () => {
    const [{ slug } = { slug: '' }] = made
    const theirs = (await list('', teams.otherTeam)).deployments[0].slug
    for (const other of [
      ...[newId('dep_', 0), theirs, slug.toUpperCase(), `${slug}0`, slug.slice(0, -1)],
      ...[`${slug}%00`, `${slug.slice(0, -1)}_`, 'dep_', 'traffic', "dep_'%20or%20''='", 'mod_1'],
    ]) {
      expect(formatRefusal(await team.call('GET', `/v1/deployments/${other}`)), other).toEqual({
        status: 404,
        error: 'deployment_not_found',
        message: expect.any(String),
      })
    }
  })
})
