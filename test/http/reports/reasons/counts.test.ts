import { describe, expect, test } from 'vitest'
import { stepCard } from '../../../support/cards/reason-cards.ts'
import { findOutcome } from '../../../support/expect/answers.ts'
import { statsWith } from '../../../support/expect/stats.ts'
import { backends } from '../../../support/start/databases.ts'
import { TwoTeams } from '../../../support/start/team.ts'

describe.each(backends)('on $name', (backend) => {
  const teams = TwoTeams.forSuite(backend)
  const { team } = teams

  const at = (slug: string, end: string) => `/v1/deployments/${slug}${end}`
  const score = async (slug: string, values: readonly (readonly [a: number, b: number])[]) => {
    for (const [a, b] of values) await team.score(slug, { a, b })
  }

  test('a model of another environment looks like one that does not exist', async () => {
    const { slug } = await team.deploy(stepCard({ method: 'max' }))
    const staged = await team.deploy({ ...stepCard({ method: 'max' }), version: '9' }, 'staging')
    const counts = (model: string) => team.call('GET', at(slug, `/reason-counts?model=${model}`))
    expect(findOutcome(await counts(staged.modelId))).toBe('404 model_not_found')
    const unknown = { model_id: 'mod_1', method: 'mean_at_cutoff' }
    const refused = await team.call('POST', at(slug, '/reason-baselines'), unknown)
    expect(findOutcome(refused)).toBe('400 invalid_request')
  })

  test('reasons are counted by grade, for every answer and for no other model', async () => {
    const card = {
      ...stepCard({ method: 'max', max: 1 }),
      reason_codes: { A: { en: 'First', es: 'Primero' }, B: { en: 'Second' } },
    }
    const { slug, modelId } = await team.deploy(card)
    const twice = { ...card, version: '2.0.0', reasons: { version: 1, method: 'max', max: 2 } }
    await team.challenge(slug, twice, 50)
    await team.shadow(slug, true)
    // 140, 120, 130, 110 and 100 points.
    await score(slug, [
      [2, 2],
      [0, 2],
      [2, 1],
      [0, 1],
      [0, 0],
    ])
    await team.scoreBatch(slug, [{ a: 2, b: 0 }])
    await statsWith(team.service, team.owner, slug, 6)
    const counts = await team.done('GET', at(slug, '/reason-counts?lang=es'))
    // Points below the best: a 20, b 10; a 20, b 20 is a tie, and a is first in the card.
    expect(counts).toEqual({
      model_id: modelId,
      n: 6,
      no_adverse_factor: 1,
      reasons: [
        { code: 'A', text: 'Primero', n: 3, first: 3 },
        { code: 'B', text: 'Second', n: 2, first: 2 },
      ],
      more_codes: 0,
      without_baseline: 0,
      grades: [
        {
          grade: 'A',
          n: 2,
          no_adverse_factor: 1,
          reasons: [{ code: 'B', text: 'Second', n: 1, first: 1 }],
          more_codes: 0,
        },
        {
          grade: 'B',
          n: 2,
          no_adverse_factor: 0,
          reasons: [
            { code: 'A', text: 'Primero', n: 1, first: 1 },
            { code: 'B', text: 'Second', n: 1, first: 1 },
          ],
          more_codes: 0,
        },
        {
          grade: 'C',
          n: 2,
          no_adverse_factor: 0,
          reasons: [{ code: 'A', text: 'Primero', n: 2, first: 2 }],
          more_codes: 0,
        },
      ],
    })
    const { challengers } = await team.deployment(slug)
    const path = `/reason-counts?model=${challengers[0].model_id}`
    expect(await team.done('GET', at(slug, path))).toMatchObject({ n: 0, grades: [] })
    const past = at(slug, '/reason-counts?to=2020-01-01T00:00:00Z')
    expect(await team.done('GET', past)).toMatchObject({ n: 0, reasons: [] })
    const foreign = await teams.otherTeam.call('GET', at(slug, '/reason-counts'))
    expect(findOutcome(foreign)).toBe('404 deployment_not_found')
  })

  test('each answer counts against the baseline that was in force then', async () => {
    const { slug, modelId } = await team.deploy(stepCard({ method: 'mean_all' }))
    await score(slug, [
      [2, 0],
      [2, 0],
    ])
    await statsWith(team.service, team.owner, slug, 2)
    const order = { model_id: modelId, method: 'mean_all', min_population: 1 }
    const { id } = await team.done('POST', at(slug, '/reason-baselines'), order)
    await team.done('PUT', at(slug, '/reason-baseline'), { model_id: modelId, baseline_id: id })
    // The average is 20 for a and 0 for b: only a can be adverse.
    await score(slug, [
      [0, 0],
      [2, 2],
    ])
    await statsWith(team.service, team.owner, slug, 4)
    expect(await team.done('GET', at(slug, '/reason-counts'))).toMatchObject({
      n: 2,
      no_adverse_factor: 1,
      without_baseline: 2,
      reasons: [{ code: 'A', n: 1 }],
    })
    await team.done('POST', at(slug, '/reason-baselines'), order)
    const { reason_baselines: listed } = await team.done('GET', at(slug, '/reason-baselines'))
    expect(listed.map((one: { is_in_force: boolean }) => one.is_in_force)).toEqual([false, true])
  })

  // A letter of last year must be given again, whatever became of the model since.
  test('the reasons of a score stay the same after the model was replaced and archived', async () => {
    const { slug, modelId } = await team.deploy(stepCard({ method: 'max' }))
    const { body } = await team.service.call({
      url: `/v1/score/${slug}?reasons=4`,
      token: team.key,
      body: { a: 0, b: 1 },
    })
    const { request_id, reasons, key_factors, reason_method } = JSON.parse(body)
    const { id } = await team.challenge(slug, { ...stepCard({ method: 'max' }), version: '2' }, 20)
    await team.promote(slug, id)
    await team.setStatus(modelId, 'archived')
    await statsWith(team.service, team.owner, slug, 1)
    const explained = await team.done('GET', `/v1/scores/${request_id}/explanation`)
    expect(explained).toMatchObject({ reasons, key_factors, reason_method, model_id: modelId })
    expect(
      explained.features.map((one: { baseline_points: number }) => one.baseline_points),
    ).toEqual([20, 20])
  })
})
