import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '../../../src/platform/ids/ids.ts'
import { card, categorical, numeric } from '../../support/cards/cards.ts'
import { outcomeOf } from '../../support/expect/answers.ts'
import { hasPostgres, postgres } from '../../support/start/databases.ts'
import { withDatabase } from '../../support/start/seeded-database.ts'
import { startTwoTeams, type Team, type TwoTeams } from '../../support/start/team.ts'

const SPEC = card(
  [
    numeric('age', [
      ['(-Infinity, 25]', -12.5],
      ['(25, Infinity)', 9.25],
      ['Missing', 0.5],
    ]),
    categorical('purpose', [
      ['car', 4],
      ['Missing', -7],
    ]),
  ],
  { base_points: 500, risk_grades: [{ grade: 'A', min_score: 0, max_score: null }] },
)

/** A request as the version before stored it: a row with its results as JSON. */
interface OldRequest {
  readonly requestId: string
  readonly atMs: number
  /** `[record id, [score, pd, grade, warnings, "bin,bin"] of each model]` of each applicant. */
  readonly rows: readonly unknown[]
  readonly isBatch: boolean
}

// Only PostgreSQL takes rows from beside the service, as a replica of the version before writes
// them.
describe.skipIf(!hasPostgres)('rows of the first form on PostgreSQL', () => {
  let teams: TwoTeams
  let team: Team
  let slug: string
  let champion: string
  let challenger: { readonly id: string; readonly modelId: string }

  beforeAll(async () => {
    teams = await startTwoTeams(postgres)
    team = teams.team
    const deployed = await team.deploy(SPEC)
    slug = deployed.slug
    champion = deployed.modelId
    challenger = await team.challenge(slug, { ...SPEC, version: '2' }, 20)
    await team.shadow(slug, true)
  })
  afterAll(() => teams.service.close())

  async function insert({ requestId, atMs, rows, isBatch }: OldRequest): Promise<void> {
    const models = [
      { model_id: champion, role: 'champion' },
      { model_id: challenger.modelId, role: 'challenger', challenger_id: challenger.id },
    ]
    const results = JSON.stringify({ models, results: rows })
    const scores = rows.map((row) => (row as [unknown, [number]])[1][0])
    await withDatabase(teams.service.config, async (db) => {
      await db.execute(sql`insert into score_log (scored_at, request_id, team_id, deployment_id,
          key_id, cache_version, bucket, latency_ms, is_batch, served_model_id, served_scores,
          served_pds, served_grades, results)
        select ${new Date(atMs).toISOString()}::timestamptz, ${requestId}, team_id, id, 'key_old',
          7, null, 1.5, ${isBatch}, ${champion}, ${`{${scores}}`}::float8[],
          ${`{${scores.map(() => 0.25)}}`}::float8[],
          ${JSON.stringify(scores.map(() => 'A'))}::json, ${results}::json
        from deployments where id = ${slug}`)
    })
  }

  const old = (ageMs: number, isBatch: boolean, rows: readonly unknown[]): OldRequest => {
    const atMs = Date.now() - ageMs
    return { requestId: newId('req_', atMs - 3), atMs, rows, isBatch }
  }

  test('are read back, with null for what they lack', async () => {
    const request = old(60_000, false, [
      [null, [513.25, 0.25, 'A', 0, '1,0'], [493.5, null, null, 1, '2,1']],
    ])
    await insert(request)
    const read = await team.done('GET', `/v1/scores/${request.requestId}`)
    expect(read).toMatchObject({
      scored_at: new Date(request.atMs).toISOString(),
      latency_ms: 1.5,
      key_id: 'key_old',
      cache_version: 7,
      bucket: null,
      reference: null,
      is_batch: false,
      total: 1,
    })
    expect(read.records[0].results).toMatchObject([
      {
        model_id: champion,
        served: true,
        score: 513.25,
        pd: 0.25,
        risk_grade: 'A',
        features: [
          { name: 'age', points: 9.25, outcome: 'matched', bin: { index: 1 } },
          { name: 'purpose', points: 4, outcome: 'matched', bin: { index: 0 } },
        ],
      },
      {
        model_id: challenger.modelId,
        served: false,
        score: 493.5,
        pd: null,
        features: [
          { points: 0.5, outcome: 'missing', bin: { index: 2, range: 'Missing' } },
          // A missing value, or an unseen category that took the points of the Missing bin.
          { points: -7, outcome: null, bin: { index: 1, value: 'Missing' } },
        ],
      },
    ])
    const late = { ...old(3_600_000, false, request.rows), atMs: Date.now() - 3_500_000 }
    await insert(late)
    const found = await team.call('GET', `/v1/scores/${late.requestId}`)
    expect(outcomeOf(found)).toBe('200')
    expect(outcomeOf(await teams.otherTeam.call('GET', `/v1/scores/${late.requestId}`))).toBe(
      '404 score_not_found',
    )
  })

  // After an upgrade both forms are in the database for years.
  test('are found, compared and exported beside scores of this version', async () => {
    const result = [513.25, 0.25, 'A', 0, '1,0']
    const failed = null
    const batch = old(120_000, true, [
      ['A-9 "x"', result, failed],
      [9, result, result],
    ])
    await insert(batch)
    const answer = await team.scoreBatch(slug, [{ id: '9', age: 30, purpose: 'car' }])
    const find = async (reference: string) => {
      const query = new URLSearchParams({ reference })
      const { scores } = await team.done('GET', `/v1/scores?${query}`)
      return scores.map((one: { request_id: string; record_index: number }) => [
        one.request_id,
        one.record_index,
      ])
    }
    expect(await find('A-9 "x"')).toEqual([[batch.requestId, 0]])
    // The database has it soon.
    await expect
      .poll(() => find('9'), { timeout: 2_000 })
      .toEqual([
        [answer.request_id, 0],
        [batch.requestId, 1],
      ])
    const from = new Date(batch.atMs).toISOString()
    const compared = await team.done('GET', `/v1/deployments/${slug}/stats/models?from=${from}`)
    const counted = { applicants: compared.applicants, failed: compared.challengers[0].failed }
    // Scores of the other tests may be among them.
    expect(counted).toEqual({ applicants: expect.toBeOneOf([3, 4, 5, 6]), failed: 1 })
    expect(compared.models[0]).toMatchObject({ model_id: champion, scored: counted.applicants })
    // Reports count both forms, each applicant in one cell of each feature.
    const report = `/v1/deployments/${slug}/stability?dedupe=none&from=${from}`
    const { n, features } = await team.done('GET', report)
    const inCells = features.map(({ cells }: { cells: { actual: number }[] }) =>
      cells.reduce((sum, { actual }) => sum + actual, 0),
    )
    expect([n, ...inCells]).toEqual(Array(3).fill(compared.models[0].scored))
    const exported = await team.call('GET', `/v1/log/export?deployment=${slug}&from=${from}`)
    const rows = exported.body
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line))
    expect(rows.filter(({ request_id }) => request_id === batch.requestId)).toMatchObject([
      { record_id: 'A-9 "x"', role: 'champion', score: 513.25, bins: [1, 0], engine_version: null },
      { record_id: 'A-9 "x"', role: 'challenger', score: null, bins: [], outcomes: [] },
      { record_id: '9', reference: '9', role: 'champion', outcomes: ['matched', 'matched'] },
      { record_id: '9', role: 'challenger', score: 513.25 },
    ])
  })

  // While the database is slow, what was answered must still be found.
  test('a score that the database does not have yet is read from the spool', async () => {
    await withDatabase(teams.service.config, async (db) => {
      await db.transaction(async (tx) => {
        await tx.execute(sql`lock table score_blocks, score_log in access exclusive mode`)
        const { request_id, score } = await team.score(slug, { age: 1, purpose: 'car' })
        const other = await team.score(slug, { age: 26 })
        for (const [id, wanted] of [
          [request_id, score],
          [other.request_id, other.score],
        ]) {
          const read = await team.done('GET', `/v1/scores/${id}`)
          expect(read.records[0].results[0].score).toBe(wanted)
        }
      })
    })
  })
})
