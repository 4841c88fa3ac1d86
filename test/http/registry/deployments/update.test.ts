import { describe, expect, test } from 'vitest'
import { Deployment } from '../../../../schemas/deployments.ts'
import { newId } from '../../../../src/platform/ids.ts'
import { expectSuccess, findOutcome, formatRefusal } from '../../../support/expect/answers.ts'
import { backends } from '../../../support/start/databases.ts'
import { numberedSpec, steppingClock, TwoTeams } from '../../../support/start/team.ts'

describe.each(backends)('on $name', (backend) => {
  const teams = TwoTeams.forSuite(backend, { clock: steppingClock() })
  const { team } = teams

  const update = (slug: string, body: object | string, by = team) =>
    by.call('PATCH', `/v1/deployments/${slug}`, body)

  // A name can alter no answer: a version that rises for it would empty caches for nothing.
  test.each([
    ['a new name', { name: 'Consumer loans 🦄' }, 0],
    ['switching off', { is_active: false }, 1],
    ['both', { name: 'Old loans', is_active: false }, 1],
    ['strict mode', { strict_mode: true }, 1],
    ['all three', { name: 'Old loans', is_active: false, strict_mode: true }, 1],
    ['the strictness that it has', { strict_mode: false }, 0],
    ['the name that it has', { name: 'Ladder' }, 0],
    ['the activity that it has', { is_active: true }, 0],
  ])(
    '%s is in the answer, and cache_version rises where scoring changes',
    async (_, body, rise) => {
      const { slug } = await team.deploy(numberedSpec(1))
      const before = await team.deployment(slug)
      const expected = { ...before, ...body, cache_version: before.cache_version + rise }
      expect(expectSuccess(await update(slug, body), Deployment)).toEqual(expected)
      expect(await team.deployment(slug)).toEqual(expected)
    },
  )

  // Whoever switches a deployment off in an emergency must not wait for a cache.
  test('an inactive deployment is 404 to the very next score, and scores at once when it is back', async () => {
    const { slug } = await team.deploy(numberedSpec(1))
    const outcomes = async () => {
      const call = (url: string, body: object) => team.service.call({ url, token: team.key, body })
      const answers = [
        await call(`/v1/score/${slug}`, { income: 1 }),
        await call(`/v1/score/${slug}/batch`, { records: [] }),
        await call('/api/v1/score', { scorecard_id: slug, applicant: {} }),
        await call('/api/v1/score/batch', { scorecard_id: slug, applicants: [] }),
      ]
      return [...new Set(answers.map(findOutcome))]
    }
    expect(await outcomes()).toEqual(['200'])
    for (const isActive of [false, true, false, true]) {
      await team.done('PATCH', `/v1/deployments/${slug}`, { is_active: isActive })
      expect(await outcomes()).toEqual([isActive ? '200' : '404 deployment_not_found'])
    }
    expect((await team.deployment(slug)).cache_version).toBe(5)
  })

  test('management goes on with an inactive deployment', async () => {
    const { slug } = await team.deploy(numberedSpec(1))
    await team.done('PATCH', `/v1/deployments/${slug}`, { is_active: false })
    const challenger = await team.challenge(slug, numberedSpec(2), 5)
    await team.resize(slug, challenger.id, 7)
    await team.shadow(slug, true)
    await team.promote(slug, challenger.id)
    await team.rollBack(slug)
    expect(await team.deployment(slug)).toMatchObject({ is_active: false, cache_version: 7 })
    expect(findOutcome(await team.ask(slug, {}))).toBe('404 deployment_not_found')
  })

  test.each<[string, object | string]>([
    ['nothing in it', {}],
    ['null for a name', { name: null }],
    ['an empty name', { name: '' }],
    ['a number for a name', { name: 1 }],
    ['a NUL in the name', { name: 'a\0' }],
    ['half a character in the name', { name: '\ud800' }],
    ['a name of 256 characters', { name: 'x'.repeat(256) }],
    ['a text for is_active', { is_active: 'false' }],
    ['a number for is_active', { is_active: 0 }],
    ['null for is_active', { is_active: null }],
    ['a text for strict_mode', { strict_mode: 'true' }],
    ['null for strict_mode', { strict_mode: null }],
    ['an unknown field', { name: 'x', description: 'y' }],
    ['a field of the answer', { name: 'x', cache_version: 1 }],
    ['a slug', { slug: 'dep_mine' }],
    ['a list around it', [{ name: 'x' }]],
    ['no JSON', '{'],
    ['no text at all', ''],
  ])('a body with %s is 400 invalid_request and changes nothing', async (_, body) => {
    const { slug } = await team.deploy(numberedSpec(1))
    const before = await team.deployment(slug)
    const refusal = formatRefusal(await update(slug, body))
    expect(refusal).toMatchObject({ status: 400, error: 'invalid_request' })
    expect(await team.deployment(slug)).toEqual(before)
  })

  test('a deployment of another team is 404 like an unknown one, and stays as it is', async () => {
    const { slug } = await teams.otherTeam.deploy(numberedSpec(1))
    for (const other of [slug, newId('dep_', 0)]) {
      expect(findOutcome(await update(other, { is_active: false }))).toBe(
        '404 deployment_not_found',
      )
      expect(findOutcome(await update(other, {}))).toBe('400 invalid_request')
    }
    expect(await teams.otherTeam.deployment(slug)).toMatchObject({
      is_active: true,
      cache_version: 1,
    })
  })
})
