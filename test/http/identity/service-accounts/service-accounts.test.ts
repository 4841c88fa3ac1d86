import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { IssuedServiceAccount, ServiceAccountList } from '../../../../schemas/service-accounts.ts'
import { expectSuccess, findOutcome, formatRefusal } from '../../../support/expect/answers.ts'
import { backends } from '../../../support/start/databases.ts'
import { ManualClock } from '../../../support/start/manual-clock.ts'
import { TestService } from '../../../support/start/service.ts'
import { numberedSpec, Team } from '../../../support/start/team.ts'

const DAY_MS = 86_400_000
const URL = '/v1/service-accounts'

describe.each(backends)('service accounts on $name', (backend) => {
  let service: TestService
  let team: Team
  let clock: ManualClock

  beforeEach(async () => {
    clock = new ManualClock(Date.now())
    service = await TestService.start(backend, { clock })
    onTestFinished(() => service.close())
    team = await Team.of(service)
  })

  const make = (order: object = {}) =>
    team.done('POST', URL, { name: 'pipeline', role: 'admin', ...order })
  const membersBy = async (token: string) =>
    findOutcome(await service.call({ method: 'GET', url: '/v1/members', token }))

  // A pipeline must not need a person's password, and the log must say that it was the pipeline.
  test('a token does what its role may, and the audit log names the account', async () => {
    const account = expectSuccess(
      await team.call('POST', URL, { name: 'pipeline', role: 'lead_modeler' }),
      IssuedServiceAccount,
      201,
    )
    expect(account.token).toMatch(/^sa_[0-9A-Za-z]{38}$/)
    expect(account.prefix).toBe(account.token.slice(0, 12))
    const body = { spec: numberedSpec(1), environment: 'staging', auto_deploy: true }
    const { token } = account
    const deployed = await service.call({ url: '/v1/models/deploy', token, body })
    expect(findOutcome(deployed)).toBe('200')
    expect(await membersBy(token)).toBe('403 insufficient_role')
    const { model_id } = deployed.json()
    const { records } = await team.done('GET', `/v1/audit-log?subject=${model_id}`)
    expect(records[0]).toMatchObject({ actor: account.id, action: 'model.deploy' })
    const { service_accounts: listed } = expectSuccess(
      await team.call('GET', URL),
      ServiceAccountList,
    )
    expect(listed).toMatchObject([{ id: account.id, role: 'lead_modeler' }])
    expect(JSON.stringify(listed)).not.toContain(token)
  })

  // One person who holds its token could else make the second person who approves.
  test('an account with the role admin reads members, and changes neither them nor accounts', async () => {
    const { token } = await make()
    const member = { email: 'new@lender.example', password: 'a long password', role: 'viewer' }
    const post = async (url: string, body: object) =>
      findOutcome(await service.call({ url, token, body }))
    expect(await membersBy(token)).toBe('200')
    expect(await post('/v1/members', member)).toBe('403 insufficient_role')
    expect(await post(URL, { name: 'next', role: 'lead_modeler' })).toBe('403 insufficient_role')
  })

  test('an admin can neither rotate nor revoke an account of their own rank', async () => {
    const [first, second] = [await make(), await make()]
    for (const [method, end] of [
      ['POST', '/rotate'],
      ['DELETE', ''],
    ] as const) {
      const url = `${URL}/${second.id}${end}`
      const body = method === 'POST' ? { body: {} } : {}
      const answer = await service.call({ method, url, token: first.token, ...body })
      expect(findOutcome(answer)).toBe('403 insufficient_role')
    }
    expect(await membersBy(second.token)).toBe('200')
  })

  test('a token ends at its expiry, also while it is cached', async () => {
    const end = new Date(clock.epochMs() + DAY_MS).toISOString()
    const { token, expires_at } = await make({ expires_at: end })
    expect(expires_at).toBe(end)
    expect(await membersBy(token)).toBe('200')
    clock.advance(DAY_MS - 1)
    expect(await membersBy(token)).toBe('200')
    clock.advance(1)
    expect(await membersBy(token)).toBe('401 unauthorized')
  })

  test.each([-1, 0, 366 * DAY_MS + 1])('an end %i ms from now is refused', async (fromNow) => {
    const expires_at = new Date(clock.epochMs() + fromNow).toISOString()
    const answer = await team.call('POST', URL, { name: 'p', role: 'viewer', expires_at })
    expect(formatRefusal(answer)).toMatchObject({ status: 400, details: [{ path: 'expires_at' }] })
  })

  test('after a rotation the old token works for the overlap, and not longer', async () => {
    const { id, token } = await make()
    const rotated = await team.done('POST', `${URL}/${id}/rotate`, { overlap_seconds: 60 })
    expect(rotated.id).toBe(id)
    expect(Date.parse(rotated.previous_valid_until)).toBe(clock.epochMs() + 60_000)
    expect([await membersBy(token), await membersBy(rotated.token)]).toEqual(['200', '200'])
    clock.advance(60_000)
    expect(await membersBy(token)).toBe('401 unauthorized')
    expect(await membersBy(rotated.token)).toBe('200')
  })

  test('a rotation does not revive an expired token, nor lengthen its life', async () => {
    const isoAt = (fromNow: number) => new Date(clock.epochMs() + fromNow).toISOString()
    const order = () => ({ overlap_seconds: 7200, expires_at: isoAt(DAY_MS) })
    const end = isoAt(3_600_000)
    const [ending, ended] = [await make({ expires_at: end }), await make({ expires_at: end })]
    const next = await team.done('POST', `${URL}/${ending.id}/rotate`, order())
    expect(next.previous_valid_until).toBe(end)
    clock.advance(3_600_000)
    const later = await team.done('POST', `${URL}/${ended.id}/rotate`, order())
    expect(later).not.toHaveProperty('previous_valid_until')
    expect([await membersBy(ending.token), await membersBy(ended.token)]).toEqual(
      Array(2).fill('401 unauthorized'),
    )
    expect([await membersBy(next.token), await membersBy(later.token)]).toEqual(['200', '200'])
  })

  // Its new token would be of no use, and nobody would see why.
  test('an account or a key that has expired is rotated only with a new end', async () => {
    const end = new Date(clock.epochMs() + DAY_MS).toISOString()
    const account = await make({ expires_at: end })
    const key = await team.done('POST', '/v1/keys', { name: 'k', expires_at: end })
    clock.advance(DAY_MS)
    for (const url of [`${URL}/${account.id}`, `/v1/keys/${key.id}`]) {
      const refused = formatRefusal(
        await team.call('POST', `${url}/rotate`, { overlap_seconds: 60 }),
      )
      expect(refused).toMatchObject({
        status: 400,
        error: 'invalid_request',
        message: expect.stringContaining(`expires_at is required`),
        details: [{ path: 'expires_at', message: expect.stringContaining(end) }],
      })
      const expires_at = new Date(clock.epochMs() + DAY_MS).toISOString()
      const rotated = await team.done('POST', `${url}/rotate`, { expires_at })
      expect(rotated.expires_at).toBe(expires_at)
    }
    const { records } = await team.done('GET', `/v1/audit-log?subject=${key.id}`)
    const actions = records.map(({ action }: { action: string }) => action)
    expect(actions).toEqual(['key.rotate', 'key.create'])
  })

  test('a second rotation ends the first token at once, and a revocation ends all', async () => {
    const { id, token: first } = await make()
    const second = (await team.done('POST', `${URL}/${id}/rotate`, { overlap_seconds: 600 })).token
    expect(await membersBy(first)).toBe('200')
    const third = (await team.done('POST', `${URL}/${id}/rotate`, { overlap_seconds: 600 })).token
    expect(await membersBy(first)).toBe('401 unauthorized')
    expect([await membersBy(second), await membersBy(third)]).toEqual(['200', '200'])
    expect((await team.call('DELETE', `${URL}/${id}`)).statusCode).toBe(204)
    expect([await membersBy(second), await membersBy(third)]).toEqual(
      Array(2).fill('401 unauthorized'),
    )
  })
})
