import { sql } from 'drizzle-orm'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { formatRefusal } from '../../../support/expect/answers.ts'
import { type AuditRow, auditAtTheEnd } from '../../../support/expect/audit.ts'
import { backends } from '../../../support/start/databases.ts'
import { seeded } from '../../../support/start/seeded-database.ts'
import { TestService } from '../../../support/start/service.ts'
import { numberedSpec, steppingClock, Team, TwoTeams } from '../../../support/start/team.ts'

describe.each(backends)('the audit records of changes on $name', (backend) => {
  const teams = TwoTeams.forSuite(backend, { clock: steppingClock() })
  let records: AuditRow[]
  const ids: Record<string, string> = {}

  beforeAll(async () => {
    const { team } = teams
    const { slug, modelId } = await team.deploy(numberedSpec(1))
    Object.assign(ids, { slug, first: modelId })
    const { id, modelId: second } = await team.challenge(slug, numberedSpec(2), 10)
    Object.assign(ids, { id, second })
    await team.resize(slug, id, 20.5)
    await team.shadow(slug, true)
    const other = await team.challenge(slug, numberedSpec(3), 5)
    await team.remove(slug, other.id)
    await team.done('PATCH', `/v1/deployments/${slug}`, { name: 'Renamed', is_active: false })
    await team.done('PATCH', `/v1/deployments/${slug}`, { strict_mode: true })
    await team.promote(slug, id)
    await team.rollBack(slug, 'the "second" declines too many\n🦄')
    await team.setStatus(other.modelId, 'archived')
    await team.setStatus(other.modelId, 'active')
    Object.assign(ids, { other: other.id, third: other.modelId })
    // None of these changes anything.
    for (const [method, url, body] of [
      ['PATCH', `/v1/models/${modelId}`, { status: 'archived' }],
      ['PATCH', `/v1/deployments/${slug}`, {}],
      ['PATCH', `/v1/deployments/${slug}/traffic`, { action: 'toggle_shadow' }],
      ['POST', `/v1/deployments/${slug}/promote`, { challenger_id: id }],
      ['POST', `/v1/deployments/${slug}/rollback`, {}],
    ] as const) {
      formatRefusal(await team.call(method, url, body))
    }
    records = await auditAtTheEnd(teams.service)
  })

  const changes = () => records.filter(({ action }) => !/\.(deploy|create|sign_in)$/.test(action))

  // Without it nobody can say later why an applicant was declined, and by whose doing.
  test('each change has one record, in the order of the changes, and a refused one has none', () => {
    expect(changes().map(({ action, subject }) => [action, subject])).toEqual([
      ['deployment.add_challenger', ids['slug']],
      ['deployment.update_traffic', ids['slug']],
      ['deployment.toggle_shadow', ids['slug']],
      ['deployment.add_challenger', ids['slug']],
      ['deployment.remove_challenger', ids['slug']],
      ['deployment.update', ids['slug']],
      ['deployment.update', ids['slug']],
      ['deployment.promote', ids['slug']],
      ['deployment.rollback', ids['slug']],
      ['model.archive', ids['third']],
      ['model.restore', ids['third']],
    ])
    for (const { actor, teamId } of changes()) {
      expect([actor, teamId]).toEqual([teams.teamUsers.owner.userId, teams.teamUsers.owner.teamId])
    }
  })

  test('only the rollback has a reason, and it is the one that was given', () => {
    const reasons = changes().flatMap(({ action, reason }) =>
      reason === null ? [] : [[action, reason]],
    )
    expect(reasons).toEqual([['deployment.rollback', 'the "second" declines too many\n🦄']])
  })

  // What was and what is, both in full: a record that only says "changed" proves nothing.
  test('before and after differ, follow from each other, and name what was changed', () => {
    const ofSlug = changes().filter(({ subject }) => subject === ids['slug'])
    for (const [index, { before, after }] of ofSlug.entries()) {
      expect(before).not.toEqual(after)
      const next = ofSlug[index + 1]
      if (next !== undefined) expect(Object(after)).toMatchObject(Object(next.before))
    }
    const formatText = (action: string, of: 'before' | 'after', nth = 0) =>
      JSON.stringify(changes().filter((record) => record.action === action)[nth]?.[of])
    expect(formatText('deployment.add_challenger', 'before')).not.toContain(ids['id'])
    expect(formatText('deployment.add_challenger', 'after')).toContain(ids['id'])
    expect(formatText('deployment.update_traffic', 'before')).not.toContain('20.5')
    expect(formatText('deployment.update_traffic', 'after')).toContain('20.5')
    expect(formatText('deployment.toggle_shadow', 'before')).toContain('"shadow_mode":false')
    expect(formatText('deployment.toggle_shadow', 'after')).toContain('"shadow_mode":true')
    expect(formatText('deployment.remove_challenger', 'before')).toContain(ids['other'])
    expect(formatText('deployment.remove_challenger', 'after')).not.toContain(ids['other'])
    expect(formatText('deployment.update', 'before')).toContain('"is_active":true')
    expect(formatText('deployment.update', 'after')).toMatch(/Renamed.*"is_active":false/)
    expect(formatText('deployment.update', 'before', 1)).toContain('"strict_mode":false')
    expect(formatText('deployment.update', 'after', 1)).toContain('"strict_mode":true')
    expect(formatText('deployment.rollback', 'after')).toContain('"strict_mode":true')
    expect(formatText('deployment.promote', 'before')).toContain(ids['first'])
    expect(formatText('deployment.promote', 'after')).toContain(ids['second'])
    expect(formatText('model.archive', 'before')).toContain('"status":"active"')
    expect(formatText('model.archive', 'after')).toContain('"status":"archived"')
  })
})

// A change without its record, or a record without its change, would make the log worthless.
test.each(backends)('on $name a change whose record fails does not happen', async (backend) => {
  const refusing = seeded(backend, async (db) => {
    // What the test itself needs passes.
    await db.execute(sql`alter table audit_log add constraint refused check (
      action in ('session.sign_in', 'model.deploy', 'deployment.create', 'key.create',
        'deployment.add_challenger')
    )`)
  })
  const service = await TestService.start(refusing)
  onTestFinished(() => service.close())
  const team = await Team.of(service)
  const { slug } = await team.deploy(numberedSpec(1))
  const { id, modelId } = await team.challenge(slug, numberedSpec(2), 10)
  const before = await team.deployment(slug)
  for (const [method, url, body] of [
    ['PATCH', `/v1/deployments/${slug}`, { name: 'x', is_active: false }],
    ['PATCH', `/v1/deployments/${slug}/traffic`, { action: 'toggle_shadow', shadow_mode: true }],
    [
      'PATCH',
      `/v1/deployments/${slug}/traffic`,
      { action: 'remove_challenger', challenger_id: id },
    ],
    ['POST', `/v1/deployments/${slug}/promote`, { challenger_id: id }],
    ['PATCH', `/v1/models/${modelId}`, { status: 'archived' }],
  ] as const) {
    expect(formatRefusal(await team.call(method, url, body))).toMatchObject({ status: 500 })
    expect(await team.deployment(slug), `${method} ${url}`).toEqual(before)
    expect(await team.findStatus(modelId)).toBe('active')
    expect([1003, 2006], 'either side of the split').toContain((await team.score(slug, {})).score)
  }
})
