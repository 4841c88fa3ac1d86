import { describe, expect, test } from 'vitest'
import { UpdatedModel } from '../../../../schemas/models.ts'
import { newId } from '../../../../src/platform/ids.ts'
import { expectSuccess, findOutcome, formatRefusal } from '../../../support/expect/answers.ts'
import { backends } from '../../../support/start/databases.ts'
import { numberedSpec, steppingClock, TwoTeams } from '../../../support/start/team.ts'

describe.each(backends)('on $name', (backend) => {
  const teams = TwoTeams.forSuite(backend, { clock: steppingClock() })
  const { team } = teams

  const update = (id: string, body: object | string, by = team) =>
    by.call('PATCH', `/v1/models/${id}`, body)
  const outcome = async (id: string, status: string, by = team) =>
    findOutcome(await update(id, { status }, by))

  test('a model is archived and restored, each time with the moment of the change', async () => {
    const id = await team.register(numberedSpec(1))
    const { created_at } = await team.done('GET', `/v1/models/${id}`)
    let last = created_at
    for (const status of ['archived', 'active', 'archived'] as const) {
      const body = expectSuccess(await update(id, { status }), UpdatedModel)
      expect(body).toEqual({
        id,
        name: 'Ladder',
        version: '1.0',
        status,
        updated_at: expect.any(String),
      })
      expect(body.updated_at > last, `${body.updated_at} is after ${last}`).toBe(true)
      last = body.updated_at
      expect(await team.findStatus(id)).toBe(status)
    }
  })

  test('a status that the model has already is answered like one that it gets', async () => {
    const id = await team.register(numberedSpec(1))
    expect(await outcome(id, 'active')).toBe('200')
    expect(await outcome(id, 'archived')).toBe('200')
    expect(await outcome(id, 'archived')).toBe('200')
    expect(await team.findStatus(id)).toBe('archived')
  })

  // Archiving what decides about applicants would leave a deployment without a model.
  test('a champion is 409 model_is_champion and stays active until it is replaced', async () => {
    const { slug, modelId } = await team.deploy(numberedSpec(1))
    const challenger = await team.challenge(slug, numberedSpec(2), 10)
    expect(await outcome(modelId, 'archived')).toBe('409 model_is_champion')
    expect(await team.findStatus(modelId)).toBe('active')
    expect(await outcome(modelId, 'active')).toBe('200')
    await team.promote(slug, challenger.id)
    expect(await outcome(challenger.modelId, 'archived')).toBe('409 model_is_champion')
    expect(await outcome(modelId, 'archived')).toBe('200')
    await team.rollBack(slug)
    expect(await outcome(modelId, 'archived')).toBe('409 model_is_champion')
    expect(await outcome(challenger.modelId, 'archived')).toBe('200')
  })

  // A previous champion that somebody archived or restored is still the one to go back to.
  test.each(['active', 'archived'] as const)(
    'a previous champion that was set to %s can be rolled back to',
    async (status) => {
      const { slug, modelId } = await team.deploy(numberedSpec(1))
      await team.promote(slug, (await team.challenge(slug, numberedSpec(2), 10)).id)
      await team.setStatus(modelId, status)
      expect((await team.rollBack(slug)).rolled_back_to.model_id).toBe(modelId)
      expect(await team.findStatus(modelId)).toBe('active')
    },
  )

  // docs/decisions.md 6.2: what is archived scores nowhere.
  test('archiving a challenger ends its entries in every deployment, in force at once', async () => {
    const shadow = await team.deploy(numberedSpec(1))
    const live = await team.deploy(numberedSpec(2))
    const other = await team.deploy(numberedSpec(3))
    const { id, modelId } = await team.challenge(shadow.slug, numberedSpec(4), 20)
    const stays = await team.challenge(shadow.slug, numberedSpec(5), 20)
    await team.shadow(shadow.slug, true)
    await team.add(live.slug, modelId, 50)
    const applicant = { income: 1 }
    const shadowed = async () =>
      (await team.score(shadow.slug, applicant)).shadow_scores.map(
        ({ challenger_id }: { challenger_id: string }) => challenger_id,
      )
    expect(await shadowed()).toEqual([id, stays.id])
    const slugs = [shadow.slug, live.slug, other.slug]
    const before = await Promise.all(slugs.map((slug) => team.deployment(slug)))

    await team.setStatus(modelId, 'archived')

    expect(await shadowed()).toEqual([stays.id])
    for (let n = 0; n < 30; n++) {
      expect((await team.score(live.slug, applicant, `s${n}`)).model_version).toBe('2.0')
    }
    const after = await Promise.all(slugs.map((slug) => team.deployment(slug)))
    const [inShadow, inLive] = before
    expect(after).toEqual([
      {
        ...inShadow,
        challengers: inShadow.challengers.slice(1),
        cache_version: inShadow.cache_version + 1,
      },
      { ...inLive, challengers: [], cache_version: inLive.cache_version + 1 },
      before[2],
    ])
  })

  test('a restored model becomes a challenger only when it is added again, as a new entry', async () => {
    const { slug } = await team.deploy(numberedSpec(1))
    const { id, modelId } = await team.challenge(slug, numberedSpec(2), 20)
    await team.setStatus(modelId, 'archived')
    await team.setStatus(modelId, 'active')
    expect((await team.deployment(slug)).challengers).toEqual([])
    const again = await team.add(slug, modelId, 30)
    expect(again).not.toBe(id)
    expect((await team.deployment(slug)).challengers).toMatchObject([
      { id: again, traffic_pct: 30 },
    ])
  })

  test("another team's model answers 404 model_not_found and does not change", async () => {
    const theirs = await teams.otherTeam.register(numberedSpec(1))
    const { slug } = await team.deploy(numberedSpec(1))
    for (const id of [newId('mod_', 0), theirs, slug, 'mod_', 'deploy', 'mod_%00', 'x']) {
      expect(await outcome(id, 'archived'), id).toBe('404 model_not_found')
    }
    expect(await teams.otherTeam.findStatus(theirs)).toBe('active')
  })

  test.each<[string, object | string]>([
    ['no status', {}],
    ['null', { status: null }],
    ['an unknown status', { status: 'deleted' }],
    ['another case', { status: 'Archived' }],
    ['a boolean', { status: true }],
    ['a list', { status: ['archived'] }],
    ['an unknown field', { status: 'archived', name: 'x' }],
    ['updated_at', { status: 'archived', updated_at: '2026-01-01T00:00:00.000Z' }],
    ['a list for a body', []],
    ['a text for a body', '"archived"'],
    ['no JSON', '{'],
    ['nothing', ''],
  ])('a body with %s is 400 invalid_request and changes nothing', async (_, body) => {
    const id = await team.register(numberedSpec(1))
    expect(formatRefusal(await update(id, body))).toMatchObject({
      status: 400,
      error: 'invalid_request',
    })
    expect(await team.findStatus(id)).toBe('active')
  })

  // docs/decisions.md 2.3: 401, 403, 400, 404, then 409.
  test('faults are reported in the order role, body, model, champion', async () => {
    const { modelId } = await team.deploy(numberedSpec(1))
    const url = (id: string) => ({ method: 'PATCH', url: `/v1/models/${id}` }) as const
    const token = teams.readToken('lead_modeler')
    const unknown = newId('mod_', 0)
    const bad = { status: 'deleted' }
    const byLead = await teams.service.call({ ...url(unknown), token, body: bad })
    expect(findOutcome(byLead)).toBe('403 insufficient_role')
    expect(findOutcome(await update(unknown, bad))).toBe('400 invalid_request')
    expect(findOutcome(await update(modelId, bad))).toBe('400 invalid_request')
    expect(await outcome(unknown, 'archived')).toBe('404 model_not_found')
    expect(await outcome(modelId, 'archived', teams.otherTeam)).toBe('404 model_not_found')
    expect(await outcome(modelId, 'archived')).toBe('409 model_is_champion')
  })
})
