import type { DayBlock } from './day-store.ts'

export interface SplitBounds {
  readonly bytesMax: number
  readonly applicantsMax?: number
  readonly blocksMax?: number
}

/** Splits blocks in their order; a single block can be over a bound. */
export function* splitAt(
  blocks: readonly DayBlock[],
  { bytesMax, applicantsMax = Infinity, blocksMax = Infinity }: SplitBounds,
): Generator<DayBlock[]> {
  let part: DayBlock[] = []
  let [bytes, applicants] = [0, 0]
  for (const block of blocks) {
    const isFull =
      bytes + block.bytes > bytesMax ||
      applicants + block.applicants > applicantsMax ||
      part.length >= blocksMax
    if (part.length > 0 && isFull) {
      yield part
      part = []
      bytes = 0
      applicants = 0
    }
    part.push(block)
    bytes += block.bytes
    applicants += block.applicants
  }
  if (part.length > 0) yield part
}
