import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Role } from '../../../../src/http/access/caller.ts'
import { findOutcome } from '../../../support/expect/answers.ts'
import { guard } from '../../../support/start/changes.ts'
import { backends } from '../../../support/start/databases.ts'
import { numberedSpec, steppingClock, type Team, TwoTeams } from '../../../support/start/team.ts'

const HOUR_MS = 3_600_000

describe.each(backends)('on $name', (backend) => {
  let teams: TwoTeams
  let team: Team
  let aheadMs = 0

  beforeAll(async () => {
    const stepping = steppingClock(Date.now() + 60_000)
    const clock = { ...stepping, epochMs: () => stepping.epochMs() + aheadMs }
    teams = await TwoTeams.start(backend, { clock, env: { CHANGE_REQUEST_HOURS: '2' } })
    team = teams.team
  })
  afterAll(() => teams.service.close())

  /** A call with any token; without a body, none is sent. */
  const as = (token: string, method: 'GET' | 'POST' | 'PATCH', url: string, body?: object) =>
    teams.service.call({ method, url, token, ...(body !== undefined && { body }) })
  const by = (role: Role, method: 'GET' | 'POST' | 'PATCH', url: string, body?: object) =>
    as(teams.readToken(role), method, url, body)
  const decide = (token: string, id: string, decision: 'approve' | 'decline', comment = 'seen') =>
    as(token, 'POST', `/v1/change-requests/${id}/${decision}`, { comment })

  /** A deployment with a previous champion and a challenger, which requires approval. */
  async function guarded() {
    const { slug } = await team.deploy(numberedSpec(1))
    await team.promote(slug, (await team.challenge(slug, numberedSpec(2), 5)).id)
    const entry = await team.challenge(slug, numberedSpec(3), 5)
    await guard(teams.service, team.owner, slug)
    const before = await team.deployment(slug)
    return { slug, entry, before }
  }

  // What nobody else has seen must not decide on loans.
  test('no change of models, traffic or activity is made before its approval', async () => {
    const { slug, entry, before } = await guarded()
    const model_id = await team.register(numberedSpec(4))
    const v1 = `/v1/deployments/${slug}`
    const guide = `/api/v1/scorecards/${slug}`
    const traffic = [
      { action: 'add_challenger', model_id, traffic_pct: 5 },
      { action: 'update_traffic', challenger_id: entry.id, traffic_pct: 7 },
      { action: 'remove_challenger', challenger_id: entry.id },
      { action: 'toggle_shadow', shadow_mode: true },
    ]
    const calls = [
      ...traffic.map((body) => ['PATCH', `${v1}/traffic`, body, body.action] as const),
      ['POST', `${v1}/promote`, { challenger_id: entry.id }, 'promote'] as const,
      ['POST', `${v1}/rollback`, { reason: 'x' }, 'rollback'] as const,
      ['PATCH', v1, { is_active: false }, 'update'] as const,
      ['PATCH', v1, { require_approval: false, name: 'Other' }, 'update'] as const,
      ['PATCH', v1, { emergency_rollback: false }, 'update'] as const,
      ['POST', `${guide}/promote`, { version: '3.0', reason: 'x' }, 'promote'] as const,
      ['POST', `${guide}/rollback`, {}, 'rollback'] as const,
      ['DELETE', `${guide}/challengers/3.0`, undefined, 'remove_challenger'] as const,
      [
        ...(['POST', `${guide}/challengers`] as const),
        ...([
          { challenger_version: '4.0', mode: 'live', traffic_pct: 5 },
          'add_challenger',
        ] as const),
      ] as const,
    ]
    for (const [method, url, body, action] of calls) {
      const answer = await team.call(method, url, body)
      expect(answer.statusCode, `${method} ${url} ${answer.body}`).toBe(202)
      const request = answer.json()
      expect(request).toMatchObject({
        action,
        state: 'waiting',
        deployment_id: slug,
        cache_version: before.cache_version,
      })
      const lifeMs = Date.parse(request.expires_at) - Date.parse(request.created_at)
      expect(lifeMs).toBe(2 * HOUR_MS)
    }
    expect(await team.deployment(slug)).toEqual(before)
  })

  test('a name, strict mode and the requirement itself need no approval to be set', async () => {
    const { slug } = await guarded()
    const body = { name: 'Other', strict_mode: true, require_approval: true }
    expect(await team.done('PATCH', `/v1/deployments/${slug}`, body)).toMatchObject(body)
  })

  test('an approved change is the change that was asked for', async () => {
    const { slug, entry, before } = await guarded()
    const url = `/v1/deployments/${slug}/promote`
    const { id, after } = await team.done('POST', url, {
      challenger_id: entry.id,
      reason: 'better',
    })
    const approved = await decide(teams.readToken('admin'), id, 'approve')
    expect(approved.json()).toMatchObject({
      state: 'approved',
      comment: 'seen',
      decided_by: teams.teamUsers.admin.userId,
      applied_cache_version: before.cache_version + 1,
    })
    const now = await team.deployment(slug)
    expect(now).toMatchObject({
      champion_model: { id: after.champion_model_id, version: '3.0' },
      challengers: [],
      cache_version: before.cache_version + 1,
    })
    const { records } = await team.done('GET', `/v1/audit-log?subject=${slug}&limit=3`)
    expect(records.map((one: { action: string }) => one.action)).toEqual([
      ...['deployment.promote', 'change_request.approve', 'change_request.create'],
    ])
    expect(records[0]).toMatchObject({ reason: 'better', after: { change_request_id: id } })
  })

  // A second pair of eyes that are the first ones see nothing new.
  describe('a request is never decided on by', () => {
    const ask = async (token: string, slug: string) => {
      const body = { reason: 'x' }
      return (await as(token, 'POST', `/v1/deployments/${slug}/rollback`, body)).json().id
    }
    const refused = async (token: string, id: string) => {
      for (const decision of ['approve', 'decline'] as const) {
        expect(findOutcome(await decide(token, id, decision))).toBe('403 own_change_request')
      }
    }

    test('who made it, in the same session or in another one', async () => {
      const { slug, before } = await guarded()
      const id = await ask(team.owner, slug)
      await refused(team.owner, id)
      await refused(await teams.service.signIn(), id)
      expect(await team.deployment(slug)).toEqual(before)
    })

    test('a service account, whoever made it', async () => {
      const { slug } = await guarded()
      const id = await ask(team.owner, slug)
      const order = { name: 'a pipeline', role: 'admin' }
      const { token } = await team.done('POST', '/v1/service-accounts', order)
      await refused(token, id)
    })

    test('whoever made or rotated the service account that asked', async () => {
      const { slug } = await guarded()
      const order = { name: 'a pipeline', role: 'admin' }
      const account = await team.done('POST', '/v1/service-accounts', order)
      const admin = teams.readToken('admin')
      const url = `/v1/service-accounts/${account.id}/rotate`
      const rotated = await as(admin, 'POST', url, { overlap_seconds: 60 })
      const isRotatedByAdmin = rotated.statusCode === 200
      const id = await ask(account.token, slug)
      await refused(team.owner, id)
      // Where an admin may rotate the account, its token was shown to them, too.
      if (isRotatedByAdmin) await refused(admin, id)
    })

    test('a member of another team, who does not see it', async () => {
      const { slug } = await guarded()
      const id = await ask(team.owner, slug)
      const { owner } = teams.otherTeam
      const missing = '404 change_request_not_found'
      expect(findOutcome(await decide(owner, id, 'approve'))).toBe(missing)
      expect(findOutcome(await as(owner, 'GET', `/v1/change-requests/${id}`))).toBe(missing)
      const listed = (await as(owner, 'GET', '/v1/change-requests')).json()
      expect(listed.change_requests).toEqual([])
    })
  })

  // An approval is of one state: what somebody saw and what is changed must be the same.
  test('a request for another state of the deployment is never applied', async () => {
    const { slug } = await guarded()
    const url = `/v1/deployments/${slug}/traffic`
    const ids: string[] = []
    for (const shadow_mode of [true, false]) {
      ids.push((await team.done('PATCH', url, { action: 'toggle_shadow', shadow_mode })).id)
    }
    const [first = '', second = ''] = ids
    const admin = teams.readToken('admin')
    expect((await decide(admin, first, 'approve')).statusCode).toBe(200)
    const applied = await team.deployment(slug)
    for (const decision of ['approve', 'approve', 'decline'] as const) {
      expect(findOutcome(await decide(admin, second, decision))).toBe('409 change_outdated')
    }
    expect(await team.deployment(slug)).toEqual(applied)
    const { state } = await team.done('GET', `/v1/change-requests/${second}`)
    expect(state).toBe('outdated')
  })

  test('a cut-off or an alarm that was changed since is never replaced unseen', async () => {
    const { slug } = await guarded()
    const url = `/v1/deployments/${slug}`
    const alarm = (is_on: boolean) => ({ watch: 0.1, act: 0.25, is_on })
    const orders = [
      ['PATCH', url, [{ cutoff: 501 }, { cutoff: 502 }]],
      ['PUT', `${url}/stability/alarm`, [alarm(true), alarm(false)]],
      ['PATCH', url, [{ emergency_rollback: false }, { emergency_rollback: false }]],
    ] as const
    const admin = teams.readToken('admin')
    for (const [method, path, [one, other]] of orders) {
      const first = (await team.done(method, path, one)).id
      const second = (await team.done(method, path, other)).id
      const unrelated = (await team.done('PATCH', url, { is_active: false })).id
      expect((await decide(admin, first, 'approve')).statusCode).toBe(200)
      const applied = await team.deployment(slug)
      for (const decision of ['approve', 'decline'] as const) {
        expect(findOutcome(await decide(admin, second, decision))).toBe('409 change_outdated')
      }
      expect(await team.deployment(slug)).toEqual(applied)
      expect((await decide(admin, unrelated, 'decline')).statusCode).toBe(200)
    }
  })

  test('a decision is final', async () => {
    const { slug, before } = await guarded()
    const { id } = await team.done('PATCH', `/v1/deployments/${slug}`, { is_active: false })
    const admin = teams.readToken('admin')
    expect((await decide(admin, id, 'decline', 'not now')).json()).toMatchObject({
      state: 'declined',
      comment: 'not now',
    })
    for (const decision of ['approve', 'decline'] as const) {
      expect(findOutcome(await decide(admin, id, decision))).toBe('409 change_request_closed')
    }
    expect(await team.deployment(slug)).toEqual(before)
  })

  test('a request expires, and is closed in the audit log once', async () => {
    const { slug, before } = await guarded()
    const { id } = await team.done('PATCH', `/v1/deployments/${slug}`, { is_active: false })
    aheadMs += 2 * HOUR_MS + 1_000
    const admin = teams.readToken('admin')
    expect(findOutcome(await decide(admin, id, 'approve'))).toBe('409 change_request_closed')
    const path = `/v1/change-requests?deployment=${slug}`
    const listed = async (state: string) =>
      (await team.done('GET', `${path}&state=${state}`)).change_requests
    expect(await listed('waiting')).toEqual([])
    expect(await listed('expired')).toMatchObject([{ id, state: 'expired' }])
    await Promise.all([1, 2].map(() => teams.service.services.approvals.expireDue()))
    const { records } = await team.done('GET', `/v1/audit-log?subject=${slug}`)
    const expired = records.filter(
      (record: { action: string }) => record.action === 'change_request.expire',
    )
    expect(expired).toMatchObject([{ actor: 'service', after: { change_request_id: id } }])
    expect(await team.deployment(slug)).toEqual(before)
  })

  describe('a rollback in an emergency', () => {
    const order = { reason: 'wrong scores', emergency: true }

    test('does not wait where the deployment allows it, and the audit log says so', async () => {
      const { slug, before } = await guarded()
      await team.done('POST', `/v1/deployments/${slug}/rollback`, order)
      const now = await team.deployment(slug)
      expect(now.champion_model.id).toBe(before.previous_champion_model?.id)
      const { records } = await team.done('GET', `/v1/audit-log?subject=${slug}&limit=1`)
      expect(records).toMatchObject([
        { action: 'deployment.rollback', reason: 'wrong scores', after: { emergency: true } },
      ])
    })

    // Else two clicks of one person bring back what two people took away, and take it away again.
    test.each(['/v1/deployments', '/api/v1/scorecards'])(
      'undoes the newest promotion once, and no rollback, by %s',
      async (root) => {
        const { slug, entry } = await guarded()
        const path = `${root}/${slug}/rollback`
        const promote = `/v1/deployments/${slug}/promote`
        const asked = await team.done('POST', promote, { challenger_id: entry.id })
        expect((await decide(teams.readToken('admin'), asked.id, 'approve')).statusCode).toBe(200)
        expect((await team.call('POST', path, order)).statusCode).toBe(200)
        const after = await team.deployment(slug)
        expect(after.champion_model.version).toBe('2.0')
        const again = await team.call('POST', path, order)
        expect(again.statusCode, again.body).toBe(202)
        expect(await team.deployment(slug)).toEqual(after)
        // Nor does an emergency go on where two people have rolled back.
        expect(
          (await decide(teams.readToken('admin'), again.json().id, 'approve')).statusCode,
        ).toBe(200)
        expect((await team.deployment(slug)).champion_model.version).toBe('3.0')
        expect((await team.call('POST', path, order)).statusCode).toBe(202)
      },
    )

    test('is named among what one person still does alone, while it is allowed', async () => {
      const { slug } = await team.deploy(numberedSpec(1))
      const path = `/v1/deployments/${slug}`
      expect(await team.deployment(slug)).not.toHaveProperty('possible_alone')
      const alone = ['name', 'strict_mode', 'development_sample']
      const on = await team.done('PATCH', path, { require_approval: true })
      expect(on.possible_alone).toEqual([...alone, 'emergency_rollback'])
      const { slug: other } = await team.deploy(numberedSpec(1))
      const settings = { require_approval: true, emergency_rollback: false }
      const strict = await team.done('PATCH', `/v1/deployments/${other}`, settings)
      expect(strict.possible_alone).toEqual(alone)
    })

    test('waits where the deployment does not allow it', async () => {
      const { slug } = await team.deploy(numberedSpec(1))
      await team.promote(slug, (await team.challenge(slug, numberedSpec(2), 5)).id)
      const settings = { require_approval: true, emergency_rollback: false }
      await team.done('PATCH', `/v1/deployments/${slug}`, settings)
      for (const path of [`/v1/deployments/${slug}`, `/api/v1/scorecards/${slug}`]) {
        expect((await team.call('POST', `${path}/rollback`, order)).statusCode).toBe(202)
      }
    })
  })

  // A change elsewhere must not reach into a deployment that needs approval.
  test('no model leaves a guarded deployment by being archived or replaced elsewhere', async () => {
    const { slug, entry, before } = await guarded()
    const archived = await team.call('PATCH', `/v1/models/${entry.modelId}`, { status: 'archived' })
    expect(findOutcome(archived)).toBe('409 approval_required')
    const elsewhere = await team.deploy(numberedSpec(5))
    const own = await team.add(elsewhere.slug, entry.modelId, 5)
    await team.promote(elsewhere.slug, own)
    await team.rollBack(elsewhere.slug)
    expect(await team.deployment(slug)).toEqual(before)
    expect(await team.findStatus(entry.modelId)).toBe('active')
  })

  test('a promotion keeps its reason in the audit log', async () => {
    const { slug } = await team.deploy(numberedSpec(1))
    const { id } = await team.challenge(slug, numberedSpec(2), 5)
    const order = { challenger_id: id, reason: 'a better card' }
    await team.done('POST', `/v1/deployments/${slug}/promote`, order)
    const { records } = await team.done('GET', `/v1/audit-log?subject=${slug}&limit=1`)
    expect(records).toMatchObject([{ action: 'deployment.promote', reason: 'a better card' }])
  })

  test('every member sees what waits', async () => {
    const { slug } = await guarded()
    const { id } = await team.done('PATCH', `/v1/deployments/${slug}`, { is_active: false })
    const path = `/v1/change-requests?deployment=${slug}&state=waiting`
    const listed = (await by('viewer', 'GET', path)).json()
    expect(listed.change_requests).toMatchObject([{ id }])
  })
})
