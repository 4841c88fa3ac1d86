import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'drizzle-orm'
import type { LightMyRequestResponse } from 'fastify'
import { beforeAll, describe, expect, test } from 'vitest'
import { queryRows } from '../../../src/platform/db/client.ts'
import { endOfJob } from '../../support/expect/jobs.ts'
import { statsWith } from '../../support/expect/stats.ts'
import { hasPostgres, postgres } from '../../support/start/databases.ts'
import { withDatabase } from '../../support/start/seeded-database.ts'
import { numberedSpec, TwoTeams } from '../../support/start/team.ts'

const SCORES = 20
const DEFINITION = {
  label: 'Bad',
  window_months: 12,
  bad_rule_text: '90 days past due',
  maturity_months: 0,
}

interface Block {
  readonly id: string
  readonly day: string
}

// One flipped bit must cost the block that it is in, and say which one that is.
describe.skipIf(!hasPostgres)('a damaged block of the log', () => {
  const teams = TwoTeams.forSuite(postgres)
  const { team } = teams
  let slug: string
  let other: string
  let damaged: readonly Block[]
  /** A moment between the damaged scores and the others. */
  let between: string
  /** Request ids by reference; A is in the damaged block, B and C in sound ones. */
  const ids = new Map<string, string>()

  const score = async (reference: string, to: string) => {
    const response = await teams.service.call({
      url: `/v1/score/${to}`,
      token: team.key,
      body: { income: 1 },
      headers: { 'x-reference-id': reference },
    })
    expect(response.statusCode, response.body).toBe(200)
    ids.set(reference, response.json().request_id)
  }
  const inDatabase: <T>(work: Parameters<typeof withDatabase<T>>[1]) => Promise<T> = (work) =>
    withDatabase(teams.service.config, work)
  const get = (url: string) => team.call('GET', url)
  const metric = async (name: string) => {
    const found = (await teams.service.services.telemetry.metrics.text()).split('\n')
    const line = found.find((one) => one.startsWith(name))
    return line === undefined ? null : Number(line.split(' ').at(-1))
  }

  beforeAll(async () => {
    await team.done('PUT', '/v1/outcome-definitions/gb12', DEFINITION)
    slug = (await team.deploy(numberedSpec(1))).slug
    other = (await team.deploy(numberedSpec(2))).slug
    for (let n = 0; n < SCORES; n++) await score(`A-${n}`, slug)
    await statsWith(teams.service, team.owner, slug, SCORES)
    between = new Date().toISOString()
    for (let n = 0; n < SCORES; n++) await score(`B-${n}`, slug)
    await statsWith(teams.service, team.owner, slug, 2 * SCORES)
    await score('C-0', other)
    await statsWith(teams.service, team.owner, other, 1)
    damaged = await inDatabase((db) =>
      queryRows<Block>(
        db,
        sql`update score_blocks set data = set_byte(data, 20, get_byte(data, 20) # 16)
          where first_at < ${between}
          returning block_id::text as id, to_char(first_at at time zone 'UTC', 'YYYY-MM-DD') as day`,
      ),
    )
    expect(damaged.length).toBeGreaterThan(0)
  })

  /** The refusal of what needs the block. */
  const expectNamed = (answer: LightMyRequestResponse) => {
    expect(answer.statusCode, answer.body).toBe(503)
    expect(answer.json().error).toBe('unavailable')
    expectNaming(answer.json().message)
  }
  const expectNaming = (message: string) => {
    const [, name] = /(block [0-9]+ of [0-9-]+) in score_blocks is damaged/.exec(message) ?? []
    expect(
      damaged.map(({ id, day }) => `block ${id} of ${day}`),
      message,
    ).toContain(name)
  }

  test.each([
    ['stability', 'stability'],
    ['cut-offs', 'cutoffs'],
    ['the series', 'stability/series'],
  ])('%s of a period with it name it, and those of other periods go on', async (_, path) => {
    const base = `/v1/deployments/${slug}/${path}`
    const answer = await get(base)
    expectNamed(answer)
    expect((await get(`${base}?from=${between}`)).statusCode).toBe(200)
  })

  test('stats still have their sums, and name it where they list its scores', async () => {
    expect((await get(`/v1/deployments/${slug}/stats?recent=5`)).statusCode).toBe(200)
    expectNamed(await get(`/v1/deployments/${slug}/stats?recent=30`))
  })

  test("a score in it can't be read, and all others can", async () => {
    expectNamed(await get(`/v1/scores/${ids.get('A-0')}`))
    expect((await get(`/v1/scores/${ids.get('B-0')}`)).statusCode).toBe(200)
    expectNamed(await get(`/v1/scores/${ids.get('A-0')}/proof`))
    expect((await get(`/v1/scores/${ids.get('B-0')}/proof`)).statusCode).toBe(200)
  })

  test("a search and an erasure go on for references that can't be in it", async () => {
    expectNamed(await get('/v1/scores?reference=A-1'))
    const found = await get('/v1/scores?reference=B-1')
    expect(found.json().scores).toHaveLength(1)
    expectNamed(await team.call('POST', '/v1/log/erasures', { reference: 'A-2' }))
    const erased = await team.done('POST', '/v1/log/erasures', { reference: 'B-2' })
    expect(erased).toMatchObject({ requests: 1 })
  })

  test('outcomes are attached but for applicants who can be in it, which stay open', async () => {
    const fact = { kind: 'performance', definition: 'gb12', outcome: 'good', as_of: '2026-01-31' }
    const outcomes = [
      { ...fact, request_id: ids.get('A-3') },
      { ...fact, request_id: ids.get('B-3') },
      { ...fact, deployment: slug, reference: 'A-4' },
      { ...fact, deployment: slug, reference: 'B-4' },
      { ...fact, deployment: other, reference: 'C-0' },
    ]
    const { results } = await team.done('POST', '/v1/outcomes', { outcomes })
    const statuses = results.map(({ status }: { status: string }) => status)
    expect(statuses).toEqual(['unmatched', 'accepted', 'unmatched', 'accepted', 'accepted'])
    expectNaming(results[0].message)
    expectNaming(results[2].message)
  })

  // More than are looked up one by one: these are found by a pass over the log.
  test('an import goes on past it', async () => {
    const fact = { kind: 'performance', definition: 'gb12', outcome: 'bad', as_of: '2026-02-28' }
    const byReference = Array.from({ length: SCORES }, (_, n) => [
      { ...fact, deployment: slug, reference: `A-${n}` },
      { ...fact, deployment: slug, reference: `B-${n}` },
      { ...fact, request_id: ids.get(`A-${n}`), as_of: '2026-03-31' },
      { ...fact, request_id: ids.get(`B-${n}`), as_of: '2026-03-31' },
    ]).flat()
    const response = await teams.service.call({
      url: '/v1/outcomes/imports',
      token: team.key,
      body: byReference.map((item) => JSON.stringify(item)).join('\n'),
      headers: { 'content-type': 'application/x-ndjson' },
    })
    const { id } = response.json()
    const read = () => team.done('GET', `/v1/outcomes/imports/${id}`)
    await expect.poll(async () => (await read()).status).not.toBe('running')
    // The reference of B-2 was erased by the test before.
    expect(await read()).toMatchObject({ status: 'done', lines: 4 * SCORES })
    const { counts } = await read()
    expect(counts.unmatched).toBeGreaterThanOrEqual(2 * SCORES)
    expect(counts.accepted).toBeGreaterThanOrEqual(2 * SCORES - 2)
    expect(existsSync(join(teams.service.config.dataDir, 'imports', id))).toBe(false)
  })

  test('replays and backtests of its period fail at once and name it', async () => {
    const job = await team.done('POST', `/v1/deployments/${slug}/replays`, {})
    const ended = await endOfJob(team, job.id)
    expect(ended).toMatchObject({ status: 'failed', error: 'unavailable' })
    expectNaming(ended.message ?? '')
    const backtest = async (source: object) => {
      const order = { spec: numberedSpec(3), source: { deployment: slug, ...source } }
      return endOfJob(team, (await team.done('POST', '/v1/backtests', order)).id)
    }
    const over = await backtest({})
    expect(over).toMatchObject({ kind: 'backtest', status: 'failed', error: 'unavailable' })
    expectNaming(over.message ?? '')
    expect(await backtest({ from: between })).toMatchObject({
      status: 'done',
      result: { n: SCORES },
    })
    const sound = await team.done('POST', `/v1/deployments/${slug}/replays`, { from: between })
    expect(await endOfJob(team, sound.id)).toMatchObject({ status: 'done' })
  })

  test('it is counted, with the readings that failed', async () => {
    // The scores lie in one block or two, as the drain's rounds fell.
    for (let n = 0; n < SCORES; n++) expectNamed(await get(`/v1/scores/${ids.get(`A-${n}`)}`))
    const blocks = () => metric('scoreline_damaged_blocks{part="data"}')
    expect(await blocks()).toBe(damaged.length)
    expect(await metric('scoreline_damaged_block_reads_total')).toBeGreaterThan(0)
  })
})
