import { describe, expect, test } from 'vitest'
import { card, numeric } from '../../../support/cards/cards.ts'
import { statsWith } from '../../../support/expect/stats.ts'
import { guard } from '../../../support/start/changes.ts'
import { backends } from '../../../support/start/databases.ts'
import { TestService } from '../../../support/start/service.ts'
import { numberedSpec, Team } from '../../../support/start/team.ts'

describe.each(backends)('on $name', (backend) => {
  const service = TestService.forSuite(backend)
  const team = Team.forSuite(service)

  /** A card with two bins, whose upper one gives `points`. */
  const cardWith = (version: string, points: number) =>
    card(
      [
        numeric('income', [
          ['(-Infinity, 100]', 1],
          ['(100, Infinity)', points],
          ['Missing', 0],
        ]),
      ],
      { name: 'Two bins', version, base_points: 10 },
    )

  async function scored(slug: string, incomes: readonly number[]) {
    for (const income of incomes) await team.score(slug, { income })
    await statsWith(service, team.owner, slug, incomes.length)
  }
  const computeDifference = async (id: string) =>
    (await team.done('GET', `/v1/change-requests/${id}`)).difference

  // Who approves has to see which points change, and for whom: 3 of 4 applicants are above 100.
  test('a promotion tells the points that differ and the share of applicants', async () => {
    const { slug, modelId } = await team.deploy(cardWith('1', 5))
    const entry = await team.challenge(slug, cardWith('2', 7), 20)
    await scored(slug, [50, 150, 200, 300])
    await guard(service, team.owner, slug)
    const url = `/v1/deployments/${slug}/promote`
    const { id } = await team.done('POST', url, { challenger_id: entry.id })
    expect(await computeDifference(id)).toMatchObject({
      shares: [
        { model_id: modelId, before_pct: 80, after_pct: 0 },
        { model_id: entry.modelId, before_pct: 20, after_pct: 100 },
      ],
      models: {
        from_model_id: modelId,
        to_model_id: entry.modelId,
        base_points: { before: 10, after: 10 },
        points: [{ feature: 'income', bin: '(100, Infinity)', before: 5, after: 7 }],
        points_truncated: false,
      },
      // 3 of 4 would have another score, and 80 percent more are answered by it: 0.75 * 0.8.
      affected: { n: 4, changed: 3, undecided: 0, is_complete: true },
    })
    expect((await computeDifference(id)).affected.share).toBeCloseTo(0.6, 12)
  })

  test('a rollback tells it from the bins that were logged', async () => {
    const { slug } = await team.deploy(cardWith('1', 5))
    await team.promote(slug, (await team.challenge(slug, cardWith('2', 7), 20)).id)
    await scored(slug, [50, 150, 200])
    await guard(service, team.owner, slug)
    const { id } = await team.done('POST', `/v1/deployments/${slug}/rollback`, { reason: 'x' })
    const { affected } = await computeDifference(id)
    expect(affected).toMatchObject({ n: 3, changed: 2, undecided: 0, share: 2 / 3 })
  })

  test('bins that do not follow from the logged ones count as undecided', async () => {
    const { slug } = await team.deploy(cardWith('1', 5))
    const finer = card(
      [
        numeric('income', [
          ['(-Infinity, 200]', 1],
          ['(200, Infinity)', 5],
          ['Missing', 0],
        ]),
      ],
      { name: 'Two bins', version: '2', base_points: 10 },
    )
    await scored(slug, [50, 150, 300])
    const modelId = await team.register(finer)
    await guard(service, team.owner, slug)
    const order = { action: 'add_challenger', model_id: modelId, traffic_pct: 10 }
    const { id } = await team.done('PATCH', `/v1/deployments/${slug}/traffic`, order)
    const { affected, models } = await computeDifference(id)
    // Above 100 the score is 11 or 15: the log does not tell which.
    expect(affected).toMatchObject({ n: 3, changed: 0, undecided: 2 })
    expect(models.points).toEqual([
      { feature: 'income', bin: '(-Infinity, 200]', before: null, after: 1 },
      { feature: 'income', bin: '(200, Infinity)', before: null, after: 5 },
      { feature: 'income', bin: '(-Infinity, 100]', before: 1, after: null },
      { feature: 'income', bin: '(100, Infinity)', before: 5, after: null },
    ])
  })

  // Each challenger begins to answer: whoever approves must see what each of them would change.
  test('the end of shadow mode compares every challenger with the champion', async () => {
    const { slug, modelId } = await team.deploy(cardWith('1', 5))
    const all = await team.challenge(slug, cardWith('2', 7), 20)
    const none = await team.challenge(slug, cardWith('3', 5), 10)
    await team.shadow(slug, true)
    await scored(slug, [50, 150, 200, 300])
    await guard(service, team.owner, slug)
    const order = { action: 'toggle_shadow', shadow_mode: false }
    const { id } = await team.done('PATCH', `/v1/deployments/${slug}/traffic`, order)
    const { affected, models } = await computeDifference(id)
    expect(models).toMatchObject({ from_model_id: modelId, to_model_id: all.modelId })
    expect(affected).toMatchObject({
      n: 4,
      changed: 3,
      undecided: 0,
      exchanges: [
        { from_model_id: modelId, to_model_id: all.modelId, moved_pct: 20, n: 4, changed: 3 },
        { from_model_id: modelId, to_model_id: none.modelId, moved_pct: 10, n: 4, changed: 0 },
      ],
    })
    // 3 of 4 of a fifth, and nobody of a tenth.
    expect(affected.share).toBeCloseTo(0.15, 12)
  })

  test('switching off changes the answers of all', async () => {
    const { slug, modelId } = await team.deploy(numberedSpec(1))
    await scored(slug, [1, 2])
    await guard(service, team.owner, slug)
    const { id } = await team.done('PATCH', `/v1/deployments/${slug}`, { is_active: false })
    expect(await computeDifference(id)).toMatchObject({
      shares: [{ model_id: modelId, before_pct: 100, after_pct: 0 }],
      models: null,
      affected: { n: 2, changed: 2, share: 1 },
    })
  })
})
