import { describe, expect, test } from 'vitest'
import { findOutcome } from '../../../support/expect/answers.ts'
import { statsWith } from '../../../support/expect/stats.ts'
import { backends } from '../../../support/start/databases.ts'
import { TestService } from '../../../support/start/service.ts'
import { numberedSpec, Team } from '../../../support/start/team.ts'

const outcome = (response: Parameters<typeof findOutcome>[0]) => findOutcome(response)

describe.each(backends)('on $name', (backend) => {
  const service = TestService.forSuite(backend)
  const team = Team.forSuite(service)

  const path = (slug: string) => `/v1/deployments/${slug}`

  test('the cut-off is set, shown, audited and taken away, and alters no answer', async () => {
    const { slug } = await team.deploy(numberedSpec(1))
    const before = await team.done('GET', path(slug))
    expect(before.cutoff).toBeNull()
    const set = await team.done('PATCH', path(slug), { cutoff: 1001.5 })
    expect(set).toMatchObject({ cutoff: 1001.5, cache_version: before.cache_version })
    const { records } = await team.done('GET', '/v1/audit-log?limit=1')
    expect(records[0]).toMatchObject({
      action: 'deployment.update',
      before: { cutoff: null },
      after: { cutoff: 1001.5 },
    })
    const score = await team.score(slug, { income: 1 })
    expect(score).not.toHaveProperty('cutoff')
    expect((await team.done('PATCH', path(slug), { cutoff: null })).cutoff).toBeNull()
    expect(outcome(await team.call('PATCH', path(slug), { cutoff: '5' }))).toBe(
      '400 invalid_request',
    )
  })

  test('where approval is required it waits', async () => {
    const { slug } = await team.deploy(numberedSpec(1))
    await team.done('PATCH', path(slug), { require_approval: true })
    const answer = await team.call('PATCH', path(slug), { cutoff: 500 })
    expect(answer.statusCode).toBe(202)
    expect((await team.done('GET', path(slug))).cutoff).toBeNull()
    expect(answer.json()).toMatchObject({ after: { cutoff: 500 } })
  })

  test('cut-offs and swap sets take it by default, and a cut-off of their own before it', async () => {
    const { slug } = await team.deploy(numberedSpec(1))
    const { id } = await team.challenge(slug, numberedSpec(2), 10)
    await team.done('PATCH', `${path(slug)}/traffic`, {
      action: 'toggle_shadow',
      shadow_mode: true,
    })
    await team.scoreBatch(slug, [{ income: -1 }, { income: 1 }, { income: 2 }])
    await statsWith(service, team.key, slug, 3)
    const swapSet = `${path(slug)}/swap-set?challenger_id=${id}`
    expect((await team.done('GET', `${path(slug)}/cutoffs`)).cutoffs).toEqual([])
    expect(outcome(await team.call('GET', swapSet))).toBe('400 invalid_request')
    await team.done('PATCH', path(slug), { cutoff: 1002 })
    const { cutoffs } = await team.done('GET', `${path(slug)}/cutoffs`)
    expect(cutoffs).toMatchObject([{ cutoff: 1002, approved: 2, declined: 1 }])
    const other = await team.done('GET', `${path(slug)}/cutoffs?cutoff=1000`)
    expect(other.cutoffs).toMatchObject([{ cutoff: 1000, approved: 3 }])
    expect(await team.done('GET', swapSet)).toMatchObject({ cutoff: 1002 })
    expect(await team.done('GET', `${swapSet}&cutoff=1000`)).toMatchObject({ cutoff: 1000 })
  })

  test('an explanation takes it as its target while the model is the champion', async () => {
    const { slug } = await team.deploy(numberedSpec(1))
    const { request_id } = await team.score(slug, { income: -1 })
    const explanation = `/v1/scores/${request_id}/explanation`
    await expect.poll(async () => (await team.call('GET', explanation)).statusCode).toBe(200)
    await team.done('PATCH', path(slug), { cutoff: 1002 })
    expect(await team.done('GET', explanation)).toMatchObject({
      cutoff: 1002,
      counterfactuals: { need: 1, target: { cutoff: 1002 } },
    })
    expect((await team.done('GET', `${explanation}?cutoff=1003`)).cutoff).toBe(1003)
    const { id } = await team.challenge(slug, numberedSpec(2), 10)
    await team.done('POST', `${path(slug)}/promote`, { challenger_id: id })
    expect((await team.done('GET', explanation)).cutoff).toBeNull()
  })
})
