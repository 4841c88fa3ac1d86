// What a look at the stats costs over a short and a long log: `npm run bench -- stats`, with
// BENCH_DATABASE_URL naming a PostgreSQL server on which a database may be created. BENCH_SCORES is
// the length of the long one, 10,000,000 unless set.
import { sql } from 'drizzle-orm'
import { openLogReader } from '../../src/log/reading/open-reader.ts'
import { ScanQueue } from '../../src/log/reading/scan-queue.ts'
import { SPAN_MS, spanStart } from '../../src/log/rollups/spans.ts'
import { systemClock } from '../../src/platform/clock.ts'
import { type Database, queryRows } from '../../src/platform/db/client.ts'
import { newId } from '../../src/platform/ids.ts'
import { BlockStats } from '../../src/reports/stats/block-stats.ts'
import { ModelComparisons } from '../../src/reports/stats/model-comparisons.ts'
import { StatsService } from '../../src/reports/stats/service.ts'
import { StatsStore } from '../../src/reports/stats/store.ts'
import { percentile } from '../../test/support/load/percentile.ts'
import { testModel } from '../../test/support/score-log/record-payloads.ts'
import { openBenchDatabase } from '../lib/bench-database.ts'
import { CARD, makeSpec } from '../lib/card.ts'
import { fillMonth } from '../lib/filled-log.ts'
import { randomApplicants, ScoreRecords } from '../lib/logged-scores.ts'

const DAYS = 30
const ROUNDS = 40
const WARM_UP_ROUNDS = 5
const TEAM = 'team_0VbcS4T982wOdiA3oiOZvU'
const MODEL = 'mod_0VbcS4T982wOdiA3oiOZvU'

async function measure(serverUrl: string, scores: number): Promise<void> {
  const database = await openBenchDatabase(serverUrl)
  const { db } = database
  const deploymentId = newId('dep_', Date.now())
  const spec = makeSpec(CARD)
  await insertDeployment(db, deploymentId, spec)
  const model = testModel(spec, MODEL)
  const records = new ScoreRecords(model, randomApplicants(CARD, 20_000), {
    teamId: TEAM,
    deploymentId,
  })
  const models = new Map([[MODEL, model.model]])
  await fillMonth({ db, records, models, scores, days: DAYS })
  await report(db, deploymentId, spanStart('day', Date.now()))
  await database.close()
}

async function insertDeployment(db: Database, deploymentId: string, spec: object): Promise<void> {
  await db.execute(sql`insert into teams values (${TEAM}, 'Bench', now())`)
  await db.execute(sql`insert into models (id, team_id, name, version, spec_version, environment, status, spec, deployed_by, created_at, updated_at)
    values (${MODEL}, ${TEAM}, 'Bench', '1', '1.0', 'production', 'active', ${JSON.stringify(spec)}::json, 'usr_1', now(), now())`)
  await db.execute(sql`insert into deployments (id, team_id, name, environment, is_active, champion_model_id, shadow_mode, cache_version, created_at, updated_at)
    values (${deploymentId}, ${TEAM}, 'Bench', 'production', true, ${MODEL}, false, 1, now(), now())`)
}

async function report(db: Database, deploymentId: string, today: number): Promise<void> {
  const { reader, blocks, cells } = openLogReader({ db, guarded: (store) => store })
  const store = new StatsStore(db)
  const comparisons = new ModelComparisons({ store, log: reader, queue: new ScanQueue() })
  const ofBlocks = new BlockStats(blocks, cells)
  const stats = new StatsService({ store, blocks: ofBlocks, comparisons, clock: systemClock })
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
  console.log(await computeSizes(db))
  for (const [name, query] of Object.entries(queries)) {
    const tookMs: number[] = []
    for (let round = -WARM_UP_ROUNDS; round < ROUNDS; round++) {
      const startedMs = performance.now()
      await stats.get(caller, deploymentId, { ...query, recent: 20 })
      if (round >= 0) tookMs.push(performance.now() - startedMs)
    }
    const [median, late] = [0.5, 0.95].map((share) => percentile(tookMs, share).toFixed(1))
    console.log(`${name.padEnd(34)}median ${median} ms, p95 ${late} ms`)
  }
}

async function computeSizes(db: Database): Promise<string> {
  const [row] = await queryRows<{ log: string; indexes: string; rollups: string; rows: number }>(
    db,
    sql`select pg_size_pretty(sum(pg_total_relation_size(inhrelid))) as log,
        pg_size_pretty(sum(pg_indexes_size(inhrelid))) as indexes,
        pg_size_pretty(pg_total_relation_size('score_rollups')) as rollups,
        (select count(*)::float8 from score_rollups) as rows
      from pg_inherits where inhparent = 'score_blocks'::regclass`,
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
