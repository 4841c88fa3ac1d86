import { type SQL, sql } from 'drizzle-orm'
import { epochMs, momentText } from '../../platform/db/client.ts'
import { bigintList, textList } from '../../platform/db/lists.ts'
import { SPAN_MS, spanStart, type TimeRange } from '../rollups/spans.ts'
import type { BlockQuery } from './block-reader.ts'
import { deploymentHash, referenceHashes } from './hashes.ts'
import { filterSum, IS_CURRENT, IS_FILTER_SOUND, IS_INDEX_SOUND } from './index-sums.ts'

/** Days of a window of a long range, at most. */
export const WINDOW_DAYS_MAX = 32

/**
 * Splits a range at days of UTC. PostgreSQL plans every partition of a range: many readers find
 * what they want in the first days, and the windows after them are longer.
 */
export function* splitIntoWindows(
  { fromMs, toMs }: TimeRange,
  order: BlockQuery['order'],
): Generator<TimeRange> {
  const isRising = order === 'oldest'
  let days = 1
  let [low, high] = [fromMs, toMs]
  while (low < high) {
    const length = days * SPAN_MS.day
    const cut = isRising
      ? Math.min(high, spanStart('day', low) + length)
      : Math.max(low, spanStart('day', high - 1) + SPAN_MS.day - length)
    yield isRising ? { fromMs: low, toMs: cut } : { fromMs: cut, toMs: high }
    if (isRising) low = cut
    else high = cut
    days = Math.min(WINDOW_DAYS_MAX, 2 * days)
  }
}

export interface BlockKey {
  readonly block_id: string
  readonly first_at_ms: number
}

/** The rows of these blocks; the bounds of time lead to their partitions. */
export function areIn(keys: readonly BlockKey[]): SQL {
  const times = keys.map(({ first_at_ms }) => first_at_ms)
  return sql`first_at >= ${momentText(times.reduce((a, b) => Math.min(a, b), Infinity))}
    and first_at <= ${momentText(times.reduce((a, b) => Math.max(a, b), -Infinity))}
    and block_id = any(${bigintList(keys.map(({ block_id }) => block_id))})
    and first_at = any(${textList(times.map(momentText))}::timestamptz[])`
}

/** Columns of the blocks in the database and of those in the archive. */
export function matchEither(columns: SQL, condition: SQL): SQL {
  return sql`(select ${columns} from score_blocks where ${condition}
    union all select ${columns} from score_archive_blocks where ${condition}) as either`
}

/**
 * The rows of blocks, in the database and in the archive, as `ListedBlock` has them.
 *
 * @param condition receives whether the index columns of a row are sound
 */
export function listBlocks(
  condition: (isIndexSound: SQL) => SQL,
  { withSuperseded = false, reference }: Pick<BlockQuery, 'withSuperseded' | 'reference'>,
): SQL {
  const isWanted = withSuperseded ? sql`true` : IS_CURRENT
  const isFilterSound = reference === undefined ? sql`true` : IS_FILTER_SOUND
  return sql`(
    select block_id, first_at, last_at, octet_length(data) as bytes, checksum,
      false as is_archived, ${isFilterSound} as is_filter_sound
    from score_blocks where ${isWanted} and ${condition(IS_INDEX_SOUND.score_blocks)}
    union all
    select block_id, first_at, last_at, data_bytes + sources_bytes, checksum, true,
      ${isFilterSound}
    from score_archive_blocks where ${condition(IS_INDEX_SOUND.score_archive_blocks)}
  ) as listed`
}

/** The columns of `ListedBlock`. */
export const LISTED_COLUMNS = sql`block_id::text as block_id, ${epochMs(sql`first_at`)} as first_at_ms,
  bytes, checksum::float8 as checksum, is_archived, is_filter_sound`

/** Bounds that lead to the partitions and to the primary key. */
export function makeRangeCondition({ fromMs, toMs }: BlockQuery): SQL {
  const startMs = Number.isFinite(fromMs) ? spanStart('hour', fromMs) : fromMs
  return sql`first_at >= ${momentText(startMs)} and first_at < ${momentText(toMs)}`
}

/** The rows that a query asks for, and those of its range whose columns don't say what they hold. */
export function makeCondition(query: BlockQuery, isIndexSound: SQL): SQL {
  const parts = [sql`last_at >= ${momentText(query.fromMs)}`]
  const { deploymentId, reference } = query
  if (deploymentId !== undefined) {
    parts.push(sql`deployments @> ${`{${deploymentHash(deploymentId)}}`}::integer[]`)
  }
  if (reference !== undefined) {
    parts.push(isInFilter(reference))
  }
  return sql`${makeRangeCondition(query)} and (${sql.join(parts, sql` and `)} or not ${isIndexSound})`
}

/**
 * Tells whether the filter of a row lets a reference through, or is damaged. The inner statement
 * reads a filter once, where each function would read it from its own place beside the table.
 */
function isInFilter({ teamId, reference }: NonNullable<BlockQuery['reference']>): SQL {
  const isSet = referenceHashes(teamId, reference).map(
    (hash) => sql`get_bit(filter, ${hash}::bigint % bits) = 1`,
  )
  return sql`(select (${sql.join(isSet, sql` and `)}) or ${filterSum(sql`filter`)} <> filter_sum
    from (select reference_filter || ''::bytea as filter,
      nullif(octet_length(reference_filter) * 8, 0) as bits offset 0) as of_row)`
}
