// What a look at the stats costs over a short and a long log: `node bench/scenarios/stats.ts`, with
// BENCH_DATABASE_URL naming a PostgreSQL server on which a database may be created. BENCH_SCORES is
// the length of the long one, 10,000,000 unless set; each million takes 600 MB.
import { sql } from 'drizzle-orm'
import { systemClock } from '../../src/platform/clock.ts'
import { type Database, rowsOf } from '../../src/platform/db/client.ts'
import { newId } from '../../src/platform/ids/ids.ts'
import {
  LATENCY_MS_MIN,
  LOG_GROWTH,
  latencyPercentileMs,
} from '../../src/rollups/latency-buckets.ts'
import { SPAN_MS, SPANS, spanStart } from '../../src/rollups/spans.ts'
import { openLogReader } from '../../src/score-log/reading/open-reader.ts'
import { ScanQueue } from '../../src/score-log/reading/scan-queue.ts'
import { PostgresLogTables } from '../../src/score-log/retention/partitions.ts'
import { BlockStats } from '../../src/stats/block-stats.ts'
import { LogStats } from '../../src/stats/log-stats.ts'
import { ModelComparisons } from '../../src/stats/model-comparisons.ts'
import { StatsService } from '../../src/stats/service.ts'
import { PostgresStatsStore } from '../../src/stats/store.ts'
import { percentile } from '../../test/support/load/percentile.ts'
import { openBenchDatabase } from '../lib/bench-database.ts'

const DAYS = 30
const ROUNDS = 40
const WARM_UP_ROUNDS = 5
const TEAM = 'team_0VbcS4T982wOdiA3oiOZvU'
/** As fine-grained as those of a service that is not restarted. */
const WRITER = 'bench'

/**
 * One day of requests for one applicant each, evenly spread, shaped like those that the drain
 * inserts: ids as long, results with 20 bins and as many digits. Latencies have a long tail: 2 ms
 * in the middle, 16 at the end.
 */
async function fillDay(db: Database, deploymentId: string, dayMs: number, scores: number) {
  const day = new Date(dayMs).toISOString()
  await db.execute(sql`insert into score_log
    select scored_at, 'req_' || substr(md5(random()::text), 1, 22), ${TEAM}, ${deploymentId},
      'key_0VbcS4T982wOdiA3oiOZvU', 3, null, round((2 * exp(1.1 * z)::numeric), 3)::float8, false,
      'mod_0VbcS4T982wOdiA3oiOZvU', array[score], array[pd], '["C"]',
      ('{"models":[{"model_id":"mod_0VbcS4T982wOdiA3oiOZvU","role":"champion"}],"results":[[null,['
        || score || ',' || pd || ',"C",0,"' || substr(md5(n::text), 1, 20) || ',1,2,3,4,5,6,7,0,1"]]]}')::json
    from (
      select n, ${day}::timestamptz + n * interval '1 millisecond' * ${SPAN_MS.day / scores}::float8 as scored_at,
        round((480 + 60 * (random() + random() + random() + random() - 2))::numeric, 1)::float8 as score,
        random() / 10 as pd, random() + random() + random() + random() - 2 as z
      from generate_series(0, ${scores - 1}::int) as n
    ) as made`)
}

/** As the drain makes them, but in SQL, over all rows of a day at once. */
async function rollUpDay(db: Database, dayMs: number): Promise<void> {
  const [from, to] = [dayMs, dayMs + SPAN_MS.day].map((ms) => new Date(ms).toISOString())
  const latency = sql.raw(`ceil(ln(greatest(latency_ms, ${LATENCY_MS_MIN})) / ${LOG_GROWTH})::int`)
  const flat = sql.raw(
    `('[' || string_agg(bucket || ',' || times, ',' order by bucket) || ']')::json`,
  )
  for (const span of SPANS) {
    await db.execute(sql`with results as materialized (
        select deployment_id, date_trunc(${span}, scored_at, 'UTC') as starts_at, scored_at,
          latency_ms, served_scores[1] as score, served_pds[1] as pd
        from score_log where scored_at >= ${from} and scored_at < ${to}
      ), score_buckets as (
        select starts_at, ${flat} as score_buckets from (
          select starts_at, floor(score / 100)::int as bucket, count(*) as times
          from results group by 1, 2) as one group by 1
      ), latency_buckets as (
        select starts_at, ${flat} as latency_buckets from (
          select starts_at, ${latency} as bucket, count(*) as times
          from results group by 1, 2) as one group by 1
      ), sums as (
        select deployment_id, starts_at, count(*) as size, avg(score) as score_avg,
          min(score) as score_min, max(score) as score_max, avg(pd) as pd_avg,
          avg(latency_ms) as latency_avg, max(scored_at) as last_at
        from results group by 1, 2
      )
      insert into score_rollups
      select deployment_id, ${span}, starts_at, ${WRITER}, size, size, score_avg, score_min,
        score_max, pd_avg, latency_avg, last_at, score_buckets, latency_buckets
      from sums join score_buckets using (starts_at) join latency_buckets using (starts_at)`)
  }
}

async function measure(serverUrl: string, scores: number): Promise<void> {
  const database = await openBenchDatabase(serverUrl)
  const { db } = database
  const deploymentId = newId('dep_', Date.now())
  const today = spanStart('day', Date.now())
  const days = Array.from({ length: DAYS }, (_, day) => today - (day + 1) * SPAN_MS.day)
  await insertDeployment(db, deploymentId)
  await new PostgresLogTables(db).makePartitions(days)
  for (const dayMs of days) {
    await db.transaction(async (tx) => {
      await tx.execute(sql`set local statement_timeout = 0`)
      await fillDay(tx, deploymentId, dayMs, Math.round(scores / DAYS))
      await rollUpDay(tx, dayMs)
    })
  }
  for (const table of ['score_log', 'score_rollups']) await analyze(db, table)
  await report(db, deploymentId, today)
  await database.close()
}

async function insertDeployment(db: Database, deploymentId: string): Promise<void> {
  await db.execute(sql`insert into teams values (${TEAM}, 'Bench', now())`)
  await db.execute(sql`insert into models (id, team_id, name, version, spec_version, environment, status, spec, deployed_by, created_at, updated_at)
    values ('mod_1', ${TEAM}, 'Bench', '1', '1.0', 'production', 'active', '{}', 'usr_1', now(), now())`)
  await db.execute(sql`insert into deployments (id, team_id, name, environment, is_active, champion_model_id, shadow_mode, cache_version, created_at, updated_at)
    values (${deploymentId}, ${TEAM}, 'Bench', 'production', true, 'mod_1', false, 1, now(), now())`)
}

async function analyze(db: Database, table: string): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.execute(sql`set local statement_timeout = 0`)
    await tx.execute(sql`analyze ${sql.identifier(table)}`)
  })
}

async function report(db: Database, deploymentId: string, today: number): Promise<void> {
  const { reader, blocks, models } = openLogReader({ db, guarded: (store) => store })
  const store = new LogStats(new PostgresStatsStore(db), new BlockStats(blocks, models))
  const comparisons = new ModelComparisons({ store, log: reader, queue: new ScanQueue() })
  const stats = new StatsService(store, comparisons, systemClock)
  const caller = { kind: 'user', userId: 'usr_1', teamId: TEAM, role: 'viewer' } as const
  const at = (days: number, ms: number) => new Date(today - days * SPAN_MS.day + ms).toISOString()
  const queries = {
    'all time': { from: undefined, to: undefined },
    'three weeks, cut within minutes': { from: at(25, 31_234_567), to: at(4, 54_321_987) },
    'ten minutes, cut within minutes': { from: at(9, 40_012_345), to: at(9, 40_612_345) },
  }
  const total = (
    await stats.get(caller, deploymentId, { recent: 1, from: undefined, to: undefined })
  ).summary
  console.log(`\n${total?.resultCount.toLocaleString('en')} scores in ${DAYS} days`)
  console.log(await sizesOf(db))
  for (const [name, query] of Object.entries(queries)) {
    const tookMs: number[] = []
    for (let round = -WARM_UP_ROUNDS; round < ROUNDS; round++) {
      const startedMs = performance.now()
      await stats.get(caller, deploymentId, { ...query, recent: 20 })
      if (round >= 0) tookMs.push(performance.now() - startedMs)
    }
    const [median, late] = [0.5, 0.95].map((share) => percentile(tookMs, share).toFixed(1))
    const { summary } = await stats.get(caller, deploymentId, { ...query, recent: 20 })
    const p95 = latencyPercentileMs(summary?.latencyBuckets ?? new Map(), 0.95) ?? Number.NaN
    const exact = await exactP95(db, deploymentId, query)
    const error = (100 * Math.abs(p95 - exact)) / exact
    console.log(
      `${name.padEnd(34)}median ${median} ms, p95 ${late} ms; its p95_latency_ms ${p95.toFixed(4)}, exact ${exact.toFixed(4)} (${error.toFixed(2)} % off)`,
    )
  }
}

async function exactP95(
  db: Database,
  deploymentId: string,
  { from = '-infinity', to = 'infinity' }: { from: string | undefined; to: string | undefined },
): Promise<number> {
  return db.transaction(async (tx) => {
    await tx.execute(sql`set local statement_timeout = 0`)
    const [row] = await rowsOf<{ p95: number }>(
      tx,
      sql`select percentile_cont(0.95) within group (order by latency_ms) as p95 from score_log
        where deployment_id = ${deploymentId} and scored_at >= ${from} and scored_at < ${to}`,
    )
    return row?.p95 ?? Number.NaN
  })
}

async function sizesOf(db: Database): Promise<string> {
  const [row] = await rowsOf<{ log: string; indexes: string; rollups: string; rows: number }>(
    db,
    sql`select pg_size_pretty(sum(pg_total_relation_size(inhrelid))) as log,
        pg_size_pretty(sum(pg_indexes_size(inhrelid))) as indexes,
        pg_size_pretty(pg_total_relation_size('score_rollups')) as rollups,
        (select count(*)::float8 from score_rollups) as rows
      from pg_inherits where inhparent = 'score_log'::regclass`,
  )
  return `log ${row?.log}, indexes ${row?.indexes} of it; ${row?.rows} rollups, ${row?.rollups}`
}

const serverUrl = process.env['BENCH_DATABASE_URL']
if (serverUrl === undefined) throw new Error('set BENCH_DATABASE_URL to a PostgreSQL server')
const scoresMax = Number(process.env['BENCH_SCORES'] ?? 10_000_000)
console.log(
  `Node ${process.version}; ${ROUNDS} looks each, after ${WARM_UP_ROUNDS}; the database itself on one machine with it`,
)
for (const scores of [10_000, scoresMax]) await measure(serverUrl, scores)
