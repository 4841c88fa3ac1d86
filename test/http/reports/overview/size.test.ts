import { sql } from 'drizzle-orm'
import { beforeAll, describe, expect, test } from 'vitest'
import { systemClock } from '../../../../src/platform/clock.ts'
import { OverviewService } from '../../../../src/reports/overview/service.ts'
import { OverviewStore } from '../../../../src/reports/overview/store.ts'
import { findSlowness } from '../../../support/expect/processor-time.ts'
import { backends } from '../../../support/start/databases.ts'
import { databaseForSuite } from '../../../support/start/seeded-database.ts'
import { insertTeam } from '../../../support/start/users.ts'

const DEPLOYMENTS = 100
const DAYS = 98
const CHANGES = 50
const WITHIN_MS = 200
const ROUNDS = 12
/** Other tests can keep both cores for some seconds. */
const TRIED_MS_MAX = 30_000
const SINCE = '2026-11-09T00:00:00.000Z'

/** Facts as large as those of a card of which 20 features moved in each period. */
const period = {
  from: SINCE,
  to: SINCE,
  n: 1000,
  stability: {
    verdict: 'major_shift',
    moved: Array.from({ length: 20 }, (_, at) => ({ name: `feature ${at}`, csi_psi: 0.3, at })),
  },
  missing: { verdict: 'as_expected', features: [] },
}
const weeks = Array.from({ length: 13 }, (_, at) => ({
  startMs: at,
  psi: 0.1,
  cv95: 0.1,
  verdict: 'stable',
  approvalRate: 0.5,
  good: 900,
  bad: 100,
}))
const factsText = JSON.stringify({
  championId: 'mod_1',
  cutoff: 1,
  week: period,
  month: period,
  performance: null,
  weeks,
})

describe.each(backends)('on $name', (backend) => {
  const handle = databaseForSuite(backend)
  let teamId: string

  beforeAll(async () => {
    const { db } = handle
    teamId = await insertTeam(db)
    const id = sql`'dep_' || to_char(number, 'FM000')`
    const numbers = sql`generate_series(1, ${DEPLOYMENTS}::integer) as number`
    await db.execute(sql`insert into models (id, team_id, name, version, spec_version, environment,
        status, spec, deployed_by, created_at, updated_at)
      values ('mod_1', ${teamId}, 'Card', '1', '1.0', 'production', 'active', '{}', 'usr_1', now(),
        now())`)
    await db.execute(sql`insert into deployments (id, team_id, name, environment, is_active,
        champion_model_id, shadow_mode, cache_version, created_at, updated_at)
      select ${id}, ${teamId}, 'Loans', 'production', true, 'mod_1', false, 1, now(), now()
      from ${numbers}`)
    await db.execute(sql`insert into overviews (deployment_id, team_id, level, facts, due_at)
      select ${id}, ${teamId}, number % 4, ${factsText}::json, now() from ${numbers}`)
    await db.execute(sql`insert into score_rollups (deployment_id, span, starts_at,
        request_count, result_count, score_avg, score_min, score_max, pd_avg, latency_avg_ms,
        last_request_at, score_buckets, latency_buckets)
      select ${id}, 'day', date_trunc('day', now() at time zone 'UTC') at time zone 'UTC'
          - day * interval '1 day', 100, 100, 500, 400, 600, 0.1, 1, now(), '[]', '[]'
      from ${numbers}, generate_series(1, ${DAYS}::integer) as day`)
    await db.execute(sql`insert into audit_log (id, team_id, position, actor, action, subject,
        created_at)
      select 'aud_' || number || '_' || change, ${teamId}, number * 1000 + change, 'usr_1',
        'deployment.update', ${id}, now() - change * interval '1 hour'
      from ${numbers}, generate_series(1, ${CHANGES}::integer) as change`)
    await db.execute(sql`analyze`)
  })

  test('100 deployments with 13 weeks are shown within 200 ms', async () => {
    const store = new OverviewStore(handle.db)
    const overview = new OverviewService({ store, clock: systemClock })
    const caller = { kind: 'user', userId: 'usr_1', teamId, role: 'viewer' } as const
    const timesMs: number[] = []
    const isDone = () => timesMs.length >= ROUNDS && Math.min(...timesMs) < WITHIN_MS
    const endMs = performance.now() + TRIED_MS_MAX
    while (performance.now() < endMs && !isDone()) {
      const startMs = performance.now()
      const found = await overview.get(caller, {})
      const { length } = JSON.stringify(found)
      timesMs.push(performance.now() - startMs)
      expect(length).toBeGreaterThan(100_000)
      expect(found.deployments).toHaveLength(DEPLOYMENTS)
      expect(found.deployments[0]).toMatchObject({ attention: 'act', last_change: {} })
      expect(found.deployments[99]?.weeks[5]).toMatchObject({ volume: 700, mean_score: 500 })
    }
    // Other tests run on the same cores: the fastest round is what the code takes.
    expect(Math.min(...timesMs)).toBeLessThan(WITHIN_MS * (isDone() ? 1 : findSlowness()))
  })
})
