import { describe, expect, test } from 'vitest'
import { guard, memberToken } from '../../../support/start/changes.ts'
import { backends } from '../../../support/start/databases.ts'
import { TestService } from '../../../support/start/service.ts'
import { numberedSpec, Team } from '../../../support/start/team.ts'

interface Decided {
  readonly id: string
  readonly state: string
  readonly cache_version: number
  readonly applied_cache_version: number | null
  readonly requested_by: string
  readonly decided_by: string | null
}

const AT_ONCE = 50
const WAITING_MAX = 20

describe.each(backends)('on $name', (backend) => {
  const service = TestService.forSuite(backend)
  const team = Team.forSuite(service)

  // Two approvals that meet must not both change what decides on loans.
  test('of 50 requests and approvals at once nothing is applied twice, to another state or by its maker', async () => {
    const { slug } = await team.deploy(numberedSpec(1))
    const entry = await team.challenge(slug, numberedSpec(2), 5)
    await guard(service, team.owner, slug)
    const tokens = [
      ...[team.owner, await memberToken(service, team.owner)],
      await memberToken(service, team.owner, 'owner'),
    ]
    const first = (await team.deployment(slug)).cache_version
    const ask = (n: number) =>
      service.call({
        method: 'PATCH',
        url: `/v1/deployments/${slug}/traffic`,
        token: tokens[n % tokens.length] ?? '',
        body: { action: 'update_traffic', challenger_id: entry.id, traffic_pct: 6 + (n % 40) },
      })
    const seen = new Map<string, number>()
    for (let round = 0; round < 4; round++) {
      const asked = await Promise.all(Array.from({ length: AT_ONCE }, (_, n) => ask(n)))
      const ids = asked.filter(({ statusCode }) => statusCode === 202).map((a) => a.json().id)
      expect(asked.every(({ statusCode }) => [202, 409].includes(statusCode))).toBe(true)
      expect(ids.length).toBeLessThanOrEqual(WAITING_MAX)
      const approvals = ids.flatMap((id: string) =>
        tokens.map((token) => ({ id, url: `/v1/change-requests/${id}/approve`, token })),
      )
      const answers = await Promise.all([
        ...approvals.map(({ url, token }) => service.call({ url, token, body: {} })),
        // More requests meanwhile.
        ...Array.from({ length: AT_ONCE }, (_, n) => ask(n)),
      ])
      for (const [index, { statusCode }] of answers.slice(0, approvals.length).entries()) {
        const id = approvals[index]?.id ?? ''
        if (statusCode === 200) seen.set(id, (seen.get(id) ?? 0) + 1)
        else expect([403, 409, 422]).toContain(statusCode)
      }
      const { change_requests: waiting } = await team.done(
        'GET',
        `/v1/change-requests?deployment=${slug}&state=waiting`,
      )
      for (const { id } of waiting as Decided[]) {
        for (const token of tokens) {
          await service.call({ url: `/v1/change-requests/${id}/decline`, token, body: {} })
        }
      }
    }
    const list = await team.done('GET', `/v1/change-requests?deployment=${slug}`)
    const approved = (list.change_requests as Decided[]).filter((one) => one.state === 'approved')
    expect(approved.length).toBeGreaterThan(0)
    expect([...seen.values()].every((count) => count === 1)).toBe(true)
    expect(new Set(approved.map(({ id }) => id))).toEqual(new Set(seen.keys()))
    for (const one of approved) {
      expect(one.applied_cache_version).toBe(one.cache_version + 1)
      expect(one.decided_by).not.toBe(one.requested_by)
    }
    // Each state was left by one change, and each change is in the audit log once.
    expect(new Set(approved.map((one) => one.cache_version)).size).toBe(approved.length)
    expect((await team.deployment(slug)).cache_version).toBe(first + approved.length)
    const { records } = await team.done('GET', `/v1/audit-log?subject=${slug}`)
    const made = (records as { action: string; after: { change_request_id?: string } }[])
      .filter(({ action }) => action === 'deployment.update_traffic')
      .map(({ after }) => after.change_request_id)
    expect(made.toSorted()).toEqual(approved.map(({ id }) => id).toSorted())
  })
})
