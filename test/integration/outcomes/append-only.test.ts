import { sql } from 'drizzle-orm'
import { beforeAll, describe, expect, test } from 'vitest'
import type { ScoredApplicant } from '../../../src/outcomes/applicant.ts'
import { OutcomeStore } from '../../../src/outcomes/store.ts'
import { queryRows } from '../../../src/platform/db/client.ts'
import { readApplicant } from '../../support/score-log/outcome-applicants.ts'
import { backends } from '../../support/start/databases.ts'
import { databaseForSuite } from '../../support/start/seeded-database.ts'
import { insertTeam } from '../../support/start/users.ts'

const RESTRICT_VIOLATION = '23001'
const DAY_MS = 86_400_000

describe.each(backends)('on $name', (backend) => {
  const handle = databaseForSuite(backend)
  let store: OutcomeStore

  beforeAll(() => {
    store = new OutcomeStore(handle.db)
  })

  async function stored(asOf: string, teamId?: string, known?: ScoredApplicant) {
    const team = teamId ?? (await insertTeam(handle.db))
    const applicant = known ?? readApplicant(team)
    const content = { outcome: 'good', as_of: asOf }
    const fact = { definition: '', asOfMs: Date.parse(asOf), content }
    const sender = { teamId: team, environment: null, by: 'usr_1' }
    const held = { sender, held: [], receivedAtMs: 0, settled: [] }
    const { statuses } = await store.write({ ...held, matched: [{ applicant, fact }] })
    expect(statuses).toEqual(['accepted'])
    return { team, applicant }
  }
  const findEnd = async ({ requestId }: ScoredApplicant) => {
    const [row] = await queryRows<{ until: string }>(
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
    const rows = await queryRows<{ content: string }>(
      handle.db,
      sql`select content::text as content from outcomes where ${ofOwn}`,
    )
    expect(rows.map(({ content }) => JSON.parse(content))).toMatchObject([{ outcome: 'good' }])
  })

  test('a reference can leave, and an applicant whose end has passed goes with their outcomes', async () => {
    const { applicant } = await stored('1990-01-01', undefined, {
      ...readApplicant(await insertTeam(handle.db)),
      scoredAtMs: Date.UTC(1990, 0, 1),
    })
    const own = sql`request_id = ${applicant.requestId}`
    expect(
      await refusal(sql`update outcome_applicants set reference_hash = null where ${own}`),
    ).toBe('done')
    await store.removeExpired({ heldBeforeMs: 0, importsBeforeMs: 0, nowMs: Date.now() }, 10)
    const left = await queryRows<{ id: number }>(
      handle.db,
      sql`select id::float8 as id from outcome_applicants where ${own}`,
    )
    expect(left).toEqual([])
    const [orphans] = await queryRows<{ n: number }>(
      handle.db,
      sql`select count(*)::float8 as n from outcomes
        where applicant_id not in (select id from outcome_applicants)`,
    )
    expect(orphans?.n).toBe(0)
  })

  test('an applicant is kept for the longest that an outcome of theirs needs', async () => {
    const { team, applicant } = await stored('2026-01-31')
    // 36 months for a decision, and 25 beyond.
    expect(await findEnd(applicant)).toBe('2031-02-28')
    await stored('2027-03-31', team, applicant)
    expect(await findEnd(applicant)).toBe('2032-04-30')
    await stored('2025-01-01', team, applicant)
    expect(await findEnd(applicant)).toBe('2032-04-30')
  })
  // One statement for a million due applicants never ends within its seconds.
  test('expired applicants, held outcomes and imports leave in portions', async () => {
    const teamId = await insertTeam(handle.db)
    await handle.db.execute(sql`insert into outcome_applicants (team_id, deployment_id, request_id,
        record_index, is_batch, applicants, scored_at, served, results, keep_until)
      select ${teamId}, 'dep_1', 'req_old_' || n, 0, false, 1, now(), 0, '[]',
        now() - interval '1 day'
      from generate_series(1, 25) as n`)
    await handle.db.execute(sql`insert into held_outcomes (team_id, item, item_hash, held_by,
        received_at, next_try_at, tries)
      select ${teamId}, '{}', n, 'usr_1', now() - interval '31 days', now(), 0
      from generate_series(1, 12) as n`)
    await handle.db.execute(sql`insert into outcome_imports (id, team_id, created_by, format, status,
        "offset", lines, counts, errors, created_at, finished_at)
      select 'imp_' || days, ${teamId}, 'usr_1', 'csv', 'done', 0, 0, '{}', '[]', now(),
        now() - make_interval(days => days)
      from unnest(array[1, 89, 91]) as days`)
    const readLeft = async (table: string) => {
      const rows = await queryRows<{ n: number }>(
        handle.db,
        sql`select count(*)::float8 as n from ${sql.identifier(table)} where team_id = ${teamId}`,
      )
      return rows[0]?.n
    }
    const left = async () => [
      await readLeft('outcome_applicants'),
      await readLeft('held_outcomes'),
      await readLeft('outcome_imports'),
    ]
    const nowMs = Date.now()
    const expiry = {
      heldBeforeMs: nowMs - 30 * DAY_MS,
      importsBeforeMs: nowMs - 90 * DAY_MS,
      nowMs,
    }
    expect(await store.removeExpired(expiry, 10)).toBe(true)
    expect(await left()).toEqual([15, 2, 2])
    expect(await store.removeExpired(expiry, 10)).toBe(true)
    expect(await left()).toEqual([5, 0, 2])
    expect(await store.removeExpired(expiry, 10)).toBe(false)
    expect(await left()).toEqual([0, 0, 2])
  })
})
