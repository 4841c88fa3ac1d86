import { type SQL, sql } from 'drizzle-orm'
import { momentText } from '../../platform/db/client.ts'
import { type KeyedRollup, merged } from '../rollups/rollup-sums.ts'
import { type SpanRange, spanStart, type TimeRange } from '../rollups/spans.ts'
import { readSums } from './block-sums.ts'
import { damagedPart } from './damaged-block.ts'
import { deploymentHash } from './hashes.ts'

/**
 * Rows of `score_sums` that can count a deployment's requests within these ranges. `score_rollups`
 * does not contain them yet.
 */
export function selectUnsummed(deploymentId: string, ranges: readonly TimeRange[]): SQL {
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
 * Returns what the sums of blocks say of a deployment within these ranges.
 *
 * @param sums of the blocks, each as `writeSums` has written it
 * @throws DamagedBlock
 */
export function rollupsOfSums(
  sums: readonly UnsummedBlock[],
  deploymentId: string,
  spans: readonly SpanRange[],
): KeyedRollup[] {
  const minutes = sums
    .flatMap((block) => listMinutes(block))
    .filter((minute) => minute.deploymentId === deploymentId)
  return spans.flatMap(({ span, fromMs, toMs }) => {
    const within = minutes.filter(({ startsAtMs }) => startsAtMs >= fromMs && startsAtMs < toMs)
    return merged(within, span)
  })
}

/** The sums of a block, and where it is. */
interface UnsummedBlock {
  readonly blockId: string
  readonly firstAtMs: number
  readonly sums: Uint8Array
}

function listMinutes({ sums, ...place }: UnsummedBlock): KeyedRollup[] {
  try {
    return readSums(Buffer.from(sums))
  } catch (cause) {
    throw damagedPart(place, 'sums', cause)
  }
}
