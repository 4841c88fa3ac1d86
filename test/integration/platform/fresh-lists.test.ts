import { createHash } from 'node:crypto'
import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { OUTCOMES_MAX } from '../../../schemas/outcomes.ts'
import { IdempotencyStore } from '../../../src/http/idempotency/store.ts'
import { KeyStore } from '../../../src/identity/keys/store.ts'
import { addToRollups } from '../../../src/log/blocks/upkeep/rollup-writer.ts'
import { makeRollup } from '../../../src/log/rollups/rollup.ts'
import { OutcomeStore } from '../../../src/outcomes/store.ts'
import type { Database, DatabaseHandle } from '../../../src/platform/db/client.ts'
import { findSlowness } from '../../support/expect/processor-time.ts'
import { hasPostgres, postgres } from '../../support/start/databases.ts'
import { openTestDatabase } from '../../support/start/seeded-database.ts'
import { numberedSpec, type Team, TwoTeams } from '../../support/start/team.ts'

/** Statements end after 8 s; a nested loop of two such lists takes longer. */
const STATEMENT_MS_MAX = 4_000
const AT_ONCE = 200

/** A list as long as any may be, on tables that were just filled and never analysed. */
describe.skipIf(!hasPostgres)('on PostgreSQL without statistics', () => {
  let teams: TwoTeams
  let team: Team
  let handle: DatabaseHandle
  let db: Database

  beforeAll(async () => {
    let url: string | null = null
    teams = await TwoTeams.start({
      ...postgres,
      create: async () => {
        const database = await postgres.create()
        url = database.databaseUrl
        const opened = await openTestDatabase(database)
        await opened.db.execute(sql`do $$ declare name regclass; begin
          for name in select oid from pg_class
            where relkind = 'r' and relnamespace = 'public'::regnamespace loop
            execute format('alter table %s set (autovacuum_enabled = false)', name);
          end loop; end $$`)
        await opened.close()
        return database
      },
    })
    team = teams.team
    handle = await openTestDatabase({ databaseUrl: url, dataDir: '' })
    db = handle.db
  })
  afterAll(async () => {
    await handle.close()
    await teams.service.close()
  })

  async function expectQuick(what: string, work: Promise<unknown>): Promise<void> {
    const beganMs = performance.now()
    await work
    const tookMs = performance.now() - beganMs
    const slowness = tookMs < STATEMENT_MS_MAX ? 1 : findSlowness()
    expect(tookMs, what).toBeLessThan(STATEMENT_MS_MAX * slowness)
  }

  test('10,000 outcomes are taken, however often they are sent', async () => {
    const window = { label: 'Bad', window_months: 12, bad_rule_text: '90 days', maturity_months: 6 }
    await team.done('PUT', '/v1/outcome-definitions/gb12', window)
    const { slug } = await team.deploy(numberedSpec(1))
    const requestIds: string[] = []
    for (let first = 0; first < OUTCOMES_MAX; first += AT_ONCE) {
      const part = Array.from({ length: AT_ONCE }, (_, n) =>
        teams.service.inject({
          method: 'POST',
          url: `/v1/score/${slug}`,
          headers: {
            authorization: `Bearer ${team.key}`,
            'content-type': 'application/json',
            'x-reference-id': `reference-${first + n}`,
          },
          payload: { income: 1 },
        }),
      )
      for (const response of await Promise.all(part)) {
        expect(response.statusCode, response.body).toBe(200)
        requestIds.push(response.json().request_id)
      }
    }
    await expect.poll(() => teams.service.services.spool.stats.records).toBe(0)
    const outcome = { kind: 'performance', definition: 'gb12', outcome: 'good' }
    const send = async (targets: object[], as_of: string) => {
      const outcomes = targets.map((target) => ({ ...target, ...outcome, as_of }))
      const { counts } = await team.done('POST', '/v1/outcomes', { outcomes })
      return counts
    }
    const references = requestIds.map((_, n) => ({ deployment: slug, reference: `reference-${n}` }))
    expect(await send(references, '2026-01-31')).toMatchObject({ accepted: OUTCOMES_MAX })
    expect(await send(references, '2026-01-31')).toMatchObject({ unchanged: OUTCOMES_MAX })
    expect(await send(references, '2026-02-28')).toMatchObject({ accepted: OUTCOMES_MAX })
    const requests = requestIds.map((request_id) => ({ request_id }))
    expect(await send(requests, '2026-02-28')).toMatchObject({ unchanged: OUTCOMES_MAX })
    const unknown = references.map((_, n) => ({ deployment: slug, reference: `unknown-${n}` }))
    expect(await send(unknown, '2026-02-28')).toMatchObject({ unmatched: OUTCOMES_MAX })
  })

  test('held outcomes are taken and put back in time', async () => {
    await db.execute(sql`insert into held_outcomes (team_id, item, item_hash, environment, held_by,
        received_at, next_try_at, tries)
      select 'team_1', '{"fact": {}}', n, 'production', 'usr_1', now(), now(), 0
      from generate_series(1, 10000) as n`)
    const store = new OutcomeStore(db)
    const nowMs = Date.now() + 1_000
    let ids: number[] = []
    const take = async () => {
      const items = await store.takeDue({ nowMs, leaseMs: 60_000, limit: 10_000 })
      ids = items.map(({ id }) => id)
    }
    await expectQuick('takeDue', take())
    expect(ids.length).toBeGreaterThan(9_000)
    await expectQuick('postpone', store.postpone(ids, { nowMs, nextTryAtMs: nowMs }))
  })

  test('sums of 10,000 deployments are added to those that are there', async () => {
    const startsAtMs = Date.UTC(2026, 0, 1)
    const added = Array.from({ length: 10_000 }, (_, n) => {
      const rollup = makeRollup({ scoredAtMs: startsAtMs, latencyMs: 1, scores: [600], pds: [0.1] })
      return { deploymentId: `dep_${n}`, span: 'hour' as const, startsAtMs, rollup }
    })
    const add = () => db.transaction((tx) => addToRollups(tx, added))
    await add()
    await expectQuick('addToRollups', add())
  })

  test('10,000 idempotency keys are renewed, and 5,000 teams are counted', async () => {
    await db.execute(sql`insert into idempotency_keys (key_hash, body_hash, claim_id, claimed_until,
        expires_at)
      select sha256(n::text::bytea), ''::bytea, 'claim_' || n, now() + interval '1 min', now() + interval '1 day'
      from generate_series(1, 10000) as n`)
    const store = new IdempotencyStore(db)
    const claims = Array.from({ length: 10_000 }, (_, n) => ({
      keyHash: createHash('sha256')
        .update(`${n + 1}`)
        .digest(),
      claimId: `claim_${n + 1}`,
    }))
    await expectQuick('renew', store.renew(claims))
    const usage = new Map(
      Array.from({ length: 5_000 }, (_, n) => [`team_${n}`, { answers: 1, bytes: 1 }] as const),
    )
    await store.addUsage(usage)
    await expectQuick('addUsage', store.addUsage(usage))
  })

  test('the uses of 10,000 keys are noted', async () => {
    await db.execute(sql`insert into api_keys (id, team_id, name, key_hash, key_prefix, scopes,
        created_by, created_at)
      select 'key_' || n, (select id from teams limit 1), 'a key', 'hash ' || n, 'sk_live_abcd',
        array['score'], 'usr_1', now() from generate_series(1, 10000) as n`)
    const uses = Array.from({ length: 10_000 }, (_, n) => ({
      keyId: `key_${n + 1}`,
      usedAt: new Date(),
    }))
    await expectQuick('noteUses', new KeyStore(db).noteUses(uses))
  })
})
