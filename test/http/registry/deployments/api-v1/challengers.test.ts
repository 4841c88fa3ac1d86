import { describe, expect, test } from 'vitest'
import {
  AddScorecardChallengerResult,
  RemoveScorecardChallengerResult,
} from '../../../../../schemas/scorecards.ts'
import { newId } from '../../../../../src/platform/ids.ts'
import { expectSuccess, findOutcome, formatRefusal } from '../../../../support/expect/answers.ts'
import { backends } from '../../../../support/start/databases.ts'
import { numberedSpec, steppingClock, TwoTeams } from '../../../../support/start/team.ts'

const WRONG = '422 invalid_traffic_config'

describe.each(backends)('on $name', (backend) => {
  const teams = TwoTeams.forSuite(backend, { clock: steppingClock() })
  const { team } = teams

  const url = (id: string, version = '') =>
    `/api/v1/scorecards/${id}/challengers${version === '' ? '' : `/${encodeURIComponent(version)}`}`
  const add = (id: string, body: object | string) => team.call('POST', url(id), body)
  const order = (version: string, pct: unknown, mode: unknown = 'shadow') => ({
    challenger_version: version,
    mode,
    traffic_pct: pct,
  })
  const remove = (id: string, version: string) => team.call('DELETE', url(id, version))
  /** A scorecard of version 1.0, and models of further versions. */
  async function contest(...versions: number[]) {
    const { slug } = await team.deploy(numberedSpec(1))
    const models: string[] = []
    for (const version of versions) models.push(await team.register(numberedSpec(version)))
    return { slug, models }
  }

  test('a version becomes a challenger, its mode that of the deployment, and leaves again', async () => {
    const { slug, models } = await contest(2)
    const added = expectSuccess(await add(slug, order('2.0', 100)), AddScorecardChallengerResult)
    const { id } = added.challenger
    expect(added).toEqual({
      scorecard_id: slug,
      challenger: {
        id: expect.stringMatching(/^ch_/),
        model_id: models[0],
        version: '2.0',
        traffic_pct: 100,
        mode: 'shadow',
        is_active: true,
      },
      cache_version: 2,
    })
    expect(await team.deployment(slug)).toMatchObject({
      shadow_mode: true,
      cache_version: 2,
      challengers: [{ id, traffic_pct: 100 }],
    })
    expect(await team.score(slug, {})).toMatchObject({
      model_version: '1.0',
      shadow_scores: [{ version: '2.0', score: 2006 }],
    })
    expect(expectSuccess(await remove(slug, '2.0'), RemoveScorecardChallengerResult)).toEqual({
      scorecard_id: slug,
      action: 'remove_challenger',
      cache_version: 3,
      challenger: { id, model_id: models[0], traffic_pct: 100, is_active: false },
    })
    expect((await team.deployment(slug)).challengers).toEqual([])

    const live = expectSuccess(
      await add(slug, order('2.0', 50, 'live')),
      AddScorecardChallengerResult,
    )
    expect(live.challenger).toMatchObject({ traffic_pct: 50, mode: 'live' })
    expect((await team.deployment(slug)).shadow_mode).toBe(false)
  })

  // docs/decisions.md 6.5: in shadow mode each challenger may have 100 percent.
  test('in shadow mode challengers may have 100 percent each, in a live split 50 together', async () => {
    const { slug } = await contest(2, 3, 4)
    for (const version of ['2.0', '3.0']) {
      expect(findOutcome(await add(slug, order(version, 100)))).toBe('200')
    }
    const { shadow_scores } = await team.score(slug, {})
    expect(shadow_scores).toMatchObject([{ version: '2.0' }, { version: '3.0' }])
    const before = await team.deployment(slug)
    // Neither way to a live split may let two models of 100 percent decide.
    expect(findOutcome(await add(slug, order('4.0', 1, 'live')))).toBe(WRONG)
    const toggle = { action: 'toggle_shadow', shadow_mode: false }
    expect(findOutcome(await team.traffic(slug, toggle))).toBe(WRONG)
    expect(await team.deployment(slug)).toEqual(before)
    await remove(slug, '2.0')
    expect(findOutcome(await team.traffic(slug, toggle))).toBe(WRONG)
    await team.resize(slug, before.challengers[1].id, 40)
    expect(findOutcome(await team.traffic(slug, toggle))).toBe('200')
    expect(findOutcome(await add(slug, order('4.0', 10.5, 'live')))).toBe(WRONG)
    expect(findOutcome(await add(slug, order('4.0', 10, 'live')))).toBe('200')
  })

  // A share that was given away in shadow mode must be there once it counts.
  test('a challenger that comes down from 100 percent gets its share of a live split', async () => {
    const { slug } = await contest(2, 3)
    await add(slug, order('2.0', 100))
    await add(slug, order('3.0', 100))
    await remove(slug, '2.0')
    const [{ id }] = (await team.deployment(slug)).challengers
    await team.resize(slug, id, 50)
    await team.shadow(slug, false)
    let served = 0
    for (let n = 0; n < 400; n++) {
      if ((await team.score(slug, {}, `subject ${n}`)).model_version === '3.0') served++
    }
    expect(Math.abs(served - 200)).toBeLessThan(6 * Math.sqrt(400 / 4))
  })

  test.each<[string, unknown]>([
    ['nothing in it', {}],
    ['a list', []],
    ['a number', 1],
    ['a text', 'x'],
    ['null', null],
    ['no version', { mode: 'live', traffic_pct: 5 }],
    ['a number for a version', { ...order('', 5), challenger_version: 2 }],
    ['no mode', { challenger_version: '2.0', traffic_pct: 5 }],
    ['another mode', order('2.0', 5, 'split')],
    ['a boolean for a mode', order('2.0', 5, true)],
    ['no percentage', { challenger_version: '2.0', mode: 'shadow' }],
    ...[0, 0.99, -1, 100.01, 1e308, '5', null, true].map((pct): [string, unknown] => [
      `${JSON.stringify(pct)} percent in shadow mode`,
      order('2.0', pct),
    ]),
    ...[0, 0.99, 50.01, 100].map((pct): [string, unknown] => [
      `${pct} percent in a live split`,
      order('2.0', pct, 'live'),
    ]),
    ['an unknown field', { ...order('2.0', 5), reason: 'x' }],
    ['the version of the champion', order('1.0', 5)],
  ])('a body with %s is 422 invalid_traffic_config and changes nothing', async (_, body) => {
    const { slug } = await contest(2)
    const before = await team.deployment(slug)
    expect(findOutcome(await add(slug, JSON.stringify(body)))).toBe(WRONG)
    expect(await team.deployment(slug)).toEqual(before)
  })

  test('a body that is no JSON is 400, an active challenger once more 422', async () => {
    const { slug } = await contest(2)
    expect(findOutcome(await add(slug, '{'))).toBe('400 invalid_request')
    expect(findOutcome(await add(slug, ''))).toBe('400 invalid_request')
    expect(findOutcome(await add(slug, order('2.0', 5)))).toBe('200')
    expect(findOutcome(await add(slug, order('2.0', 5)))).toBe(WRONG)
  })

  // docs/decisions.md 6.9: the champion's name, team and environment, and active.
  test('a version means the newest active model of the champion’s name, team and environment', async () => {
    const name = `Card ${newId('req_', 0)}`
    const of = (version: string, rest = {}) => numberedSpec(5, { name, version, ...rest })
    const { slug } = await team.deploy(of('champion'))
    await team.register(of('v'), 'staging')
    await team.register(of('v', { name: 'Another card' }))
    await teams.otherTeam.register(of('v'))
    const archived = await team.register(of('v'))
    await team.setStatus(archived, 'archived')
    const missing = formatRefusal(await add(slug, order('v', 5)))
    expect(missing).toMatchObject({ status: 404, error: 'model_not_found' })
    await team.register(of('v'))
    const newest = await team.register(of('v'))
    const { challenger } = expectSuccess(
      await add(slug, order('v', 5)),
      AddScorecardChallengerResult,
    )
    expect(challenger.model_id).toBe(newest)
  })

  test('unknown versions are 404 model_not_found, and versions that are not challengers 404 challenger_not_found', async () => {
    const { slug } = await contest(2, 3)
    await add(slug, order('2.0', 5))
    for (const version of ['9.9', '\0', '\u{1f984}', ' 2.0', '2', '%', "' or ''='"]) {
      expect(findOutcome(await remove(slug, version)), version).toBe('404 model_not_found')
      expect(findOutcome(await add(slug, order(version, 5)))).toBe('404 model_not_found')
    }
    for (const version of ['1.0', '3.0']) {
      expect(findOutcome(await remove(slug, version))).toBe('404 challenger_not_found')
    }
    await remove(slug, '2.0')
    expect(findOutcome(await remove(slug, '2.0'))).toBe('404 challenger_not_found')
  })

  test('a scorecard of another team answers 404 deployment_not_found', async () => {
    const theirs = await teams.otherTeam.deploy(numberedSpec(1))
    for (const id of [theirs.slug, newId('dep_', 0), 'x']) {
      for (const body of [order('1.0', 5), {}]) {
        expect(findOutcome(await add(id, body))).toBe('404 deployment_not_found')
      }
      expect(findOutcome(await remove(id, '1.0'))).toBe('404 deployment_not_found')
    }
  })
})
