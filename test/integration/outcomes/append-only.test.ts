import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ScoredApplicant } from '../../../src/outcomes/applicant.ts'
import { PostgresOutcomeStore } from '../../../src/outcomes/store.ts'
import { type DatabaseHandle, rowsOf } from '../../../src/platform/db/client.ts'
import { newId } from '../../../src/platform/ids/ids.ts'
import { backends, type TestDatabase } from '../../support/start/databases.ts'
import { openTestDatabase } from '../../support/start/seeded-database.ts'
import { insertTeam } from '../../support/start/users.ts'

const SCORED_MS = Date.UTC(2026, 0, 31)
const RESTRICT_VIOLATION = '23001'

function applicantOf(teamId: string): ScoredApplicant {
  return {
    teamId,
    deploymentId: newId('dep_', SCORED_MS),
    requestId: newId('req_', SCORED_MS),
    recordIndex: 0,
    isBatch: false,
    applicants: 1,
    scoredAtMs: SCORED_MS,
    referenceHash: 'hash',
    served: 0,
    isFirstForm: false,
    results: [['mod_1', null, 600, 0.05, 'A', [2, 3]]],
  }
}

describe.each(backends)('on $name', (backend) => {
  let database: TestDatabase
  let handle: DatabaseHandle
  let store: PostgresOutcomeStore

  beforeAll(async () => {
    database = await backend.create()
    handle = await openTestDatabase(database)
    store = new PostgresOutcomeStore(handle.db)
  })
  afterAll(async () => {
    await handle.close()
    await database.drop()
  })

  async function stored(asOf: string, teamId?: string, known?: ScoredApplicant) {
    const team = teamId ?? (await insertTeam(handle.db))
    const applicant = known ?? applicantOf(team)
    const content = { outcome: 'good', as_of: asOf }
    const fact = { definition: '', asOfMs: Date.parse(asOf), content }
    const sender = { teamId: team, environment: null, by: 'usr_1' }
    const held = { sender, held: [], settled: [] }
    const statuses = await store.write({ ...held, matched: [{ applicant, fact }] })
    expect(statuses).toEqual(['accepted'])
    return { team, applicant }
  }
  const endOf = async ({ requestId }: ScoredApplicant) => {
    const [row] = await rowsOf<{ until: string }>(
      handle.db,
      sql`select to_char(keep_until at time zone 'UTC', 'YYYY-MM-DD') as until
        from outcome_applicants where request_id = ${requestId}`,
    )
    return row?.until
  }
  const refusal = (statement: ReturnType<typeof sql>) =>
    handle.db.execute(statement).then(
      () => 'done',
      (error: { code?: string; cause?: { code?: string } }) => error.cause?.code ?? error.code,
    )

  // Who may write to the database could else make a card look better than it was.
  test('the database refuses to alter an outcome, and to remove one before its end', async () => {
    const { applicant } = await stored('2030-06-30')
    const { requestId } = applicant
    const own = sql`request_id = ${requestId}`
    const ofOwn = sql`applicant_id in (select id from outcome_applicants where ${own})`
    for (const statement of [
      sql`update outcomes set content = '{}' where ${ofOwn}`,
      sql`update outcomes set recorded_at = now() where ${ofOwn}`,
      sql`delete from outcomes where ${ofOwn}`,
      sql`truncate outcomes`,
      sql`delete from outcome_applicants where ${own}`,
      sql`update outcome_applicants set results = '[]' where ${own}`,
      sql`update outcome_applicants set scored_at = now() where ${own}`,
      sql`update outcome_applicants set reference_hash = 'other' where ${own}`,
      sql`update outcome_applicants set keep_until = now() where ${own}`,
      sql`truncate outcome_applicants cascade`,
    ]) {
      expect(await refusal(statement)).toBe(RESTRICT_VIOLATION)
    }
    const rows = await rowsOf<{ content: string }>(
      handle.db,
      sql`select content::text as content from outcomes where ${ofOwn}`,
    )
    expect(rows.map(({ content }) => JSON.parse(content))).toMatchObject([{ outcome: 'good' }])
  })

  test('a reference can leave, and an applicant whose end has passed goes with their outcomes', async () => {
    const { applicant } = await stored('1990-01-01', undefined, {
      ...applicantOf(await insertTeam(handle.db)),
      scoredAtMs: Date.UTC(1990, 0, 1),
    })
    const own = sql`request_id = ${applicant.requestId}`
    expect(
      await refusal(sql`update outcome_applicants set reference_hash = null where ${own}`),
    ).toBe('done')
    await store.purge(0, Date.now())
    const left = await rowsOf<{ id: number }>(
      handle.db,
      sql`select id::float8 as id from outcome_applicants where ${own}`,
    )
    expect(left).toEqual([])
    const [orphans] = await rowsOf<{ n: number }>(
      handle.db,
      sql`select count(*)::float8 as n from outcomes
        where applicant_id not in (select id from outcome_applicants)`,
    )
    expect(orphans?.n).toBe(0)
  })

  test('an applicant is kept for the longest that an outcome of theirs needs', async () => {
    const { team, applicant } = await stored('2026-01-31')
    // 36 months for a decision, and 25 beyond.
    expect(await endOf(applicant)).toBe('2031-02-28')
    await stored('2027-03-31', team, applicant)
    expect(await endOf(applicant)).toBe('2032-04-30')
    await stored('2025-01-01', team, applicant)
    expect(await endOf(applicant)).toBe('2032-04-30')
  })
})
