import { type SQL, sql } from 'drizzle-orm'
import { type Database, rowsOf, type Transaction } from '../../../platform/db/client.ts'
import { isDatabaseUnavailable } from '../../../platform/db/errors.ts'
import { unlessLocked } from '../../../platform/db/transactions.ts'
import { epochMs, momentText } from '../../../rollups/rollup-rows.ts'
import { SPAN_MS, spanStart } from '../../../rollups/spans.ts'
import { addToRollups } from '../../drain/rollup-writer.ts'
import { readSources, writeMergedSources } from '../../proof/block-sources.ts'
import { TurnTaker } from '../../reading/turn-taker.ts'
import type { ModelSource } from '../../record/model-source.ts'
import type { OpenBlock } from '../block.ts'
import { openBlock } from '../block-decoder.ts'
import { BlockEncoder, type EncodedBlock } from '../block-encoder.ts'
import { BLOCK_COLUMNS, type BlockRow, blockOf } from '../block-rows.ts'
import { insertOf } from '../insert-block.ts'
import type { StoredBlock } from '../stored-block.ts'
import type { BlockTables } from './block-upkeep.ts'
import { FailedHours } from './failed-hours.ts'
import { rollupsOf } from './waiting-sums.ts'

/** Names the rollups of blocks. */
const WRITER = 'blocks'
/** Blocks of one transaction, and bytes of their sums unless one block alone has more. */
const ROLLED_BLOCKS_MAX = 2_000
const ROLLED_BYTES_MAX = 4 * 1024 * 1024
/** A larger block gains too little from a merge to be worth its work. */
const SMALL_RECORDS_MAX = 256
const SMALL_RAW_BYTES_MAX = 1024 * 1024
const SMALL_APPLICANTS_MAX = 16_384
/** Bounds of a merge's memory and time. Two small blocks are always within them. */
const MERGED_RECORDS_MAX = 8_192
const MERGED_RAW_BYTES_MAX = 4 * 1024 * 1024
const MERGED_APPLICANTS_MAX = 65_536
const MERGED_BLOCKS_MAX = 4_096
/** An hour is merged this long after its end, and no more after two days. */
const MERGE_AFTER_MS = 10 * 60_000
const MERGE_WITHIN_MS = 2 * SPAN_MS.day
/** How long readers that have listed a block may still read it; see `PostgresBlockReader`. */
const SUPERSEDED_MS = 3 * SPAN_MS.hour

interface JoinedBlock {
  readonly block: EncodedBlock
  /** See `readSources`. */
  readonly sources: Buffer | null
}

interface BlockKey {
  readonly block_id: string
  readonly first_at_ms: number
}

/** Blocks in PostgreSQL. */
export class PostgresBlockTables implements BlockTables {
  private readonly db: Database
  private readonly models: ModelSource
  private readonly failedHours = new FailedHours()

  constructor(db: Database, models: ModelSource) {
    this.db = db
    this.models = models
  }

  /** Readers add the sums that wait: they see the same before and after. */
  rollUp(): Promise<number> {
    return this.rollUpSums(
      sql`score_sums`,
      (blocks) => sql`delete from score_sums
      where ${areIn(blocks)}`,
    )
  }

  rollUpOlder(): Promise<number> {
    return this.rollUpSums(
      sql`score_blocks where not is_summed`,
      (blocks) => sql`update score_blocks set is_summed = true, sums = ''::bytea
        where ${areIn(blocks)}`,
    )
  }

  /** @param taken takes away what was added */
  private async rollUpSums(
    waiting: SQL,
    taken: (blocks: readonly BlockKey[]) => SQL,
  ): Promise<number> {
    const rolled = await unlessLocked(this.db, 'score_blocks', async (tx) => {
      const blocks = await rowsOf<BlockKey & { readonly sums: Uint8Array }>(
        tx,
        sql`select block_id::text as block_id, ${epochMs(sql`first_at`)} as first_at_ms, sums
          from (
            select *, sum(octet_length(sums)) over up_to_it as bytes,
              row_number() over up_to_it as number
            from (
              select block_id, first_at, sums from ${waiting}
              order by first_at limit ${ROLLED_BLOCKS_MAX}
            ) as listed
            window up_to_it as (order by first_at, block_id)
          ) as counted
          where number = 1 or bytes <= ${ROLLED_BYTES_MAX} order by first_at, block_id`,
      )
      if (blocks.length === 0) return 0
      const { added, count } = await rollupsOf(blocks)
      await addToRollups(tx, { writer: WRITER, added })
      await tx.execute(taken(blocks.slice(0, count)))
      return count
    })
    return rolled ?? 0
  }

  async merge(nowMs: number): Promise<number> {
    const blocks = await this.smallBlocks(nowMs)
    if (blocks.length < 2) return 0
    const hourMs = spanStart('hour', blocks[0]?.firstAtMs ?? 0)
    const whole = await this.joined(blocks).catch((error: unknown) => {
      // Without this the next round would try the same blocks, and no others.
      if (!isDatabaseUnavailable(error)) this.failedHours.skip(hourMs, nowMs)
      throw error
    })
    const done = await unlessLocked(this.db, 'score_blocks', (tx) =>
      replace(tx, blocks, whole),
    ).catch((error: unknown) => {
      this.failedHours.add(hourMs, nowMs)
      throw error
    })
    return done === true ? blocks.length : 0
  }

  async dropSuperseded(nowMs: number): Promise<void> {
    await this.db.execute(sql`delete from score_blocks
      where first_at >= ${momentText(nowMs - MERGE_WITHIN_MS - SPAN_MS.day)}
        and superseded_at < ${momentText(nowMs - SUPERSEDED_MS)}`)
  }

  /** Small blocks of the oldest hour that has at least two of them. */
  private async smallBlocks(nowMs: number): Promise<StoredBlock[]> {
    const endMs = spanStart('hour', nowMs - MERGE_AFTER_MS)
    const isSmall = sql`superseded_at is null and is_summed and records < ${SMALL_RECORDS_MAX}
      and raw_bytes < ${SMALL_RAW_BYTES_MAX} and applicants < ${SMALL_APPLICANTS_MAX}`
    const hours = await rowsOf<{ hour_ms: number }>(
      this.db,
      sql`select ${epochMs(sql`date_trunc('hour', first_at, 'UTC')`)} as hour_ms from score_blocks
        where first_at >= ${momentText(nowMs - MERGE_WITHIN_MS)} and first_at < ${momentText(endMs)}
          and ${isSmall}
        group by 1 having count(*) > 1 order by 1`,
    )
    const hour = hours.find(({ hour_ms }) => !this.failedHours.isSkipped(hour_ms, nowMs))
    if (hour === undefined) return []
    const rows = await rowsOf<BlockRow>(
      this.db,
      sql`select ${BLOCK_COLUMNS} from (
          select *, sum(records) over before_it as records_before,
            sum(raw_bytes::bigint) over before_it as bytes_before,
            sum(applicants::bigint) over before_it as applicants_before
          from score_blocks
          where first_at >= ${momentText(hour.hour_ms)}
            and first_at < ${momentText(hour.hour_ms + SPAN_MS.hour)} and ${isSmall}
          window before_it as (order by first_at, block_id)
          order by first_at, block_id limit ${MERGED_BLOCKS_MAX}
        ) as small
        where records_before <= ${MERGED_RECORDS_MAX} and bytes_before <= ${MERGED_RAW_BYTES_MAX}
          and applicants_before <= ${MERGED_APPLICANTS_MAX}
        order by first_at, block_id`,
    )
    return rows.map(blockOf)
  }

  /** The requests of all blocks in the order of time, as one block. */
  private async joined(blocks: readonly StoredBlock[]): Promise<JoinedBlock> {
    const turns = new TurnTaker()
    const opened: { readonly stored: StoredBlock; readonly block: OpenBlock }[] = []
    for (const stored of blocks) {
      opened.push({ stored, block: openBlock(stored) })
      await turns.giveWay()
    }
    const models = await this.models.compiled(opened.flatMap(({ block }) => block.modelIds))
    const requests = opened
      .flatMap(({ stored, block }) => {
        const of = readSources(stored.sources, (record) => block.teamId(record))
        return Array.from({ length: block.count }, (_, index) => ({
          block,
          index,
          source: of.sources[of.sourceOf(index)] ?? null,
          atMs: block.scoredAtMs(index),
        }))
      })
      .sort((one, other) => one.atMs - other.atMs)
    const encoder = new BlockEncoder(models)
    for (const { block, index } of requests) {
      encoder.add(block.payload(index, models))
      await turns.giveWay()
    }
    const encoded = encoder.encode()
    if (encoded === null) throw new Error('blocks without requests')
    const sources = writeMergedSources(requests.map(({ source }) => source))
    return { block: encoded, sources }
  }
}

/** @returns false if one of the blocks has gone meanwhile; then nothing is changed */
async function replace(
  tx: Transaction,
  blocks: readonly StoredBlock[],
  { block, sources }: JoinedBlock,
): Promise<boolean> {
  const keys = blocks.map(({ blockId, firstAtMs }) => ({
    block_id: blockId,
    first_at_ms: firstAtMs,
  }))
  const locked = await rowsOf<{ checksum: number }>(
    tx,
    sql`select checksum::float8 as checksum from score_blocks
      where ${areIn(keys)} and superseded_at is null for update`,
  )
  // An erasure changes a block in its place.
  const checksums = (of: readonly { readonly checksum: number }[]) =>
    of
      .map(({ checksum }) => checksum)
      .sort((a, b) => a - b)
      .join()
  if (checksums(locked) !== checksums(blocks)) return false
  await tx.execute(insertOf(block, { isSummed: true, sources }))
  await tx.execute(sql`update score_blocks set superseded_at = now() where ${areIn(keys)}`)
  return true
}

function areIn(keys: readonly BlockKey[]): SQL {
  const wanted = JSON.stringify(keys.map(({ block_id, first_at_ms }) => [first_at_ms, block_id]))
  const times = keys.map(({ first_at_ms }) => first_at_ms)
  return sql`first_at >= ${momentText(times.reduce((a, b) => Math.min(a, b), Infinity))}
    and first_at <= ${momentText(times.reduce((a, b) => Math.max(a, b), -Infinity))}
    and (first_at, block_id) in (select to_timestamp((key->>0)::float8 / 1000), (key->>1)::bigint
      from json_array_elements(${wanted}::text::json) as wanted(key))`
}
