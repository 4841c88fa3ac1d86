import { describe, expect, test } from 'vitest'
import { PromoteResult, RollbackResult } from '../../../../schemas/deployments.ts'
import { newId } from '../../../../src/platform/ids.ts'
import { expectSuccess, findOutcome } from '../../../support/expect/answers.ts'
import { backends } from '../../../support/start/databases.ts'
import { type Entry, numberedSpec, TwoTeams } from '../../../support/start/team.ts'

describe.each(backends)('on $name', (backend) => {
  const teams = TwoTeams.forSuite(backend)
  const { team } = teams

  const promote = (slug: string, body: object | string) =>
    team.call('POST', `/v1/deployments/${slug}/promote`, body)
  const rollBack = (slug: string, body: object | string = { reason: 'worse than before' }) =>
    team.call('POST', `/v1/deployments/${slug}/rollback`, body)
  const readStatuses = (...ids: string[]) => Promise.all(ids.map((id) => team.findStatus(id)))
  const findVersion = async (slug: string) => (await team.score(slug, { income: 1 })).model_version

  /** A deployment of version 1.0 with challengers of the versions 2.0, 3.0, … */
  async function contest(challengers: number) {
    const { slug, modelId } = await team.deploy(numberedSpec(1))
    const entries: Entry[] = []
    for (let n = 0; n < challengers; n++)
      entries.push(await team.challenge(slug, numberedSpec(n + 2), 5))
    const at = (index: number) => entries[index] ?? expect.fail('no such challenger')
    return { slug, modelId, at }
  }

  test('a promotion makes the challenger champion and ends all challengers', async () => {
    const { slug, modelId, at } = await contest(4)
    await team.remove(slug, at(3).id)
    const winner = at(1)
    const answer = expectSuccess(await promote(slug, { challenger_id: winner.id }), PromoteResult)
    expect(answer).toEqual({
      deployment_id: slug,
      promoted_model_id: winner.modelId,
      previous_champion_id: modelId,
      // The others that were active: not the winner, not the one removed before.
      challengers_deactivated: 2,
      cache_version: 7,
    })
    expect(await team.deployment(slug)).toMatchObject({
      champion_model: { id: winner.modelId, name: 'Ladder', version: '3.0' },
      // Who decides on a rollback must see where it leads.
      previous_champion_model: { id: modelId, name: 'Ladder', version: '1.0' },
      challengers: [],
      cache_version: 7,
      name: 'Ladder',
    })
    // Only who leaves and who takes the place changes: those who lost the contest stay usable.
    expect(await readStatuses(modelId, winner.modelId, at(0).modelId, at(2).modelId)).toEqual([
      ...['archived', 'active', 'active', 'active'],
    ])
    for (const key of [undefined, 'a', 'b']) {
      expect((await team.score(slug, {}, key)).model_version).toBe('3.0')
    }
  })

  test('a promotion without other challengers deactivates none', async () => {
    const { slug, at } = await contest(1)
    const body = { challenger_id: at(0).id }
    expect(expectSuccess(await promote(slug, body), PromoteResult).challengers_deactivated).toBe(0)
  })

  test('a promotion keeps shadow mode as it is', async () => {
    const { slug, at } = await contest(1)
    await team.shadow(slug, true)
    await team.promote(slug, at(0).id)
    expect((await team.deployment(slug)).shadow_mode).toBe(true)
    expect(await team.score(slug, {})).not.toHaveProperty('shadow_scores')
  })

  test('an id without an active challenger here answers 404 challenger_not_found', async () => {
    const { slug, modelId, at } = await contest(2)
    const other = await contest(1)
    const theirs = await teams.otherTeam.deploy(numberedSpec(1))
    await team.remove(slug, at(0).id)
    const wrong = [
      ...[at(0).id, other.at(0).id, newId('ch_', 0), at(1).modelId, modelId, slug, '', 'ch_\0'],
      ...[(await teams.otherTeam.challenge(theirs.slug, numberedSpec(2), 5)).id, `${at(1).id} `],
    ]
    const before = await team.deployment(slug)
    for (const challengerId of wrong) {
      const response = await promote(slug, { challenger_id: challengerId })
      expect(findOutcome(response), challengerId).toBe('404 challenger_not_found')
    }
    await team.promote(slug, at(1).id)
    expect(findOutcome(await promote(slug, { challenger_id: at(1).id }))).toBe(
      '404 challenger_not_found',
    )
    expect((await team.deployment(slug)).cache_version).toBe(before.cache_version + 1)
  })

  // The way back must be open when the new model turns out to be bad, on a Friday night.
  test('a rollback swaps champion and previous champion, twice gives the first again', async () => {
    const { slug, modelId, at } = await contest(2)
    const [winner, loser] = [at(0), at(1)]
    await team.promote(slug, winner.id)
    const later = [
      await team.challenge(slug, numberedSpec(8), 5),
      await team.challenge(slug, numberedSpec(9), 5),
    ]
    const first = { model_id: modelId, version: '1.0' }
    const second = { model_id: winner.modelId, version: '2.0' }
    expect(expectSuccess(await rollBack(slug), RollbackResult)).toEqual({
      deployment_id: slug,
      rolled_back_from: second,
      rolled_back_to: first,
      challengers_deactivated: 2,
      cache_version: 7,
    })
    expect(await findVersion(slug)).toBe('1.0')
    expect(await team.deployment(slug)).toMatchObject({ challengers: [], cache_version: 7 })
    const ids = [modelId, winner.modelId, loser.modelId, ...later.map((entry) => entry.modelId)]
    expect(await readStatuses(...ids)).toEqual(['active', 'archived', 'active', 'active', 'active'])

    expect(expectSuccess(await rollBack(slug), RollbackResult)).toEqual({
      deployment_id: slug,
      rolled_back_from: first,
      rolled_back_to: second,
      challengers_deactivated: 0,
      cache_version: 8,
    })
    expect(await findVersion(slug)).toBe('2.0')
    expect(await readStatuses(...ids)).toEqual(['archived', 'active', 'active', 'active', 'active'])
  })

  test('after two promotions the way back is the last champion, not the first', async () => {
    const { slug, modelId, at } = await contest(1)
    await team.promote(slug, at(0).id)
    const next = await team.challenge(slug, numberedSpec(7), 5)
    await team.promote(slug, next.id)
    const { rolled_back_to } = await team.rollBack(slug)
    expect(rolled_back_to).toEqual({ model_id: at(0).modelId, version: '2.0' })
    expect(await readStatuses(modelId, at(0).modelId, next.modelId)).toEqual([
      ...['archived', 'active', 'archived'],
    ])
  })

  test('a deployment that only ever had one champion is 400 no_rollback_target, and stays as it is', async () => {
    const { slug } = await contest(1)
    const before = await team.deployment(slug)
    expect(findOutcome(await rollBack(slug))).toBe('400 no_rollback_target')
    expect(await team.deployment(slug)).toEqual(before)
  })

  // docs/decisions.md 6.1: archived unless it is a champion elsewhere.
  test('a model that leaves one deployment and is champion of another stays active', async () => {
    const { slug, modelId, at } = await contest(1)
    const elsewhere = await team.deploy(numberedSpec(5))
    await team.promote(elsewhere.slug, await team.add(elsewhere.slug, modelId, 5))
    await team.promote(slug, at(0).id)
    expect(await team.findStatus(modelId)).toBe('active')
    expect(await findVersion(elsewhere.slug)).toBe('1.0')
    // It leaves its last place, too.
    await team.rollBack(elsewhere.slug)
    expect(await readStatuses(modelId, elsewhere.modelId)).toEqual(['archived', 'active'])
  })

  // docs/decisions.md 6.2: archiving ends the entries of a challenger, by whichever way it comes.
  test('a champion that is replaced is no longer a challenger elsewhere', async () => {
    const { slug, modelId, at } = await contest(1)
    const elsewhere = await team.deploy(numberedSpec(5))
    await team.add(elsewhere.slug, modelId, 50)
    await team.score(elsewhere.slug, {})
    const { cache_version } = await team.deployment(elsewhere.slug)
    await team.promote(slug, at(0).id)
    expect(await team.deployment(elsewhere.slug)).toMatchObject({
      challengers: [],
      cache_version: cache_version + 1,
    })
    for (let n = 0; n < 30; n++) {
      expect((await team.score(elsewhere.slug, {}, `s${n}`)).model_version).toBe('5.0')
    }
  })

  const PROMOTIONS: Array<[string, object | string]> = [
    ['nothing in it', {}],
    ['null', { challenger_id: null }],
    ['a number', { challenger_id: 1 }],
    ['a list', { challenger_id: ['ch_x'] }],
    ['an unknown field', { challenger_id: 'ch_x', why: 'x' }],
    ['an empty reason', { challenger_id: 'ch_x', reason: '' }],
    ['the model instead of the entry', { model_id: 'mod_x' }],
    ['a list around it', []],
    ['no JSON', '{'],
    ['no text', ''],
  ]
  test.each(PROMOTIONS)('a promotion with %s is 400 invalid_request', async (_, body) => {
    const { slug } = await contest(1)
    expect(findOutcome(await promote(slug, body))).toBe('400 invalid_request')
  })

  const ROLLBACKS: Array<[string, object | string]> = [
    ['no reason', {}],
    ['null for a reason', { reason: null }],
    ['an empty reason', { reason: '' }],
    ['a number for a reason', { reason: 5 }],
    ['a NUL in the reason', { reason: 'a\0' }],
    ['an unknown field', { reason: 'x', to: 'mod_x' }],
    ['a list around it', [{ reason: 'x' }]],
    ['no JSON', '{'],
    ['no text', ''],
  ]
  // The log must say why: a rollback without its reason is a decision that nobody made.
  test.each(ROLLBACKS)('a rollback with %s is 400 invalid_request', async (_, body) => {
    const { slug, at } = await contest(1)
    await team.promote(slug, at(0).id)
    expect(findOutcome(await rollBack(slug, body))).toBe('400 invalid_request')
    expect((await team.deployment(slug)).cache_version).toBe(3)
  })

  test('a deployment that is unknown or of another team answers 404', async () => {
    const theirs = await teams.otherTeam.deploy(numberedSpec(1))
    const { id } = await teams.otherTeam.challenge(theirs.slug, numberedSpec(2), 5)
    for (const slug of [theirs.slug, newId('dep_', 0), 'x']) {
      expect(findOutcome(await promote(slug, { challenger_id: id }))).toBe(
        '404 deployment_not_found',
      )
      expect(findOutcome(await rollBack(slug))).toBe('404 deployment_not_found')
      expect(findOutcome(await rollBack(slug, {}))).toBe('400 invalid_request')
    }
    expect((await teams.otherTeam.deployment(theirs.slug)).cache_version).toBe(2)
  })
})
