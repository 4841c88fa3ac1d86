import { describe, expect, test } from 'vitest'
import { TrafficResult } from '../../../../schemas/deployments.ts'
import { expectSuccess } from '../../../support/expect/answers.ts'
import { backends } from '../../../support/start/databases.ts'
import { TestService } from '../../../support/start/service.ts'
import { numberedSpec, steppingClock, Team } from '../../../support/start/team.ts'

describe.each(backends)('on $name', (backend) => {
  const service = TestService.forSuite(backend, { clock: steppingClock() })
  const team = Team.forSuite(service)

  const traffic = async (slug: string, body: object) =>
    expectSuccess(await team.traffic(slug, body), TrafficResult)

  test('each action returns its result with the next cache_version, and takes effect', async () => {
    const { slug } = await team.deploy(numberedSpec(1))
    const modelId = await team.register(numberedSpec(2))
    const added = await traffic(slug, {
      action: 'add_challenger',
      model_id: modelId,
      traffic_pct: 20,
    })
    const { id } = added.challenger
    expect(id).toMatch(/^ch_[0-9A-Za-z]{20,}$/)
    const challenger = { id, model_id: modelId, traffic_pct: 20, is_active: true }
    expect(added).toEqual({
      deployment_id: slug,
      action: 'add_challenger',
      challenger,
      cache_version: 2,
    })

    const updated = { ...challenger, traffic_pct: 30.25 }
    const update = { action: 'update_traffic', challenger_id: id, traffic_pct: 30.25 }
    expect(await traffic(slug, update)).toEqual({
      deployment_id: slug,
      action: 'update_traffic',
      challenger: updated,
      cache_version: 3,
    })

    expect(await traffic(slug, { action: 'toggle_shadow', shadow_mode: true })).toEqual({
      deployment_id: slug,
      action: 'toggle_shadow',
      shadow_mode: true,
      cache_version: 4,
    })
    expect((await team.score(slug, {})).shadow_scores).toMatchObject([{ challenger_id: id }])
    expect(await traffic(slug, { action: 'toggle_shadow', shadow_mode: false })).toEqual({
      deployment_id: slug,
      action: 'toggle_shadow',
      shadow_mode: false,
      cache_version: 5,
    })
    expect(await team.score(slug, {})).not.toHaveProperty('shadow_scores')

    expect(await traffic(slug, { action: 'remove_challenger', challenger_id: id })).toEqual({
      deployment_id: slug,
      action: 'remove_challenger',
      cache_version: 6,
      challenger: { ...updated, is_active: false },
    })
    expect(await team.deployment(slug)).toMatchObject({ challengers: [], cache_version: 6 })
  })

  // docs/decisions.md 6.6: one for each change that can alter an answer.
  test('toggle_shadow sets the mode that is given, whatever it was', async () => {
    const { slug } = await team.deploy(numberedSpec(1))
    for (const shadowMode of [true, true, false, false]) {
      expect((await team.shadow(slug, shadowMode)).shadow_mode).toBe(shadowMode)
      expect((await team.deployment(slug)).shadow_mode).toBe(shadowMode)
    }
  })

  test.each([1, 1.5, 12.34, 49.99, 50])('a challenger may have %d percent', async (pct) => {
    const { slug } = await team.deploy(numberedSpec(1))
    const { id } = await team.challenge(slug, numberedSpec(2), pct)
    expect((await team.deployment(slug)).challengers).toMatchObject([{ id, traffic_pct: pct }])
    expect((await team.resize(slug, id, 51 - pct)).challenger.traffic_pct).toBe(51 - pct)
  })

  // Sums of decimal fractions are not exact: 50 percent in ten parts are still 50 percent.
  test.each([
    ['two halves', [25, 25]],
    ['ten of five percent', Array(10).fill(5)],
    ['parts whose sum is a rounding above 50', [5.27, 29.6, 15.13]],
    ['tenths', [10.1, 10.2, 9.7, 10.3, 9.7]],
  ])('challengers may have 50 percent together: %s', async (_, shares: number[]) => {
    const { slug } = await team.deploy(numberedSpec(99))
    for (const [index, share] of shares.entries())
      await team.challenge(slug, numberedSpec(index), share)
    const { challengers, cache_version } = await team.deployment(slug)
    expect(challengers).toHaveLength(shares.length)
    expect(cache_version).toBe(1 + shares.length)
  })

  // A model that left may come back; what it did before must not be taken for what it does now.
  test('a removed model may be added again as a new entry, and its share is free for others', async () => {
    const { slug } = await team.deploy(numberedSpec(1))
    const first = await team.challenge(slug, numberedSpec(2), 50)
    await team.remove(slug, first.id)
    const other = await team.challenge(slug, numberedSpec(3), 30)
    const again = await team.add(slug, first.modelId, 20)
    expect(again).not.toBe(first.id)
    const { challengers } = await team.deployment(slug)
    expect(challengers.map(({ id }: { id: string }) => id)).toEqual([other.id, again])
  })

  test('one model may challenge in several deployments, and be champion elsewhere', async () => {
    const [one, two, third] = [
      await team.deploy(numberedSpec(1)),
      await team.deploy(numberedSpec(2)),
      await team.deploy(numberedSpec(3)),
    ]
    const entries = [
      await team.add(one.slug, third.modelId, 10),
      await team.add(two.slug, third.modelId, 20),
    ]
    expect(new Set(entries).size).toBe(2)
    await team.remove(one.slug, entries[0] ?? '')
    expect((await team.deployment(two.slug)).challengers).toMatchObject([{ id: entries[1] }])
  })

  // Whoever removes a bad model in a hurry must not read that it still answers somebody.
  test('each change is in force for the very next score, single and batch', async () => {
    const { slug } = await team.deploy(numberedSpec(1))
    const versions = async () => {
      const seen = new Set<string>()
      for (let n = 0; n < 60; n++) {
        seen.add((await team.score(slug, { income: 1 }, `subject ${n}`)).model_version)
      }
      const batch = await team.scoreBatch(slug, [{ income: 1 }], {}, 'subject 1')
      const [{ score }] = batch.results
      expect(score).toBe(Number(batch.model_version) * 1002)
      return [...seen].sort()
    }
    expect(await versions()).toEqual(['1.0'])
    const { id } = await team.challenge(slug, numberedSpec(2), 50)
    expect(await versions()).toEqual(['1.0', '2.0'])
    await team.shadow(slug, true)
    expect(await versions()).toEqual(['1.0'])
    await team.shadow(slug, false)
    expect(await versions()).toEqual(['1.0', '2.0'])
    await team.promote(slug, id)
    expect(await versions()).toEqual(['2.0'])
    await team.rollBack(slug)
    expect(await versions()).toEqual(['1.0'])
  })
})
