import { type SQL, sql } from 'drizzle-orm'
import { type Database, rowsOf, type Transaction } from '../../platform/db/client.ts'
import { isDuplicate } from '../../platform/db/errors.ts'
import type { ServedResults } from '../../rollups/rollup.ts'
import { RollupSums } from '../../rollups/rollup-sums.ts'
import { type DrainedBlock, encodeBlocks } from '../blocks/encode-blocks.ts'
import { insertOf as insertOfBlock } from '../blocks/insert-block.ts'
import { ErasureList, ErasuresMovedError, newestErasure } from '../erasure/erasure-list.ts'
import { writeDrainedSources } from '../proof/block-sources.ts'
import { growTrees } from '../proof/tree-writer.ts'
import { modelsOf } from '../reading/model-text-store.ts'
import type { ModelSource } from '../record/model-source.ts'
import { isRecordV4 } from '../record/record.ts'
import {
  FIELD_SEPARATOR,
  RECORD_FIELDS,
  type RecordField,
  readRecordV3,
  type ScoreRecord,
} from '../record/record-v3.ts'
import type { DrainPosition } from '../spool/reader.ts'
import type { Cursor } from '../spool/segments.ts'
import type { Appended, LoggedRecord, ScoreLogStore } from './drain.ts'
import { addToRollups, NO_ROLLUPS, type RollupsByKey } from './rollup-writer.ts'
import { moveCursor, readCursors } from './spool-cursors.ts'

const LINE_BREAK = 0x0a

/** Records that are not in the log yet. */
export interface LogBatch {
  /**
   * Payloads of version 3, separated by line breaks. Each portion is one statement, built when it
   * is sent.
   */
  readonly portions: Iterable<string>
  /** Sums of the records of version 3. */
  readonly sums: RollupSums
  /** Records of version 4. */
  readonly blocks: readonly DrainedBlock[]
  /** Place in the spool, which the transaction moves the cursor over; null for none. */
  readonly position: DrainPosition | null
  /** Version of the list of erasures that the batch was made with. */
  readonly erasures: number
}

/** A record of version 3 with what its rollups need. */
type LoggedRow = { readonly record: ScoreRecord; readonly served: ServedResults }

/** Thrown to take back what a transaction did. */
class TakenBack extends Error {}

/** Log and rollups in PostgreSQL. */
export class PostgresScoreLogStore implements ScoreLogStore {
  private readonly db: Database
  private readonly writer: string
  private readonly models: ModelSource
  private readonly erasures: ErasureList
  /** The rows that the last append wrote: the next one need not read them. */
  private lastWritten: RollupsByKey = NO_ROLLUPS
  private appends = 0
  private running = 0

  /** @param writer names the rollup rows that only this object writes */
  constructor(
    db: Database,
    writer: string,
    models: ModelSource = modelsOf(db),
    erasures = new ErasureList(db),
  ) {
    this.db = db
    this.writer = writer
    this.models = models
    this.erasures = erasures
  }

  async append(
    records: readonly LoggedRecord[],
    position: DrainPosition | null = null,
  ): Promise<Appended> {
    for (;;) {
      try {
        return await this.appendOnce(records, position)
      } catch (error) {
        if (!(error instanceof ErasuresMovedError)) throw error
        await this.erasures.load()
      }
    }
  }

  private async appendOnce(
    records: readonly LoggedRecord[],
    position: DrainPosition | null,
  ): Promise<Appended> {
    const erasures = this.erasures.version
    const rows = rowsIn(records, this.erasures)
    const blocks = await this.blocksOf(records)
    const portions = rows.length === 0 ? [] : [linesOf(rows)]
    const batch = { portions, sums: sumsOf(rows), blocks, position, erasures }
    try {
      return await this.appendNew(batch)
    } catch (error) {
      // Rare: the reply to the commit of a batch was lost.
      if (!isDuplicate(error)) throw error
      return this.appendMissing(rows, batch)
    }
  }

  async probe(records: readonly LoggedRecord[]): Promise<void> {
    const blocks = await this.blocksOf(records)
    const rows = rowsIn(records, this.erasures)
    try {
      await this.db.transaction(async (tx) => {
        for (const block of blocks)
          await tx.execute(insertOfBlock(block, { isSummed: false, sources: null }))
        if (rows.length > 0) {
          await tx.execute(sql`${insertOf(linesOf(rows))} on conflict do nothing`)
        }
        throw new TakenBack()
      })
    } catch (error) {
      if (!(error instanceof TakenBack)) throw error
    }
  }

  cursors(spoolIds: readonly string[]): Promise<ReadonlyMap<string, Cursor>> {
    return readCursors(this.db, spoolIds)
  }

  /**
   * @throws CursorMovedError, ErasuresMovedError
   * @throws Error, see `isDuplicate`, if a record is in the log or twice in the batch
   */
  appendNew(batch: LogBatch): Promise<Appended> {
    return this.inTransaction(batch, async (tx) => {
      for (const lines of batch.portions) await tx.execute(insertOf(lines))
      return batch.sums
    })
  }

  /** Stores the records that are missing. Costs PostgreSQL half as much again as `appendNew`. */
  private appendMissing(rows: readonly LoggedRow[], batch: LogBatch): Promise<Appended> {
    return this.inTransaction(batch, async (tx) => {
      const inserted = await rowsOf<{ id: string }>(
        tx,
        sql`${insertOf(linesOf(rows))} on conflict do nothing returning request_id as id`,
      )
      const ids = new Set(inserted.map(({ id }) => id))
      // Deletes each id it finds: a record that is twice in the batch was inserted once.
      return sumsOf(rows.filter(({ record }) => ids.delete(record.requestId)))
    })
  }

  private blocksOf(records: readonly LoggedRecord[]): Promise<DrainedBlock[]> {
    const payloads = records.flatMap(({ record }) =>
      isRecordV4(record) ? [this.erasures.applied(record.payload)] : [],
    )
    return encodeBlocks(payloads, this.models)
  }

  /**
   * Moves the cursor first: it makes the transaction wait for an attempt before it that missed its
   * deadline and still runs.
   *
   * @param insert stores the records of version 3, and returns the sums over what it inserted
   */
  private async inTransaction(
    { blocks, position, erasures, sums: { records } }: LogBatch,
    insert: (tx: Transaction) => Promise<RollupSums>,
  ): Promise<Appended> {
    const hasRows = records > 0
    // An append that missed its deadline can end after others. The rows are known only if the last
    // append ran alone and its commit was confirmed.
    const known = this.lastWritten
    this.lastWritten = NO_ROLLUPS
    this.running++
    const append = ++this.appends
    try {
      const { sums, written } = await this.db.transaction(async (tx) => {
        const newest = position === null ? await newestErasure(tx) : await moveCursor(tx, position)
        if (newest !== erasures) throw new ErasuresMovedError()
        await insertBlocks(tx, blocks)
        if (!hasRows) return { sums: new RollupSums(), written: NO_ROLLUPS }
        // An attempt that missed its deadline may still run on a silent connection. It must end
        // before this one reads the rollups. Only this writer takes this lock.
        await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended(${this.writer}, 1))`)
        const inserted = await insert(tx)
        return {
          sums: inserted,
          written: await addToRollups(tx, {
            writer: this.writer,
            added: inserted.rollups(),
            known,
          }),
        }
      })
      if (this.running === 1 && this.appends === append) this.lastWritten = written
      const added = { records: sums.records, results: sums.results }
      for (const block of blocks) {
        added.records += block.records
        added.results += block.results
      }
      return added
    } finally {
      this.running--
    }
  }
}

/** Adds the blocks to the log, and their roots to the trees of the teams. */
export async function insertBlocks(
  tx: Transaction,
  blocks: readonly DrainedBlock[],
): Promise<void> {
  const sources = await growTrees(tx, blocks)
  for (const [index, block] of blocks.entries()) {
    const of = writeDrainedSources(sources[index] ?? [])
    await tx.execute(insertOfBlock(block, { isSummed: false, sources: of }))
  }
}

function rowsIn(records: readonly LoggedRecord[], erasures: ErasureList): LoggedRow[] {
  return records.flatMap(({ record, served }) => {
    if (isRecordV4(record) || served === null) return []
    const payload = erasures.applied(record.payload)
    return [{ record: payload === record.payload ? record : readRecordV3(payload), served }]
  })
}

function sumsOf(records: readonly LoggedRow[]): RollupSums {
  const sums = new RollupSums()
  for (const { record, served } of records) sums.add(record, served)
  return sums
}

/**
 * Inserts records that are sent as lines of one parameter, which PostgreSQL splits. Fields sent as
 * parameters, arrays or JSON took two to five times the processor time in the driver and the
 * parsers (`bench/scenarios/drain.ts`). JSON is stored unchanged.
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
      offset 0 -- without it each field would split the line again
    ) as records`
}

const LITERAL_SEPARATOR = sql.raw(`chr(${FIELD_SEPARATOR.charCodeAt(0)})`)
const LITERAL_LINE_BREAK = sql.raw('chr(10)')

function field(name: RecordField): SQL {
  return sql.raw(`fields[${RECORD_FIELDS.indexOf(name) + 1}]`)
}

function linesOf(records: readonly LoggedRow[]): string {
  const bytes = records.reduce((sum, { record }) => sum + record.payload.length + 1, 0)
  const lines = Buffer.allocUnsafe(bytes)
  let at = 0
  for (const { record } of records) {
    if (at > 0) lines[at++] = LINE_BREAK
    at += record.payload.copy(lines, at)
  }
  return lines.toString('utf8', 0, at)
}
