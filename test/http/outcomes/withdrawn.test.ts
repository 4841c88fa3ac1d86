import { setTimeout as delay } from 'node:timers/promises'
import { beforeAll, describe, expect, test } from 'vitest'
import { statsWith } from '../../support/expect/stats.ts'
import { backends } from '../../support/start/databases.ts'
import { numberedSpec, TwoTeams } from '../../support/start/team.ts'

const DAY_MS = 86_400_000
const DEFINITION = {
  label: 'Bad within 12 months',
  window_months: 12,
  bad_rule_text: '90 days past due',
  maturity_months: 6,
}
const textAt = (ms: number) => new Date(ms).toISOString()

describe.each(backends)('on $name', (backend) => {
  const teams = TwoTeams.forSuite(backend)
  const { team } = teams

  beforeAll(async () => {
    await team.done('PUT', '/v1/outcome-definitions/gb12', DEFINITION)
  })

  const send = async (...outcomes: object[]) => {
    const { results } = await team.done('POST', '/v1/outcomes', { outcomes })
    return results.map(({ status }: { status: string }) => status)
  }
  const observed = (target: object, rest: object) => ({
    ...target,
    kind: 'performance',
    definition: 'gb12',
    outcome: 'good',
    as_of: '2026-01-31',
    ...rest,
  })
  const scored = async (slug: string, reference: string) => {
    const headers = { 'x-reference-id': reference }
    const body = { income: 1 }
    const answer = await teams.service.call({
      url: `/v1/score/${slug}`,
      token: team.key,
      body,
      headers,
    })
    return answer.json().request_id as string
  }
  const counted = async (slug: string, query = '') => {
    const path = `/v1/deployments/${slug}/performance?definition=gb12${query}`
    const { good, bad } = await team.done('GET', path)
    return { good, bad }
  }

  test('an observation of the future is refused, and one of tomorrow is not', async () => {
    const { slug } = await team.deploy(numberedSpec(1))
    const request_id = await scored(slug, 'F-1')
    const at = (ms: number, rest: object = {}) =>
      observed({ request_id }, { as_of: textAt(Date.now() + ms), ...rest })
    expect(await send(at(2 * DAY_MS), observed({ request_id }, { as_of: '2099-01-01' }))).toEqual([
      'invalid',
      'invalid',
    ])
    const decision = { request_id, kind: 'decision', decision: 'approved' }
    expect(await send({ ...decision, decided_at: '2099-01-01' })).toEqual(['invalid'])
    expect(await send(at(DAY_MS - 60_000))).toEqual(['accepted'])
    const { results } = await team.done('POST', '/v1/outcomes', { outcomes: [at(9 * DAY_MS)] })
    expect(results[0].message).toContain('as_of must not be in the future')
  })

  test('an event after the end of the observation is refused, one of its last day is not', async () => {
    const { slug } = await team.deploy(numberedSpec(1))
    const request_id = await scored(slug, 'E-1')
    const event = (event_date: string, as_of = '2026-01-31') =>
      observed({ request_id }, { outcome: 'bad', event_date, as_of })
    expect(
      await send(
        event('2026-02-01'),
        event('2026-01-31T00:00:01Z', '2026-01-31T00:00:00Z'),
        event('2026-01-31T23:59:59Z'),
      ),
    ).toEqual(['invalid', 'invalid', 'accepted'])
  })

  test('a withdrawn outcome counts no more, the one before it does, and the past stays', async () => {
    const { slug } = await team.deploy(numberedSpec(1))
    const request_id = await scored(slug, 'W-1')
    const target = { request_id }
    await send(observed(target, {}), observed(target, { outcome: 'bad', as_of: '2026-02-28' }))
    expect(await counted(slug)).toEqual({ good: 0, bad: 1 })
    await delay(5)
    const before = new Date().toISOString()
    await delay(5)
    const withdrawal = { outcome: 'withdrawn', as_of: '2026-02-28' }
    expect(await send(observed(target, withdrawal))).toEqual(['invalid'])
    const reasoned = observed(target, { ...withdrawal, reason: 'the account of another person' })
    expect(await send(reasoned)).toEqual(['revised'])
    expect(await send(reasoned)).toEqual(['unchanged'])
    expect(await counted(slug)).toEqual({ good: 1, bad: 0 })
    expect(await counted(slug, `&as_known_at=${before}`)).toEqual({ good: 0, bad: 1 })
    // Said again, it counts again.
    expect(await send(observed(target, { outcome: 'bad', as_of: '2026-02-28' }))).toEqual([
      'revised',
    ])
    expect(await counted(slug)).toEqual({ good: 0, bad: 1 })
  })

  test('an outcome is withdrawn for its applicant, also one that was scored again since', async () => {
    const { slug } = await team.deploy(numberedSpec(1))
    await scored(slug, 'R-1')
    const target = { deployment: slug, reference: 'R-1' }
    await expect.poll(() => send(observed(target, {}))).not.toEqual(['unmatched'])
    expect(await counted(slug)).toEqual({ good: 1, bad: 0 })
    await scored(slug, 'R-1')
    await statsWith(teams.service, team.owner, slug, 2)
    const withdrawal = observed(target, { outcome: 'withdrawn', reason: 'a wrong file' })
    expect(await send(withdrawal)).toEqual(['revised'])
    expect(await counted(slug)).toEqual({ good: 0, bad: 0 })
  })

  test('a file refuses the future and withdraws as a request does', async () => {
    const { slug } = await team.deploy(numberedSpec(1))
    const request_id = await scored(slug, 'I-1')
    expect(await send(observed({ request_id }, {}))).toEqual(['accepted'])
    const lines = [
      'request_id,kind,definition,outcome,as_of,event_date,reason',
      `${request_id},performance,gb12,bad,2099-01-01,,`,
      `${request_id},performance,gb12,bad,2026-01-31,2026-03-01,`,
      `${request_id},performance,gb12,withdrawn,2026-01-31,,typing error`,
    ]
    const started = await teams.service.call({
      url: '/v1/outcomes/imports',
      token: team.owner,
      headers: { 'content-type': 'text/csv' },
      body: lines.join('\n'),
    })
    const { id } = started.json()
    await expect
      .poll(async () => (await team.done('GET', `/v1/outcomes/imports/${id}`)).status)
      .toBe('done')
    const { counts } = await team.done('GET', `/v1/outcomes/imports/${id}`)
    expect(counts).toMatchObject({ invalid: 2, revised: 1 })
    expect(await counted(slug)).toEqual({ good: 0, bad: 0 })
  })
})
