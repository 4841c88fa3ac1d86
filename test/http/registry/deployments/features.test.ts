import { describe, expect, test } from 'vitest'
import { card, plainFeature } from '../../../support/cards/cards.ts'
import { formatRefusal } from '../../../support/expect/answers.ts'
import { readRequester } from '../../../support/start/changes.ts'
import { backends } from '../../../support/start/databases.ts'
import { TwoTeams } from '../../../support/start/team.ts'

const readCard = (version: string, ...names: string[]) =>
  card(names.map(plainFeature), { name: 'Ladder', version })

describe.each(backends)('on $name', (backend) => {
  const teams = TwoTeams.forSuite(backend)
  const { team } = teams

  async function deployed(isStrict = false): Promise<string> {
    const { slug } = await team.deploy(readCard('1.0', 'income', 'age'))
    if (isStrict) await team.done('PATCH', `/v1/deployments/${slug}`, { strict_mode: true })
    return slug
  }

  // Whoever makes the change must know what callers have to send, before they are refused.
  test('each change says which features it adds and removes, and nothing where none', async () => {
    const slug = await deployed()
    const modelId = await team.register(readCard('2.0', 'income', 'rent'))
    const same = await team.register(readCard('3.0', 'age', 'income'))
    const traffic = `/v1/deployments/${slug}/traffic`
    const add = (id: string) =>
      team.done('PATCH', traffic, { action: 'add_challenger', model_id: id, traffic_pct: 5 })
    const { challenger, features } = await add(modelId)
    expect(features).toEqual({ added: ['rent'], removed: [] })
    expect(await add(same)).not.toHaveProperty('features')
    expect(await team.resize(slug, challenger.id, 9)).not.toHaveProperty('features')
    expect(await team.shadow(slug, true)).not.toHaveProperty('features')
    expect((await team.shadow(slug, false)).features).toEqual({ added: ['rent'], removed: [] })
    expect((await team.promote(slug, challenger.id)).features).toEqual({
      added: [],
      removed: ['age'],
    })
    expect((await team.rollBack(slug)).features).toEqual({ added: ['age'], removed: ['rent'] })
    const [record] = (await team.done('GET', '/v1/audit-log?limit=1')).records
    expect(record.after.features).toEqual({ added: ['age'], removed: ['rent'] })
    await team.setStatus(modelId, 'active')
    const again = await add(modelId)
    expect((await team.remove(slug, again.challenger.id)).features).toEqual({
      added: [],
      removed: ['rent'],
    })
  })

  test('the same under /api/v1, where a version in shadow mode is asked for once it may answer', async () => {
    const slug = await deployed()
    const modelId = await team.register(readCard('2.0', 'income', 'rent'))
    const body = { challenger_version: '2.0', mode: 'shadow', traffic_pct: 100 }
    const url = `/api/v1/scorecards/${slug}`
    const { features } = await team.done('POST', `${url}/challengers`, body)
    expect(features).toEqual({ added: ['rent'], removed: [] })
    const promoted = await team.done('POST', `${url}/promote`, { version: '2.0' })
    expect(promoted.features).toEqual({ added: ['rent'], removed: ['age'] })
    const back = await team.done('POST', `${url}/rollback`, {})
    expect(back.features).toEqual({ added: ['age'], removed: ['rent'] })
    await team.setStatus(modelId, 'active')
    await team.done('POST', `${url}/challengers`, body)
    const removed = await team.done('DELETE', `${url}/challengers/2.0`)
    expect(removed.features).toEqual({ added: [], removed: ['rent'] })
  })

  test('a strict deployment refuses a change with added features until they are accepted', async () => {
    const slug = await deployed(true)
    const modelId = await team.register(readCard('2.0', 'income', 'rent'))
    const traffic = `/v1/deployments/${slug}/traffic`
    const add = { action: 'add_challenger', model_id: modelId, traffic_pct: 5 }
    const added = (path: string) => ({
      status: 409,
      error: 'features_added',
      details: [{ path, message: expect.any(String) }],
    })
    expect(formatRefusal(await team.call('PATCH', traffic, add))).toMatchObject(added('rent'))
    const refused = await team.call('PATCH', traffic, { ...add, accept_features: 'yes' })
    expect(formatRefusal(refused)).toMatchObject({ error: 'invalid_traffic_config' })
    expect((await team.deployment(slug)).cache_version).toBe(2)
    await team.shadow(slug, true)
    const accept_features = true
    const { challenger } = await team.done('PATCH', traffic, { ...add, accept_features })
    const url = `/v1/deployments/${slug}`
    const promote = { challenger_id: challenger.id }
    expect(formatRefusal(await team.call('POST', `${url}/promote`, promote))).toMatchObject(
      added('rent'),
    )
    await team.done('POST', `${url}/promote`, { ...promote, accept_features })
    const rollback = { reason: 'a test wants it' }
    expect(formatRefusal(await team.call('POST', `${url}/rollback`, rollback))).toMatchObject(
      added('age'),
    )
    await team.done('POST', `${url}/rollback`, { ...rollback, accept_features })
    const scorecard = `/api/v1/scorecards/${slug}`
    const body = { challenger_version: '2.0', mode: 'live', traffic_pct: 5 }
    await team.setStatus(modelId, 'active')
    const twin = await team.call('POST', `${scorecard}/challengers`, body)
    expect(formatRefusal(twin)).toMatchObject(added('rent'))
    await team.done('POST', `${scorecard}/challengers`, { ...body, accept_features })
    await team.done('POST', `${scorecard}/promote`, { version: '2.0', accept_features })
    expect(formatRefusal(await team.call('POST', `${scorecard}/rollback`, {}))).toMatchObject(
      added('age'),
    )
    await team.done('POST', `${scorecard}/rollback`, { accept_features })
  })

  test('a change that waits says it, asks for the same acceptance, and keeps it until it is applied', async () => {
    const slug = await deployed(true)
    const modelId = await team.register(readCard('2.0', 'income', 'rent'))
    await team.done('PATCH', `/v1/deployments/${slug}`, { require_approval: true })
    const requester = await readRequester(teams.service, team.owner)
    const ask = (rest: object) =>
      teams.service.call({
        method: 'PATCH',
        url: `/v1/deployments/${slug}/traffic`,
        token: requester,
        body: { action: 'add_challenger', model_id: modelId, traffic_pct: 5, ...rest },
      })
    expect(formatRefusal(await ask({}))).toMatchObject({ status: 409, error: 'features_added' })
    const waiting = (await ask({ accept_features: true })).json()
    const features = { added: ['rent'], removed: [] }
    expect(waiting).toMatchObject({ state: 'waiting', features })
    const url = `/v1/change-requests/${waiting.id}`
    expect(await team.done('GET', url)).toMatchObject({ features })
    expect(await team.done('POST', `${url}/approve`)).toMatchObject({ state: 'approved', features })
    expect((await team.deployment(slug)).challengers).toHaveLength(1)
  })
})
