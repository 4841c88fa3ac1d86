import { beforeAll, describe, expect, test } from 'vitest'
import { newId } from '../../../../src/platform/ids.ts'
import { findOutcome, formatRefusal } from '../../../support/expect/answers.ts'
import { backends } from '../../../support/start/databases.ts'
import { type Entry, numberedSpec, TwoTeams } from '../../../support/start/team.ts'

const WRONG = '422 invalid_traffic_config'

describe.each(backends)('on $name', (backend) => {
  const teams = TwoTeams.forSuite(backend)
  const { team } = teams
  let slug: string
  let challenger: Entry
  /** What a body can name, by what it is. */
  let ids: Record<string, string>

  beforeAll(async () => {
    const deployed = await team.deploy(numberedSpec(1))
    slug = deployed.slug
    challenger = await team.challenge(slug, numberedSpec(2), 30)
    const removed = await team.challenge(slug, numberedSpec(3), 10)
    await team.remove(slug, removed.id)
    const archived = await team.register(numberedSpec(4))
    await team.setStatus(archived, 'archived')
    const elsewhere = await team.deploy(numberedSpec(5))
    const { otherTeam } = teams
    const theirs = await otherTeam.deploy(numberedSpec(6))
    ids = {
      free: await team.register(numberedSpec(7)),
      champion: deployed.modelId,
      challenging: challenger.modelId,
      archived,
      staging: await team.register(numberedSpec(8), 'staging'),
      entry: challenger.id,
      removed: removed.id,
      elsewhere: (await team.challenge(elsewhere.slug, numberedSpec(9), 10)).id,
      theirModel: await otherTeam.register(numberedSpec(1)),
      theirSlug: theirs.slug,
      theirEntry: (await otherTeam.challenge(theirs.slug, numberedSpec(2), 10)).id,
      unknownModel: newId('mod_', 0),
      unknownEntry: newId('ch_', 0),
    }
  })

  /** Sends a body in which `<name>` stands for an id. */
  const send = (body: unknown, to = slug) => {
    const text = JSON.stringify(body).replace(/<(\w+)>/g, (_, name: string) => ids[name] ?? '')
    return team.traffic(to, text)
  }
  const add = (rest: object) => ({
    action: 'add_challenger',
    model_id: '<free>',
    traffic_pct: 10,
    ...rest,
  })
  const resize = (rest: object) => ({
    action: 'update_traffic',
    challenger_id: '<entry>',
    traffic_pct: 10,
    ...rest,
  })
  const without = (body: object, name: string) =>
    Object.fromEntries(Object.entries(body).filter(([key]) => key !== name))

  const PERCENTAGES = [0, -1, 0.99, 50.01, 51, 100, 1e308, null, '10', true, [10], {}]
  const REFUSALS: Array<[what: string, body: unknown, outcome: string]> = [
    ['an empty object', {}, WRONG],
    ['null', null, WRONG],
    ['an empty list', [], WRONG],
    ['a list of orders', [add({})], WRONG],
    ['a number', 1, WRONG],
    ['a text', 'x', WRONG],
    ['a boolean', true, WRONG],
    ['no action', without(add({}), 'action'), WRONG],
    ...[null, 1, true, '', 'add', 'ADD_CHALLENGER', 'promote', 'toString', '__proto__', [], {}].map(
      (action): [string, unknown, string] => [
        `${JSON.stringify(action)} for an action`,
        add({ action }),
        WRONG,
      ],
    ),
    ['an unknown field', add({ reason: 'x' }), WRONG],
    ['add without a model', without(add({}), 'model_id'), WRONG],
    ['add without a percentage', without(add({}), 'traffic_pct'), WRONG],
    ['remove without an entry', { action: 'remove_challenger' }, WRONG],
    ['update without an entry', without(resize({}), 'challenger_id'), WRONG],
    ['update without a percentage', without(resize({}), 'traffic_pct'), WRONG],
    ['toggle without a mode', { action: 'toggle_shadow' }, WRONG],
    ...[null, 1, '', 'true', [], {}].map((mode): [string, unknown, string] => [
      `${JSON.stringify(mode)} for a shadow mode`,
      { action: 'toggle_shadow', shadow_mode: mode },
      WRONG,
    ]),
    ...[null, 1, true, [], {}].flatMap(
      (id): Array<[string, unknown, string]> => [
        [`${JSON.stringify(id)} for a model`, add({ model_id: id }), WRONG],
        [`${JSON.stringify(id)} for an entry to update`, resize({ challenger_id: id }), WRONG],
        [
          `${JSON.stringify(id)} for an entry to remove`,
          { action: 'remove_challenger', challenger_id: id },
          WRONG,
        ],
      ],
    ),
    ...PERCENTAGES.flatMap(
      (pct): Array<[string, unknown, string]> => [
        [`add with ${JSON.stringify(pct)} percent`, add({ traffic_pct: pct }), WRONG],
        [`update to ${JSON.stringify(pct)} percent`, resize({ traffic_pct: pct }), WRONG],
      ],
    ),
    ['add above 50 percent together', add({ traffic_pct: 20.01 }), WRONG],
    ['the champion', add({ model_id: '<champion>' }), WRONG],
    ['an active challenger once more', add({ model_id: '<challenging>' }), WRONG],
    ['an archived model', add({ model_id: '<archived>' }), WRONG],
    ['a model of the other environment', add({ model_id: '<staging>' }), WRONG],
    ['an unknown model', add({ model_id: '<unknownModel>' }), '404 model_not_found'],
    ['another team’s model', add({ model_id: '<theirModel>' }), '404 model_not_found'],
    ['an entry for a model', add({ model_id: '<entry>' }), '404 model_not_found'],
    ['an empty text for a model', add({ model_id: '' }), '404 model_not_found'],
    ['a NUL in a model', add({ model_id: '<free>\0' }), '404 model_not_found'],
    ['half a character in a model', add({ model_id: 'mod_\ud800' }), '404 model_not_found'],
    ...['unknownEntry', 'removed', 'elsewhere', 'theirEntry', 'challenging'].flatMap(
      (name): Array<[string, unknown, string]> => [
        [`update of ${name}`, resize({ challenger_id: `<${name}>` }), '404 challenger_not_found'],
        [
          `removal of ${name}`,
          { action: 'remove_challenger', challenger_id: `<${name}>` },
          '404 challenger_not_found',
        ],
      ],
    ),
    // docs/decisions.md 2.3: 404 before 422.
    [
      'an unknown model and a wrong percentage',
      add({ model_id: '<unknownModel>', traffic_pct: 99 }),
      '404 model_not_found',
    ],
    [
      'an unknown entry and a wrong percentage',
      resize({ challenger_id: '<unknownEntry>', traffic_pct: 0 }),
      '404 challenger_not_found',
    ],
  ]

  // A share that is half understood sends applicants to a model that nobody meant.
  test.each(REFUSALS)('%s is refused and changes nothing', async (_, body, outcome) => {
    const before = await team.deployment(slug)
    const response = await send(body)
    expect(findOutcome(response), response.body).toBe(outcome)
    expect(await team.deployment(slug)).toEqual(before)
  })

  // Texts that JavaScript could take for numbers, and JSON can't.
  test.each([
    '{',
    '',
    ' ',
    '{"traffic_pct":NaN}',
    '{"traffic_pct":Infinity}',
    '{"action":add_challenger}',
  ])('a body that is no JSON is 400 invalid_request: %j', async (text) => {
    expect(findOutcome(await team.traffic(slug, text))).toBe('400 invalid_request')
  })

  test('a number beyond all doubles is refused like any other wrong percentage', async () => {
    const text = `{"action":"update_traffic","challenger_id":"${challenger.id}","traffic_pct":1e999}`
    expect(findOutcome(await team.traffic(slug, text))).toMatch(
      /^(400 invalid_request|422 invalid_traffic_config)$/,
    )
  })

  test('an update counts the share that the entry has already', async () => {
    const own = await team.deploy(numberedSpec(1))
    const first = await team.challenge(own.slug, numberedSpec(2), 30)
    await team.challenge(own.slug, numberedSpec(3), 10)
    expect(
      findOutcome(
        await team.traffic(own.slug, resize({ challenger_id: first.id, traffic_pct: 40.01 })),
      ),
    ).toBe(WRONG)
    expect((await team.resize(own.slug, first.id, 40)).challenger.traffic_pct).toBe(40)
  })

  // docs/decisions.md 6.5: a challenger in shadow mode counts, so that going live can't surprise.
  test('in shadow mode, too, challengers have at most 50 percent together', async () => {
    const own = await team.deploy(numberedSpec(1))
    await team.shadow(own.slug, true)
    await team.challenge(own.slug, numberedSpec(2), 30)
    const modelId = await team.register(numberedSpec(3))
    const more = { action: 'add_challenger', model_id: modelId, traffic_pct: 20.5 }
    expect(findOutcome(await team.traffic(own.slug, more))).toBe(WRONG)
  })

  test('a refusal names each fault with its path', async () => {
    const faults: Array<[unknown, string]> = [
      [{}, 'action'],
      [add({ traffic_pct: 0 }), 'traffic_pct'],
      [add({ model_id: '<champion>' }), 'model_id'],
      [{ action: 'toggle_shadow' }, 'shadow_mode'],
      [{ action: 'remove_challenger' }, 'challenger_id'],
      [add({ traffic_pct: 20.01 }), 'traffic_pct'],
    ]
    for (const [body, path] of faults) {
      const { details } = formatRefusal(await send(body))
      expect(details?.map((detail) => detail.path)).toContain(path)
    }
  })

  test('a deployment that is unknown or of another team answers 404 to any body', async () => {
    for (const to of [newId('dep_', 0), ids['theirSlug'] ?? '', 'dep_', 'x']) {
      for (const body of [
        add({}),
        {},
        add({ model_id: '<unknownModel>' }),
        add({ traffic_pct: 0 }),
      ]) {
        expect(findOutcome(await send(body, to)), to).toBe('404 deployment_not_found')
      }
      expect(findOutcome(await team.traffic(to, '{'))).toBe('400 invalid_request')
    }
  })
})
