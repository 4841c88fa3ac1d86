import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { card, plainFeature } from '../../../support/cards/cards.ts'
import { backends } from '../../../support/start/databases.ts'
import { TestService } from '../../../support/start/service.ts'
import { Team } from '../../../support/start/team.ts'

const SPEC = card([plainFeature('income')])
const ORDER = { spec: SPEC, environment: 'staging', auto_deploy: true }

describe.each(backends)('on $name', (backend) => {
  const service = TestService.forSuite(backend)
  const team = Team.forSuite(service)

  // The last of two values was deployed without a word, and scored 24 points off.
  test.each([
    ['/v1/models/deploy', ORDER],
    ['/v1/backtests', { spec: SPEC, deployment: 'dep_x', source: {} }],
  ])('a card that gives a name twice is refused by POST %s, with the path', async (url, order) => {
    const text = JSON.stringify(order).replace('"points":', '"points":-12,"points":')
    const refused = await team.call('POST', url, text)
    expect(refused.statusCode).toBe(400)
    expect(refused.json()).toMatchObject({
      error: 'invalid_request',
      details: [{ path: 'spec.features[0].bins[0].points', message: 'is there twice' }],
    })
  })

  test('a card as JSON that gives a name twice is a fault of its import, with the path', async () => {
    const table = '{"x":{"[-inf ~ 2)":1,"[2 ~ inf)":2,"[2 ~ inf)":3}}'
    const scaling = { pdo: 60, base_score: 750, odds: 35, odds_direction: 'good:bad' }
    const body = { card: table, name: 'Card', tool: 'toad', scaling }
    const { faults, spec } = await team.done('POST', '/v1/models/import', body)
    expect(spec).toBe(null)
    expect(JSON.stringify(faults)).toContain('x.[2 ~ inf) is there twice')
  })

  // Who keeps a card's file for two years must be able to tell that it is the one that scored.
  test('the hash of a spec is the same in the deploy, the model, its copy, the audit log and the export', async () => {
    const { model_id: id, spec_sha256: hash } = await team.done('POST', '/v1/models/deploy', ORDER)
    const exported = await team.call('GET', `/v1/models/${id}/export?format=spec`)
    expect(createHash('sha256').update(exported.body).digest('hex')).toBe(hash)
    expect(await team.done('GET', `/v1/models/${id}`)).toMatchObject({ spec_sha256: hash })
    const copied = await team.call('POST', `/v1/models/${id}/copies`, { environment: 'production' })
    expect(copied.json().spec_sha256).toBe(hash)
    const { records } = await team.done('GET', '/v1/audit-log?limit=5')
    const hashes = records.flatMap(({ after }: { after: Record<string, unknown> | null }) =>
      after?.['spec_sha256'] === undefined ? [] : [after['spec_sha256']],
    )
    expect(hashes).toEqual([hash, hash])
  })
})
