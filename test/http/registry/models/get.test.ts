import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { Model } from '../../../../schemas/models.ts'
import { newId } from '../../../../src/platform/ids.ts'
import { card, categorical, plainFeature } from '../../../support/cards/cards.ts'
import { formatJson, formatRefusal } from '../../../support/expect/answers.ts'
import { backends } from '../../../support/start/databases.ts'
import { numberedSpec, steppingClock, TwoTeams } from '../../../support/start/team.ts'

/** Properties in an order of their own, beside and inside what the service knows. */
const extras = {
  zeta: [1e300, -0.1, 5e-324, null, true, { b: 1, a: [[]] }],
  alpha: '"quotes" \\ </script> \u2028 \u0000 \ud800 🦄 é e\u0301',
  '': 'an empty name',
  'a.b[0]': 0,
  toString: 'no function',
  constructor: { prototype: 1 },
}
const odd = {
  ...extras,
  ...card([plainFeature('10'), plainFeature('2'), categorical('"\n\\🦄', [['x%,%y', 4]])], {
    name: 'Card "quoted" \\ 🦄',
    version: '1.0-"β"',
    spec_version: '1.7',
  }),
}
const SPECS: Record<string, object> = {
  'a plain spec': numberedSpec(1),
  'a spec with properties that the service does not know': { ...numberedSpec(1), ...extras },
  'a spec with names that must be escaped, and names that look like numbers': odd,
  'a spec with unknown properties in its features, bins, scaling and grades': {
    ...numberedSpec(1),
    features: [
      {
        name: 'income',
        type: 'numeric',
        iv: 0.21,
        bins: [{ share: 0.5, range: ' [ -Infinity,1e0 ] ', points: -0, note: null }],
        woe_values: { '9': 1, '10': 2, a: -0.5 },
      },
    ],
    scaling: { pdo: -20, base_odds: 0.5, base_score: 600, rounding: 'none' },
    risk_grades: [{ min_score: null, max_score: 1e308, grade: 'A', color: '#fff' }],
  },
}

describe.each(backends)('on $name', (backend) => {
  const teams = TwoTeams.forSuite(backend, { clock: steppingClock() })
  const { team } = teams

  // The desktop application reads its own export back: a property lost here is lost for good.
  test.each(Object.entries(SPECS))('%s comes back as it was sent', async (_, spec) => {
    const id = await team.register(spec, 'staging')
    const response = await team.call('GET', `/v1/models/${id}`)
    const body = formatJson(response)
    expect(JSON.stringify(body.spec)).toBe(JSON.stringify(spec))
    // The text itself, which a reader that keeps the order of all names would see.
    if (spec !== odd) expect(response.body).toContain(`"spec":${JSON.stringify(spec)}`)
  })

  test('the answer has the fields of the list and the spec, and no updated_at', async () => {
    const spec = { ...odd, description: 'of the spec, not of the model' }
    const order = { spec, environment: 'staging', auto_deploy: false, description: 'a "first" try' }
    const { model_id: id } = await team.done('POST', '/v1/models/deploy', order)
    const [listed] = (await team.done('GET', '/v1/models?limit=1')).models
    const got = await team.done('GET', `/v1/models/${id}`)
    expect(got).toEqual({
      ...listed,
      spec_sha256: createHash('sha256').update(JSON.stringify(spec)).digest('hex'),
      spec: JSON.parse(JSON.stringify(spec)),
    })
    expect(got).toMatchObject({
      id,
      name: odd.name,
      version: odd.version,
      spec_version: '1.7',
      status: 'active',
      environment: 'staging',
      description: 'a "first" try',
      deployed_by: teams.teamUsers.owner.userId,
    })
    const { parity: _, ...always } = Model.properties
    expect(Object.keys(got).sort()).toEqual(Object.keys(always).sort())
  })

  // The response shows what was deployed, without later updates.
  test('an archived model is answered with its status, still without updated_at', async () => {
    const id = await team.register(numberedSpec(1))
    const before = await team.done('GET', `/v1/models/${id}`)
    await team.setStatus(id, 'archived')
    expect(await team.done('GET', `/v1/models/${id}`)).toEqual({ ...before, status: 'archived' })
  })

  test('an id without a model of the team answers 404 model_not_found', async () => {
    const { slug, modelId } = await team.deploy(numberedSpec(1))
    for (const id of [
      newId('mod_', 0),
      await teams.otherTeam.register(numberedSpec(1)),
      slug,
      teams.teamUsers.owner.userId,
      modelId.toUpperCase(),
      `${modelId}0`,
      modelId.slice(0, -1),
      `${modelId}%00`,
      `${modelId}%20`,
      `${modelId.slice(0, -1)}_`,
      `${modelId.slice(0, -1)}%25`,
      'mod_',
      'deploy',
      "mod_'%20or%20''='",
      'mod_%F0%9F%A6%84',
    ]) {
      expect(formatRefusal(await team.call('GET', `/v1/models/${id}`)), id).toEqual({
        status: 404,
        error: 'model_not_found',
        message: expect.any(String),
      })
    }
  })
})
