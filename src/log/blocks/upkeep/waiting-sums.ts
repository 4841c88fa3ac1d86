import { TurnTaker } from '../../../platform/turn-taker.ts'
import { type KeyedRollup, mergeInto } from '../../rollups/rollup-sums.ts'
import type { Span } from '../../rollups/spans.ts'
import { readSums } from '../block-sums.ts'

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
