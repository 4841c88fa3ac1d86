import { type SQL, sql } from 'drizzle-orm'
import { momentText } from '../../rollups/rollup-rows.ts'
import { type KeyedRollup, merged } from '../../rollups/rollup-sums.ts'
import { type SpanRange, spanStart, type TimeRange } from '../../rollups/spans.ts'
import { readSums } from './block-sums.ts'
import { deploymentHash } from './hashes.ts'

/**
 * Rows of `score_sums` that can count a deployment's requests within these ranges. `score_rollups`
 * does not contain them yet.
 */
export function unsummedOf(deploymentId: string, ranges: readonly TimeRange[]): SQL {
  let [fromMs, toMs] = [Infinity, -Infinity]
  for (const range of ranges) {
    fromMs = Math.min(fromMs, range.fromMs)
    toMs = Math.max(toMs, range.toMs)
  }
  // A block holds requests of one hour.
  const startMs = Number.isFinite(fromMs) ? spanStart('hour', fromMs) : fromMs
  return sql`first_at >= ${momentText(startMs)} and first_at < ${momentText(toMs)}
    and deployments @> ${`{${deploymentHash(deploymentId)}}`}::integer[]`
}

/**
 * What the sums of blocks say of a deployment within these ranges.
 *
 * @param sums of the blocks, each as `writeSums` has written it
 */
export function rollupsOfSums(
  sums: readonly Uint8Array[],
  deploymentId: string,
  spans: readonly SpanRange[],
): KeyedRollup[] {
  const minutes = sums
    .flatMap((bytes) => readSums(Buffer.from(bytes)))
    .filter((minute) => minute.deploymentId === deploymentId)
  return spans.flatMap(({ span, fromMs, toMs }) => {
    const within = minutes.filter(({ startsAtMs }) => startsAtMs >= fromMs && startsAtMs < toMs)
    return merged(within, span)
  })
}
