import { setTimeout as delay } from 'node:timers/promises'
import { beforeAll, describe, expect, test } from 'vitest'
import { sampleApplicants, sampleSpec } from '../../support/cards/cards.ts'
import { findOutcome } from '../../support/expect/answers.ts'
import { statsWith } from '../../support/expect/stats.ts'
import { backends } from '../../support/start/databases.ts'
import { numberedSpec, TwoTeams } from '../../support/start/team.ts'

const DEFINITION = {
  label: 'Bad within 12 months',
  window_months: 12,
  bad_rule_text: '90 days past due',
  maturity_months: 6,
}

describe.each(backends)('on $name', (backend) => {
  const teams = TwoTeams.forSuite(backend)
  const { team } = teams

  beforeAll(async () => {
    await team.done('PUT', '/v1/outcome-definitions/gb12', DEFINITION)
  })

  const send = (outcomes: unknown[]) => team.done('POST', '/v1/outcomes', { outcomes })
  const findStatus = async (item: object) => (await send([item])).results[0].status
  const good = (target: object, rest: object = {}) => ({
    ...target,
    kind: 'performance',
    definition: 'gb12',
    outcome: 'good',
    as_of: '2026-01-31',
    ...rest,
  })
  const scored = (slug: string, reference?: string) =>
    teams.service
      .call({
        url: `/v1/score/${slug}`,
        token: team.key,
        body: { income: 1 },
        headers: reference === undefined ? {} : { 'x-reference-id': reference },
      })
      .then((response) => response.json())
  const report = async (slug: string, query = '') =>
    team.done('GET', `/v1/deployments/${slug}/performance?definition=gb12${query}`)

  test('a definition in use is listed before one that no outcome has', async () => {
    const { slug } = await team.deploy(numberedSpec(1))
    const { request_id } = await scored(slug)
    await send([good({ request_id })])
    await team.done('PUT', '/v1/outcome-definitions/early', DEFINITION)
    const listed = await team.done('GET', '/v1/outcome-definitions')
    const ids = listed.outcome_definitions.map(({ id }: { id: string }) => id)
    expect(ids.filter((id: string) => ['early', 'gb12'].includes(id))).toEqual(['gb12', 'early'])
  })

  test('an outcome is attached once, revised by another content, and followed by a later one', async () => {
    const { slug } = await team.deploy(numberedSpec(1))
    const { request_id } = await scored(slug)
    const first = await send([good({ request_id })])
    expect(first).toEqual({
      results: [
        {
          index: 0,
          status: 'accepted',
          applicant: { request_id, record_index: 0 },
          matched_of: 1,
        },
      ],
      counts: { accepted: 1, unchanged: 0, revised: 0, unmatched: 0, ambiguous: 0, invalid: 0 },
    })
    expect(await findStatus(good({ request_id }))).toBe('unchanged')
    expect(await findStatus(good({ request_id }, { outcome: 'bad' }))).toBe('revised')
    expect(await report(slug)).toMatchObject({ n: 1, good: 0, bad: 1 })
    const before = new Date().toISOString()
    await delay(5)
    expect(await findStatus(good({ request_id }, { as_of: '2026-02-28' }))).toBe('accepted')
    expect(await report(slug)).toMatchObject({ n: 1, good: 1, bad: 0 })
    expect(await report(slug, `&as_known_at=${before}`)).toMatchObject({ n: 1, good: 0, bad: 1 })
    // An older observation that comes late is kept, and is not the current one.
    expect(await findStatus(good({ request_id }, { outcome: 'bad', as_of: '2025-12-31' }))).toBe(
      'accepted',
    )
    expect(await report(slug)).toMatchObject({ n: 1, good: 1, bad: 0 })
  })

  test('each item is judged by itself, and the counts add up to what was sent', async () => {
    const { slug } = await team.deploy(numberedSpec(1))
    const batch = await team.scoreBatch(slug, [
      { id: 'a', income: 1 },
      { id: 'a', income: 2 },
      { id: 7, income: 3 },
    ])
    const { request_id } = batch
    const { results, counts } = await send([
      good({ request_id }),
      good({ request_id, record_id: 'a' }),
      good({ request_id, record_id: 7 }),
      good({ request_id, record_id: 2 ** 53 }),
      good({ request_id, record_index: 1 }),
      good({ request_id, record_index: 3 }),
      good({ request_id, record_index: 0 }, { definition: 'other' }),
      good({ request_id, record_index: 0 }, { window_months: 24 }),
      good({ request_id, record_index: 0 }, { as_of: '2026-02-30' }),
      good({ request_id, record_index: 0 }, { colour: 'red' }),
      good({ deployment: 'dep_0VLGhxQzGkW2nRtYb4Xc8m', reference: 'A-1' }),
      {
        kind: 'decision',
        request_id,
        record_index: 0,
        decision: 'approved',
        booked_at: '2026-01-01',
      },
      'nothing',
    ])
    expect(results.map(({ status }: { status: string }) => status)).toEqual([
      'ambiguous',
      'ambiguous',
      'accepted',
      'invalid',
      'accepted',
      'unmatched',
      'invalid',
      'invalid',
      'invalid',
      'invalid',
      'unmatched',
      'accepted',
      'invalid',
    ])
    expect(results[2].applicant).toEqual({ request_id, record_index: 2 })
    for (const { status, message } of results) {
      expect(message === undefined).toBe(status === 'accepted')
    }
    const sum = Object.values(counts as Record<string, number>).reduce((a, b) => a + b, 0)
    expect(sum).toBe(results.length)
  })

  test('a reference with several scores means the last one', async () => {
    const { slug } = await team.deploy(numberedSpec(1))
    await scored(slug, 'A-1')
    await delay(2)
    const last = await scored(slug, 'A-1')
    await statsWith(teams.service, team.owner, slug, 2)
    const { results } = await send([good({ deployment: slug, reference: 'A-1' })])
    expect(results[0]).toEqual({
      index: 0,
      status: 'accepted',
      applicant: { request_id: last.request_id, record_index: 0 },
      matched_of: 2,
    })
    expect((await report(slug)).coverage).toMatchObject({ scored: 1, matched: 1, good: 1 })
  })

  test('outcomes of many references are found in one pass', async () => {
    const { slug } = await team.deploy(numberedSpec(1))
    const references = Array.from({ length: 30 }, (_, index) => `R-${index}`)
    const ids: string[] = []
    for (const reference of references) ids.push((await scored(slug, reference)).request_id)
    await statsWith(teams.service, team.owner, slug, 30)
    const byReference = await send(
      references.map((reference) => good({ deployment: slug, reference })),
    )
    expect(byReference.counts.accepted).toBe(30)
    expect(byReference.results.map((one: never) => one['applicant']['request_id'])).toEqual(ids)
    const byRequest = await send(
      ids.map((request_id) => good({ request_id }, { as_of: '2026-03-01' })),
    )
    expect(byRequest.counts.accepted).toBe(30)
  })

  test('an outcome that comes before its score is attached once the score is there', async () => {
    const { slug } = await team.deploy(numberedSpec(1))
    const item = good({ deployment: slug, reference: 'early' })
    expect(await findStatus(item)).toBe('unmatched')
    await scored(slug, 'early')
    await expect.poll(async () => (await report(slug)).n).toBe(1)
    expect(await findStatus(item)).toBe('unchanged')
  })

  test('any order and any repetition of outcomes gives the same report', async () => {
    const { slug } = await team.deploy(sampleSpec())
    const ids: string[] = []
    for (const { applicant } of sampleApplicants().slice(0, 40)) {
      ids.push((await team.score(slug, applicant)).request_id)
    }
    await statsWith(teams.service, team.owner, slug, 40)
    const listItems = (definition: string) =>
      ids.flatMap((request_id, index) => [
        good({ request_id }, { definition, outcome: index % 3 === 0 ? 'bad' : 'good' }),
        good({ request_id }, { definition, outcome: 'indeterminate', as_of: '2025-01-01' }),
      ])
    const reports: object[] = []
    for (const definition of ['forward', 'backward']) {
      await team.done('PUT', `/v1/outcome-definitions/${definition}`, DEFINITION)
      const items = listItems(definition)
      await send(definition === 'forward' ? items : items.toReversed())
      if (definition === 'backward') expect((await send(items)).counts.unchanged).toBe(80)
      const url = `/v1/deployments/${slug}/performance?definition=${definition}`
      reports.push({ ...(await team.done('GET', url)), definition: '' })
    }
    expect(reports[0]).toMatchObject({ n: 40, bad: 14 })
    expect(reports[1]).toEqual(reports[0])
  })

  test('scores of another team and another environment are unknown', async () => {
    const { slug } = await teams.otherTeam.deploy(numberedSpec(1))
    const { request_id } = await teams.otherTeam.score(slug, { income: 1 })
    expect(await findStatus(good({ request_id }))).toBe('unmatched')
    const own = await team.deploy(numberedSpec(1), 'staging')
    const staged = await team.score(own.slug, { income: 1 })
    const key = await teams.service.createKey(team.owner, { environment: 'production' })
    const body = { outcomes: [good({ request_id: staged.request_id })] }
    const response = await teams.service.call({ url: '/v1/outcomes', token: key, body })
    expect(response.json().results[0].status).toBe('unmatched')
  })

  test('a definition changes until the first outcome refers to it', async () => {
    const put = (body: object) => team.call('PUT', '/v1/outcome-definitions/gb6', body)
    expect((await put(DEFINITION)).json()).toEqual({ id: 'gb6', ...DEFINITION })
    const changed = { ...DEFINITION, maturity_months: 0 }
    expect(findOutcome(await put(changed))).toBe('200')
    const { slug } = await team.deploy(numberedSpec(1))
    const { request_id } = await scored(slug)
    await send([good({ request_id }, { definition: 'gb6' })])
    expect(findOutcome(await put(changed))).toBe('200')
    expect(findOutcome(await put(DEFINITION))).toBe('409 definition_in_use')
  })

  // The window that an outcome was sent with must be the one that it is attached with.
  test('a definition that an outcome waits with stays as it is', async () => {
    const put = (body: object) => team.call('PUT', '/v1/outcome-definitions/gb7', body)
    await put(DEFINITION)
    const { slug } = await team.deploy(numberedSpec(1))
    const target = { deployment: slug, reference: 'later' }
    expect(await findStatus(good(target, { definition: 'gb7' }))).toBe('unmatched')
    const changed = await put({ ...DEFINITION, window_months: 6 })
    expect(findOutcome(changed)).toBe('409 definition_in_use')
    expect(findOutcome(await put(DEFINITION))).toBe('200')
  })

  test('a batch needs its record, also where it has one or none', async () => {
    const { slug } = await team.deploy(numberedSpec(1))
    const [one, none] = [await team.scoreBatch(slug, [{}]), await team.scoreBatch(slug, [])]
    expect(await findStatus(good({ request_id: one.request_id }))).toBe('ambiguous')
    expect(await findStatus(good({ request_id: one.request_id, record_index: 0 }))).toBe('accepted')
    const { results } = await send([good({ request_id: none.request_id, record_index: 0 })])
    expect(results[0]).toMatchObject({
      status: 'unmatched',
      message: 'the request has no such record',
    })
  })

  test('an erased reference finds no applicant, and nothing of it is held', async () => {
    const { slug } = await team.deploy(numberedSpec(1))
    await scored(slug, 'person-7')
    await statsWith(teams.service, team.owner, slug, 1)
    const item = good({ deployment: slug, reference: 'person-7' })
    expect(await findStatus(item)).toBe('accepted')
    const erased = await team.done('POST', '/v1/log/erasures', { reference: 'person-7' })
    expect(erased.places).toBe(2)
    expect(await findStatus(item)).toBe('unmatched')
    // The figure stays: it names nobody.
    expect((await report(slug)).n).toBe(1)
  })

  test('more than 10,000 outcomes are refused before any is looked at', async () => {
    const response = await team.call('POST', '/v1/outcomes', { outcomes: Array(10_001).fill(0) })
    expect(findOutcome(response)).toBe('413 batch_too_large')
  })
})
