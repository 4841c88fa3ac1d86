import { sql } from 'drizzle-orm'
import {
  type Database,
  epochMs,
  momentText,
  queryRows,
  type Transaction,
} from '../../../platform/db/client.ts'
import { classifyCallFailure } from '../../../platform/db/errors.ts'
import { bigintList } from '../../../platform/db/lists.ts'
import { unlessLocked } from '../../../platform/db/transactions.ts'
import { runInTurns, TurnTaker } from '../../../platform/turn-taker.ts'
import { writeMergedSources } from '../../proof/block-sources.ts'
import type { ModelSource } from '../../record/model-source.ts'
import { type KeyedRollup, mergeInto } from '../../rollups/rollup-sums.ts'
import { SPAN_MS, type Span, spanStart } from '../../rollups/spans.ts'
import { areIn } from '../block-conditions.ts'
import { BlockEncoder, type EncodedBlock } from '../block-encoder.ts'
import { BLOCK_COLUMNS, type BlockRow, makeInsert, readBlock } from '../block-rows.ts'
import { readSums } from '../block-sums.ts'
import { DamagedBlocks } from '../damaged-block.ts'
import { IS_INDEX_SOUND, indexSum } from '../index-sums.ts'
import type { StoredBlock } from '../stored-block.ts'
import { DamageUpkeep, type OpenedBlock, type WaitingBlock } from './damage-upkeep.ts'
import { addToRollups } from './rollup-writer.ts'

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
/** Time for which readers that have listed a block may still read it; see `BlockReader`. */
const SUPERSEDED_MS = 3 * SPAN_MS.hour

interface JoinedBlock {
  readonly block: EncodedBlock
  /** See `readSources`. */
  readonly sources: Buffer
}

/** Changes to stored blocks as time passes. One replica at a time makes them. */
export class BlockTables {
  private readonly db: Database
  private readonly models: ModelSource
  private readonly damage: DamageUpkeep
  private readonly failedHours = new FailedHours()

  constructor(db: Database, models: ModelSource, damaged = new DamagedBlocks()) {
    this.db = db
    this.models = models
    this.damage = new DamageUpkeep({ db, models, damaged })
  }

  /**
   * Adds the sums of new blocks to the rollups. Readers add the sums that wait: they see the same
   * before and after.
   *
   * @returns number of blocks; 0 if there is none, or another replica does it
   */
  async rollUp(): Promise<number> {
    const unsound: WaitingBlock[] = []
    const rolled = await unlessLocked(this.db, 'score_blocks', async (tx) => {
      const blocks = await queryRows<WaitingBlock>(
        tx,
        sql`select block_id::text as block_id, ${epochMs(sql`first_at`)} as first_at_ms, sums
          from (
            select *, sum(octet_length(sums)) over up_to_it as bytes,
              row_number() over up_to_it as number
            from (
              select block_id, first_at, sums from score_sums
              order by first_at limit ${ROLLED_BLOCKS_MAX}
            ) as listed
            window up_to_it as (order by first_at, block_id)
          ) as counted
          where number = 1 or bytes <= ${ROLLED_BYTES_MAX} order by first_at, block_id`,
      )
      const sound = blocks.filter((block) => {
        const isSound = this.damage.hasSoundSums(block)
        if (!isSound) unsound.push(block)
        return isSound
      })
      if (sound.length === 0) return 0
      const { added, count } = await readRollups(sound)
      await addToRollups(tx, added)
      await tx.execute(sql`delete from score_sums where ${areIn(sound.slice(0, count))}`)
      return count
    })
    // Outside of the transaction, which would wait for itself on the embedded database.
    return (rolled ?? 0) + (await this.damage.mendSums(unsound))
  }

  /** Looks again at blocks that were damaged: some may have been restored. */
  recheck(): Promise<void> {
    return this.damage.recheck()
  }

  /**
   * Makes one large block of small ones of an hour that is over.
   *
   * @returns number of small blocks; 0 if there are none, or another replica does it
   */
  async merge(nowMs: number): Promise<number> {
    const found = await this.smallBlocks(nowMs)
    const opened = await this.damage.sound(found)
    const blocks = opened.map(({ stored }) => stored)
    // Those that are damaged are known by now, and not among the blocks of the next call.
    if (blocks.length < 2) return found.length - blocks.length
    const hourMs = spanStart('hour', blocks[0]?.firstAtMs ?? 0)
    const whole = await this.joined(opened).catch((error: unknown) => {
      // Without this the next round would try the same blocks, and no others.
      if (classifyCallFailure(error) !== 'away') this.failedHours.skip(hourMs, nowMs)
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

  /** Deletes blocks whose requests have been in a merged block for some time. */
  async dropSuperseded(nowMs: number): Promise<void> {
    await this.db.execute(sql`delete from score_blocks
      where first_at >= ${momentText(nowMs - MERGE_WITHIN_MS - SPAN_MS.day)}
        and superseded_at < ${momentText(nowMs - SUPERSEDED_MS)}
        and ${IS_INDEX_SOUND.score_blocks}`)
  }

  /** Small blocks of the oldest hour that has at least two of them. */
  private async smallBlocks(nowMs: number): Promise<StoredBlock[]> {
    const endMs = spanStart('hour', nowMs - MERGE_AFTER_MS)
    const isSmall = sql`block_id <> all (${bigintList(this.damage.unreadable())})
      and superseded_at is null and records < ${SMALL_RECORDS_MAX}
      and raw_bytes < ${SMALL_RAW_BYTES_MAX} and applicants < ${SMALL_APPLICANTS_MAX}`
    const hours = await queryRows<{ hour_ms: number }>(
      this.db,
      sql`select ${epochMs(sql`date_trunc('hour', first_at, 'UTC')`)} as hour_ms from score_blocks
        where first_at >= ${momentText(nowMs - MERGE_WITHIN_MS)} and first_at < ${momentText(endMs)}
          and ${isSmall}
        group by 1 having count(*) > 1 order by 1`,
    )
    const hour = hours.find(({ hour_ms }) => !this.failedHours.isSkipped(hour_ms, nowMs))
    if (hour === undefined) return []
    const rows = await queryRows<BlockRow>(
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
    return rows.map(readBlock)
  }

  /** The requests of all blocks in the order of time, as one block. */
  private async joined(opened: readonly OpenedBlock[]): Promise<JoinedBlock> {
    const turns = new TurnTaker()
    const models = await this.models.compiled(opened.flatMap(({ block }) => block.modelIds))
    const requests = opened
      .flatMap(({ block, sources: of }) =>
        Array.from({ length: block.count }, (_, index) => ({
          block,
          index,
          source: of.sources[of.readSource(index)] ?? null,
          atMs: block.scoredAtMs(index),
        })),
      )
      .sort((one, other) => one.atMs - other.atMs)
    const encoder = new BlockEncoder(models)
    for (const { block, index } of requests) {
      encoder.add(block.payload(index, models))
      await turns.giveWay()
    }
    const encoded = await runInTurns(encoder.encodeSteps())
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
  const locked = await queryRows<{ checksum: number }>(
    tx,
    sql`select checksum::float8 as checksum from score_blocks
      where ${areIn(keys)} and superseded_at is null and ${IS_INDEX_SOUND.score_blocks} for update`,
  )
  // An erasure changes a block in its place.
  const checksums = (of: readonly { readonly checksum: number }[]) =>
    of
      .map(({ checksum }) => checksum)
      .sort((a, b) => a - b)
      .join()
  if (checksums(locked) !== checksums(blocks)) return false
  await tx.execute(makeInsert(block, { isSummed: true, sources }))
  await tx.execute(sql`update score_blocks set superseded_at = now(),
      index_sum = ${indexSum(sql`true`)} where ${areIn(keys)}`)
  return true
}

/** An hour is left alone after this many failures. */
const FAILURES_MAX = 3
/** Above the number of hours within which blocks are merged. */
const HOURS_MAX = 100

/** Hours whose blocks could not be merged, so that others get their turn. */
export class FailedHours {
  private readonly hours = new Map<number, { readonly failures: number; readonly atMs: number }>()

  /** Counts a failure that the next attempt may not meet. */
  add(hourMs: number, nowMs: number): void {
    this.set(hourMs, nowMs, (this.hours.get(hourMs)?.failures ?? 0) + 1)
  }

  /** Leaves an hour alone from its first failure on: the next attempt would fail the same way. */
  skip(hourMs: number, nowMs: number): void {
    this.set(hourMs, nowMs, FAILURES_MAX)
  }

  /** Failures are forgotten an hour after the last one. */
  isSkipped(hourMs: number, nowMs: number): boolean {
    const found = this.hours.get(hourMs)
    if (found === undefined) return false
    if (nowMs - found.atMs < SPAN_MS.hour) return found.failures >= FAILURES_MAX
    this.hours.delete(hourMs)
    return false
  }

  private set(hourMs: number, atMs: number, failures: number): void {
    this.hours.delete(hourMs)
    this.hours.set(hourMs, { failures, atMs })
    for (const oldest of this.hours.keys()) {
      if (this.hours.size <= HOURS_MAX) return
      this.hours.delete(oldest)
    }
  }
}

/** Minutes of one transaction, unless one block alone has more. */
const MINUTES_MAX = 4_096
/** Merged before it may be another's turn. */
const PART = 64

interface WaitingSums {
  /** As `writeSums` has written them. */
  readonly sums: Uint8Array
}

interface SummedBlocks {
  readonly added: readonly KeyedRollup[]
  /** Number of blocks, from the first one on. */
  readonly count: number
}

/**
 * The rollups of all minutes, hours and days of the first blocks. Hours are added up from minutes
 * and days from hours: a thousand deployments have a thousand minutes in each block.
 */
export async function readRollups(blocks: readonly WaitingSums[]): Promise<SummedBlocks> {
  const turns = new TurnTaker()
  const minutes = new Map<string, KeyedRollup>()
  let count = 0
  for (const { sums } of blocks) {
    if (count > 0 && minutes.size >= MINUTES_MAX) break
    await merge(minutes, readSums(Buffer.from(sums)), 'minute', turns)
    count++
  }
  const hours = new Map<string, KeyedRollup>()
  await merge(hours, [...minutes.values()], 'hour', turns)
  const days = new Map<string, KeyedRollup>()
  await merge(days, [...hours.values()], 'day', turns)
  return { added: [...minutes.values(), ...hours.values(), ...days.values()], count }
}

async function merge(
  wholes: Map<string, KeyedRollup>,
  parts: readonly KeyedRollup[],
  span: Span,
  turns: TurnTaker,
): Promise<void> {
  for (let at = 0; at < parts.length; at += PART) {
    mergeInto(wholes, parts.slice(at, at + PART), span)
    await turns.giveWay()
  }
}
