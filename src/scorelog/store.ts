import { type SQL, sql } from 'drizzle-orm'
import { type Database, rowsOf, type Transaction } from '../db/client.ts'
import { isDuplicate } from '../db/errors.ts'
import { flatCounts } from './counts.ts'
import type { Appended, LoggedRecord, ScoreLogStore } from './drain.ts'
import { FIELD_SEPARATOR, RECORD_FIELDS, type RecordField } from './record.ts'
import { mergeRollup, type Rollup } from './rollup.ts'
import { ROLLUP_COLUMNS, type RollupRow, rollupOfRow } from './rollup-rows.ts'
import { type Place, type PlacedRollup, placeText, RollupSums } from './rollup-sums.ts'
import type { Span } from './spans.ts'

const LINE_BREAK = 0x0a

/** Records that are not in the log yet, and what they add to it. */
export interface LogBatch {
  /** Their payloads with line breaks between them, in portions: each is a statement, and made when it is sent. */
  readonly portions: Iterable<string>
  readonly sums: RollupSums
}

/** Rollups by the texts of their places. */
type Held = ReadonlyMap<string, Rollup>
const NOTHING_HELD: Held = new Map()

/** Log and rollups in PostgreSQL. */
export class PostgresScoreLogStore implements ScoreLogStore {
  private readonly db: Database
  private readonly writer: string
  /** What the rows of the last append hold, which the next one need not read. */
  private held: Held = NOTHING_HELD
  private appends = 0
  private underWay = 0

  /** @param writer names the rollup rows that only this object writes */
  constructor(db: Database, writer: string) {
    this.db = db
    this.writer = writer
  }

  async append(records: readonly LoggedRecord[]): Promise<Appended> {
    try {
      return await this.appendNew({ portions: [linesOf(records)], sums: sumsOf(records) })
    } catch (error) {
      // Seldom: the commit of a batch was not heard of.
      if (!isDuplicate(error)) throw error
      return this.appendMissing(records)
    }
  }

  /** @throws Error, see `isDuplicate`, when one of them is in the log, or twice among them */
  appendNew({ portions, sums }: LogBatch): Promise<Appended> {
    return this.appending(async (tx) => {
      for (const lines of portions) await tx.execute(insertOf(lines))
      return sums
    })
  }

  /** Costs PostgreSQL half as much again. */
  private appendMissing(records: readonly LoggedRecord[]): Promise<Appended> {
    return this.appending(async (tx) => {
      const rows = await rowsOf<{ id: string }>(
        tx,
        sql`${insertOf(linesOf(records))} on conflict do nothing returning request_id as id`,
      )
      const ids = new Set(rows.map(({ id }) => id))
      // Deleted as they are met: a record that stands twice in a batch was inserted once.
      return sumsOf(records.filter(({ record }) => ids.delete(record.requestId)))
    })
  }

  /** @param insert returns the sums over what it inserted */
  private async appending(insert: (tx: Transaction) => Promise<RollupSums>): Promise<Appended> {
    // An append that was given up may end after others. What the rows hold is known only when none
    // was under way while the one before ran, and it was told of its commit.
    const known = this.held
    this.held = NOTHING_HELD
    this.underWay++
    const append = ++this.appends
    try {
      const { sums, written } = await this.db.transaction(async (tx) => {
        // A try that was given up may still be under way on a connection that went silent: it must end
        // before this one reads the rollups. Nobody else takes this lock.
        await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended(${this.writer}, 1))`)
        const inserted = await insert(tx)
        return { sums: inserted, written: await this.addToRollups(tx, inserted.placed(), known) }
      })
      if (this.underWay === 1 && this.appends === append) this.held = written
      return { records: sums.records, results: sums.results }
    } finally {
      this.underWay--
    }
  }

  /** @returns what the rows hold then */
  private async addToRollups(
    tx: Transaction,
    added: readonly PlacedRollup[],
    known: Held,
  ): Promise<Held> {
    const written = new Map<string, Rollup>()
    if (added.length === 0) return written
    const unknown = added.filter((place) => !known.has(placeText(place)))
    const read = unknown.length === 0 ? NOTHING_HELD : await this.heldRollups(tx, unknown)
    const rows = added.map(({ rollup, ...place }) => {
      const text = placeText(place)
      const before = known.get(text) ?? read.get(text)
      if (before !== undefined) mergeRollup(before, rollup)
      const now = before ?? rollup
      written.set(text, now)
      return rollupJson(place, now)
    })
    await tx.execute(sql`insert into score_rollups (deployment_id, span, starts_at, writer,
        request_count, result_count, score_avg, score_min, score_max, pd_avg, latency_avg_ms,
        last_request_at, score_buckets, latency_buckets)
      select d, s, to_timestamp(a / 1000), ${this.writer}, q, n, sa, sl, sh, p, l,
        to_timestamp(z / 1000), sb, lb
      from json_to_recordset(${`[${rows}]`}::text::json) as r(d text, s text, a float8, q float8,
        n float8, sa float8, sl float8, sh float8, p float8, l float8, z float8, sb json, lb json)
      on conflict (deployment_id, span, starts_at, writer) do update set
        request_count = excluded.request_count, result_count = excluded.result_count,
        score_avg = excluded.score_avg, score_min = excluded.score_min,
        score_max = excluded.score_max, pd_avg = excluded.pd_avg,
        latency_avg_ms = excluded.latency_avg_ms, last_request_at = excluded.last_request_at,
        score_buckets = excluded.score_buckets, latency_buckets = excluded.latency_buckets`)
    return written
  }

  /** What this writer's rows at these places hold so far. */
  private async heldRollups(
    tx: Transaction,
    places: readonly Place[],
  ): Promise<Map<string, Rollup>> {
    const wanted = JSON.stringify(
      places.map(({ deploymentId: d, span: s, startsAtMs: a }) => ({ d, s, a })),
    )
    const rows = await rowsOf<RollupRow>(
      tx,
      sql`select ${ROLLUP_COLUMNS} from score_rollups
        where writer = ${this.writer} and (deployment_id, span, starts_at) in (
          select d, s, to_timestamp(a / 1000)
          from json_to_recordset(${wanted}::text::json) as r(d text, s text, a float8))`,
    )
    return new Map(
      rows.map((row) => [
        placeText({
          deploymentId: row.deployment_id,
          span: row.span as Span,
          startsAtMs: row.starts_at_ms,
        }),
        rollupOfRow(row),
      ]),
    )
  }
}

function sumsOf(records: readonly LoggedRecord[]): RollupSums {
  const sums = new RollupSums()
  for (const logged of records) sums.add(logged)
  return sums
}

/**
 * The bytes of all records as lines of one parameter, which PostgreSQL takes apart: with the fields as
 * parameters, as arrays or as JSON the driver and the parsers took two to five times the processor time
 * (`bench/scenarios/drain.ts`). JSON is stored to the letter.
 */
function insertOf(lines: string): SQL {
  return sql`insert into score_log (scored_at, request_id, team_id, deployment_id, key_id, cache_version,
      bucket, latency_ms, is_batch, served_model_id, served_scores, served_pds, served_grades, results)
    select to_timestamp(${field('scoredAtMs')}::float8 / 1000), ${field('requestId')},
      ${field('teamId')}, ${field('deploymentId')}, ${field('keyId')},
      ${field('cacheVersion')}::integer, ${field('bucket')}::integer, ${field('latencyMs')}::float8,
      ${field('isBatch')}::boolean, ${field('servedModelId')}, ${field('servedScores')}::float8[],
      ${field('servedPds')}::float8[], ${field('servedGrades')}::json, ${field('results')}::json
    from (
      select string_to_array(line, ${LITERAL_SEPARATOR}, '') as fields
      from string_to_table(${lines}, ${LITERAL_LINE_BREAK}) as line
      offset 0 -- else the line is taken apart anew for each field
    ) as records`
}

const LITERAL_SEPARATOR = sql.raw(`chr(${FIELD_SEPARATOR.charCodeAt(0)})`)
const LITERAL_LINE_BREAK = sql.raw('chr(10)')

function field(name: RecordField): SQL {
  return sql.raw(`fields[${RECORD_FIELDS.indexOf(name) + 1}]`)
}

function linesOf(records: readonly LoggedRecord[]): string {
  const bytes = records.reduce((sum, { record }) => sum + record.payload.length + 1, 0)
  const lines = Buffer.allocUnsafe(bytes)
  let at = 0
  for (const { record } of records) {
    if (at > 0) lines[at++] = LINE_BREAK
    at += record.payload.copy(lines, at)
  }
  return lines.toString('utf8', 0, at)
}

function rollupJson({ deploymentId, span, startsAtMs }: Place, rollup: Rollup): string {
  return JSON.stringify({
    ...{ d: deploymentId, s: span, a: startsAtMs },
    ...{ q: rollup.requestCount, n: rollup.resultCount },
    ...{ sa: rollup.scoreAvg, sl: rollup.scoreMin, sh: rollup.scoreMax, p: rollup.pdAvg },
    ...{ l: rollup.latencyAvgMs, z: rollup.lastRequestAtMs },
    sb: flatCounts(rollup.scoreBuckets),
    lb: flatCounts(rollup.latencyBuckets),
  })
}
