import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { findOutcome, formatRefusal } from '../../../support/expect/answers.ts'
import { backends } from '../../../support/start/databases.ts'
import { ManualClock } from '../../../support/start/manual-clock.ts'
import { TestService } from '../../../support/start/service.ts'
import { numberedSpec, Team } from '../../../support/start/team.ts'

const HOUR_MS = 3_600_000

describe.each(backends)('the life of a key on $name', (backend) => {
  let service: TestService
  let team: Team
  let clock: ManualClock
  let slug: string

  beforeEach(async () => {
    clock = new ManualClock(Date.now())
    service = await TestService.start(backend, { clock })
    onTestFinished(() => service.close())
    team = await Team.of(service)
    slug = (await team.deploy(numberedSpec(1))).slug
  })

  const score = async (token: string, remoteAddress = '127.0.0.1') => {
    const url = `/v1/score/${slug}`
    return findOutcome(await service.call({ url, token, body: { income: 1 }, remoteAddress }))
  }
  const make = (order: object) => team.done('POST', '/v1/keys', { name: 'k', ...order })

  // A leaked key must be replaced without an hour of refused loans.
  test('after a rotation both secrets score for the overlap, then only the new one', async () => {
    const { id, key } = await make({ environment: 'staging' })
    const url = `/v1/keys/${id}/rotate`
    const rotated = await team.done('POST', url, { overlap_seconds: 3600 })
    expect(rotated).toMatchObject({ id, environment: 'staging' })
    expect(rotated.key).toMatch(/^sk_test_/)
    const live = await make({})
    const next = await team.done('POST', `/v1/keys/${live.id}/rotate`, { overlap_seconds: 3600 })
    expect([await score(live.key), await score(next.key)]).toEqual(['200', '200'])
    clock.advance(HOUR_MS)
    expect([await score(live.key), await score(next.key)]).toEqual(['401 invalid_api_key', '200'])
    expect(await score(key)).toBe('401 invalid_api_key')
  })

  // Who forgets the overlap must not stop loan origination.
  test('without a word on the overlap the old secret lasts an hour', async () => {
    const { id, key } = await make({})
    expect(await score(key)).toBe('200')
    const rotated = await team.done('POST', `/v1/keys/${id}/rotate`, {})
    expect(Date.parse(rotated.previous_valid_until)).toBe(clock.epochMs() + HOUR_MS)
    expect([await score(key), await score(rotated.key)]).toEqual(['200', '200'])
    clock.advance(HOUR_MS)
    expect([await score(key), await score(rotated.key)]).toEqual(['401 invalid_api_key', '200'])
  })

  test('with an overlap of 0 the old secret ends at once', async () => {
    const { id, key } = await make({})
    expect(await score(key)).toBe('200')
    const rotated = await team.done('POST', `/v1/keys/${id}/rotate`, { overlap_seconds: 0 })
    expect(rotated).not.toHaveProperty('previous_valid_until')
    expect([await score(key), await score(rotated.key)]).toEqual(['401 invalid_api_key', '200'])
    const { records } = await team.done('GET', `/v1/audit-log?subject=${id}`)
    expect(records[0]).toMatchObject({ action: 'key.rotate', after: { overlap_seconds: 0 } })
    expect(JSON.stringify(records)).not.toContain(rotated.key)
  })

  test('a key ends at its expiry, also while it is cached, and the list shows its maker', async () => {
    const expires_at = new Date(clock.epochMs() + HOUR_MS).toISOString()
    const { id, key, created_by } = await make({ expires_at })
    expect(created_by).toMatch(/^usr_/)
    expect(await score(key)).toBe('200')
    clock.advance(HOUR_MS - 1)
    expect(await score(key)).toBe('200')
    clock.advance(1)
    expect(await score(key)).toBe('401 invalid_api_key')
    const { keys } = await team.done('GET', '/v1/keys')
    expect(keys).toContainEqual(expect.objectContaining({ id, expires_at, created_by }))
  })

  // An operator who forgets that a leaked key has ended must not open it again.
  test('a rotation does not revive an expired secret, nor lengthen its life', async () => {
    const isoAt = (fromNow: number) => new Date(clock.epochMs() + fromNow).toISOString()
    const order = () => ({ overlap_seconds: 2 * 3600, expires_at: isoAt(24 * HOUR_MS) })
    const end = { expires_at: isoAt(HOUR_MS) }
    const [ending, ended] = [await make(end), await make(end)]
    const next = await team.done('POST', `/v1/keys/${ending.id}/rotate`, order())
    expect(next.previous_valid_until).toBe(ending.expires_at)
    expect(await score(ending.key)).toBe('200')
    clock.advance(HOUR_MS)
    expect([await score(ending.key), await score(next.key)]).toEqual(['401 invalid_api_key', '200'])
    const revived = await team.done('POST', `/v1/keys/${ended.id}/rotate`, order())
    expect(revived).not.toHaveProperty('previous_valid_until')
    expect(await score(revived.key)).toBe('200')
    expect(await score(ended.key)).toBe('401 invalid_api_key')
  })

  test('a key with allowed addresses scores from them alone, and says why', async () => {
    const { key } = await make({ allowed_addresses: ['192.0.2.0/24', '2001:db8::/32'] })
    for (const inside of ['192.0.2.9', '2001:db8:1::5', '::ffff:192.0.2.9', '192.0.2.9']) {
      expect(await score(key, inside), inside).toBe('200')
    }
    for (const outside of ['192.0.3.9', '2001:db9::1', '127.0.0.1']) {
      expect(await score(key, outside), outside).toBe('401 invalid_api_key')
    }
    const call = { url: `/v1/score/${slug}`, token: key, body: {}, remoteAddress: '192.0.3.9' }
    expect(formatRefusal(await service.call(call)).message).toContain('allowed_addresses')
  })

  test.each(['0.0.0.0/0', '192.0.2.0/33', 'lender.example', '192.0.2', ''])(
    'the range %j is refused by its place',
    async (range) => {
      const order = { name: 'k', allowed_addresses: ['192.0.2.1', range] }
      expect(formatRefusal(await team.call('POST', '/v1/keys', order))).toMatchObject({
        status: 400,
        details: [{ path: 'allowed_addresses[1]' }],
      })
    },
  )
})
