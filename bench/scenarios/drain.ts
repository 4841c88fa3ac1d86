// What draining costs: `node bench/scenarios/drain.ts`, with BENCH_DATABASE_URL naming a PostgreSQL
// server on which a database may be created; without it on PGlite alone.
import { sql } from 'drizzle-orm'
import { systemClock } from '../../src/platform/clock.ts'
import { rowsOf } from '../../src/platform/db/client.ts'
import { randomBase62 } from '../../src/platform/ids/base62.ts'
import { newId } from '../../src/platform/ids/ids.ts'
import { spanStart } from '../../src/rollups/spans.ts'
import { Drain } from '../../src/score-log/drain/drain.ts'
import { PostgresScoreLogStore } from '../../src/score-log/drain/store.ts'
import { FIELD_SEPARATOR, readRecordV3 } from '../../src/score-log/record/record-v3.ts'
import { PostgresLogTables } from '../../src/score-log/retention/partitions.ts'
import type { DrainToken, SpoolReader } from '../../src/score-log/spool/reader.ts'
import { percentile } from '../../test/support/load/percentile.ts'
import { DeploymentTexts, ServedTexts } from '../../test/support/score-log/record-v3-texts.ts'
import { type BenchDatabase, openBenchDatabase } from '../lib/bench-database.ts'

const FEATURES = 20
const ROUNDS = 5
/** As in `services.ts`. */
const BATCH = { batchRecordsMax: 1_000, batchBytesMax: 4 * 1024 * 1024 }

interface Shape {
  readonly name: string
  readonly applicants: number
  readonly models: number
  readonly requests: number
}

const SHAPES: readonly Shape[] = [
  { name: 'single, one model', applicants: 1, models: 1, requests: 10_000 },
  { name: 'single, three models', applicants: 1, models: 3, requests: 10_000 },
  { name: 'batch of 1,000, three models', applicants: 1_000, models: 3, requests: 40 },
]

let state = 20_261_121
function random(): number {
  state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
  return state / 2_147_483_648
}

/**
 * What a request leaves in the spool; scores and probabilities with as many digits as a real card
 * gives.
 */
function payloadOf({ applicants, models }: Shape): Buffer {
  const scoredAtMs = Date.now()
  const texts = new DeploymentTexts(
    {
      teamId: 'team_0VbcS4T982wOdiA3oiOZvU',
      deploymentId: 'dep_0VbcS4T982wOdiA3oiOZvU',
      cacheVersion: 3,
    },
    Array.from({ length: models }, (_, n) => ({
      modelId: `mod_0VbcS4T982wOdiA3oiOZv${n}`,
      challengerId: n === 0 ? null : `ch_0VbcS4T982wOdiA3oiOZv${n}`,
    })),
  )
  const served = new ServedTexts()
  const result = (_: unknown, position: number) => {
    const score = 480 + Math.round(3000 * (random() + random() + random() - 1.5)) / 10
    const pd = 1 / (1 + Math.exp((score - 487.1228762045055) / 28.85390081777927))
    const bins = Array.from({ length: FEATURES }, () => Math.floor(8 * random()))
    const grade = `"${'ABCDEFGHI'[Math.floor(9 * random())]}"`
    if (position === 0) {
      const comma = served.grades === '' ? '' : ','
      served.scores += comma + score
      served.pds += comma + pd
      served.grades += comma + grade
    }
    return `[${score},${pd},${grade},0,"${bins}"]`
  }
  const rows = Array.from({ length: applicants }, (_, n) => {
    const id = applicants === 1 ? 'null' : `"application ${n}"`
    return `[${id},${Array.from({ length: models }, result)}]`
  })
  const request = {
    requestId: newId('req_', scoredAtMs),
    scoredAtMs,
    keyId: 'key_0VbcS4T982wOdiA3oiOZvU',
    bucket: null,
    latencyMs: Math.round(1000 * 2 ** (4 * random())) / 1000,
    isBatch: applicants > 1,
    served: 0,
  }
  return Buffer.from(`${texts.head}${rows}]}${FIELD_SEPARATOR}${texts.facts(request, served)}`)
}

/** The spool without its files: records are read from their bytes, as there. */
class PayloadSpool implements SpoolReader {
  private done = 0
  private readonly payloads: readonly Buffer[]

  constructor(payloads: readonly Buffer[]) {
    this.payloads = payloads
  }

  get stats() {
    return {
      bytes: 0,
      bytesMax: 1,
      records: this.payloads.length - this.done,
      oldestAgeMs: null,
      overdueRequests: 0,
    }
  }

  oldest(): null {
    return null
  }

  private readonly spoolId = randomBase62(22)

  async readBatch(recordsMax: number, bytesMax: number) {
    const records = []
    let bytes = 0
    for (let at = this.done; at < this.payloads.length && records.length < recordsMax; at++) {
      const payload = this.payloads[at] ?? Buffer.alloc(0)
      bytes += payload.length
      if (records.length > 0 && bytes > bytesMax) break
      records.push(readRecordV3(payload))
    }
    const offset = this.done + records.length
    return {
      records,
      rejected: [],
      token: {
        directory: '',
        spoolId: this.spoolId,
        from: { segment: 0, offset: this.done },
        segment: 0,
        offset,
        records: records.length,
      },
    }
  }

  async readBehind(): Promise<never[]> {
    return []
  }

  async acknowledge({ offset }: DrainToken) {
    this.done = offset
  }

  positions() {
    return new Map()
  }

  async follow(): Promise<number> {
    throw new Error('a batch of the bench was stored already')
  }

  async quarantine(): Promise<void> {
    throw new Error('a record of the bench was refused')
  }

  onAppend(): void {}
}

async function drainAll(database: BenchDatabase, payloads: readonly Buffer[]): Promise<void> {
  const drain = new Drain({
    spool: new PayloadSpool(payloads),
    store: new PostgresScoreLogStore(database.db, 'bench'),
    thread: null,
    clock: systemClock,
    log: {
      failing: (_facts, error) => {
        throw error
      },
      recovered: () => undefined,
      quarantine: () => undefined,
    },
    gatherMs: 0,
    ...BATCH,
  })
  drain.start()
  await drain.close(600_000)
  if (drain.stats.drainedRecords !== payloads.length) throw new Error('not all was drained')
}

async function logBytes({ db }: BenchDatabase): Promise<{ total: number; indexes: number }> {
  const [row] = await rowsOf<{ total: number; indexes: number }>(
    db,
    sql`select sum(pg_total_relation_size(inhrelid))::float8 as total,
        sum(pg_indexes_size(inhrelid))::float8 as indexes
      from pg_inherits where inhparent = 'score_log'::regclass`,
  )
  return row ?? { total: 0, indexes: 0 }
}

async function measure(database: BenchDatabase, shape: Shape): Promise<void> {
  const resultsPerRound = shape.requests * shape.applicants * shape.models
  const seconds: number[] = []
  const cpuUs: number[] = []
  const before = await logBytes(database)
  for (let round = -1; round < ROUNDS; round++) {
    const payloads = Array.from({ length: shape.requests }, () => payloadOf(shape))
    const cpu = process.cpuUsage()
    const startedMs = performance.now()
    await drainAll(database, payloads)
    const tookMs = performance.now() - startedMs
    const { user, system } = process.cpuUsage(cpu)
    if (round < 0) continue
    seconds.push(tookMs / 1000)
    cpuUs.push(user + system)
  }
  const after = await logBytes(database)
  const scores = (ROUNDS + 1) * shape.requests * shape.applicants
  const perMillion = (bytes: number) => `${Math.round(bytes / scores)} MB`.padStart(8)
  const perSecond = (took: number) => Math.round(resultsPerRound / took).toLocaleString('en')
  console.log(
    `${database.name.padEnd(11)}${shape.name.padEnd(30)}${perSecond(percentile(seconds, 0.5)).padStart(10)}` +
      ` (${perSecond(Math.max(...seconds))} to ${perSecond(Math.min(...seconds))})`.padEnd(24) +
      `${(percentile(cpuUs, 0.5) / resultsPerRound).toFixed(2).padStart(8)}` +
      `${perMillion(after.total - before.total)} / ${perMillion(after.indexes - before.indexes)}`,
  )
}

const serverUrl = process.env['BENCH_DATABASE_URL'] ?? null
console.log(
  `Node ${process.version}; ${FEATURES} features; ${ROUNDS} rounds, median (least to most)`,
)
console.log(
  'database   shape                            results/s                     µs CPU of this process per result, MB (indexes) per million applicants',
)
for (const url of serverUrl === null ? [null] : [serverUrl, null]) {
  const database = await openBenchDatabase(url)
  await new PostgresLogTables(database.db).makePartitions([spanStart('day', Date.now())])
  for (const shape of SHAPES) await measure(database, shape)
  await database.close()
}
