import { REASONS_MAX, type ReasonFinder } from '../engine/index.ts'
import { PreparedFragments } from '../platform/bytes/prepared-fragments.ts'
import type { Utf8Writer } from '../platform/bytes/utf8-writer.ts'

/** What reasons are made of in one language, as JSON. */
export interface ReasonParts {
  /** Code and text of each code, up to the distance. */
  readonly heads: readonly string[]
  /** Codes alone. */
  readonly codes: readonly string[]
  /** The name of each feature. */
  readonly names: readonly string[]
  /** The label of each slot's bin. */
  readonly labels: readonly string[]
  /** All that a reason says after its rank, for a slot that alone makes the reason. */
  readonly reasons: readonly string[]
}

/** What opens the reason at each rank. */
const RANKS = new PreparedFragments(
  Array.from({ length: REASONS_MAX }, (_, at) => `${at === 0 ? '' : ','}{"rank":${at + 1},`),
)
const FRAME = new PreparedFragments([
  ',"reasons":[',
  ',"features":[',
  '],"bin_labels":[',
  ']}',
  ',',
  ']',
  ',"key_factors":[',
])
const OPEN = 0
const FEATURES = 1
const LABELS = 2
const CLOSE_REASON = 3
const COMMA = 4
const CLOSE = 5
const KEY_FACTORS = 6

/**
 * Writes the reasons of batches from prepared UTF-8: to join strings and to encode them takes twice
 * as long.
 */
export class ReasonFragments {
  private readonly finder: ReasonFinder
  private readonly heads: PreparedFragments
  private readonly codes: PreparedFragments
  private readonly names: PreparedFragments
  private readonly labels: PreparedFragments
  private readonly reasons: PreparedFragments

  constructor(finder: ReasonFinder, parts: ReasonParts) {
    this.finder = finder
    this.heads = new PreparedFragments(parts.heads)
    this.codes = new PreparedFragments(parts.codes)
    this.names = new PreparedFragments(parts.names)
    this.labels = new PreparedFragments(parts.labels)
    this.reasons = new PreparedFragments(parts.reasons)
  }

  /** Writes reasons and key factors of an applicant, each property with a comma before it. */
  write(into: Utf8Writer, slots: ArrayLike<number>, max: number): void {
    const { finder } = this
    const count = finder.rank(slots)
    const shown = Math.min(count, max)
    into.writeFragment(FRAME, OPEN)
    for (let rank = 0; rank < shown; rank++) {
      into.writeFragment(RANKS, rank)
      const slot = finder.slotAt(rank, slots)
      if (slot >= 0) into.writeFragment(this.reasons, slot)
      else this.writeComposed(into, rank, slots)
    }
    into.writeFragment(FRAME, CLOSE)
    const flags = flagsText(finder.isTruncatedAt(shown, count), count === 0)
    if (flags !== '') into.writeString(flags)
    into.writeFragment(FRAME, KEY_FACTORS)
    const factors = finder.keyFactors(count, slots)
    for (let at = 0; at < factors.length; at++) {
      if (at > 0) into.writeFragment(FRAME, COMMA)
      into.writeFragment(this.codes, factors[at] ?? 0)
    }
    into.writeFragment(FRAME, CLOSE)
  }

  private writeComposed(into: Utf8Writer, rank: number, slots: ArrayLike<number>): void {
    const { code, distance, features } = this.finder.reasonAt(rank, slots)
    into.writeFragment(this.heads, code)
    into.writeString(String(distance))
    into.writeFragment(FRAME, FEATURES)
    for (let at = 0; at < features.length; at++) {
      if (at > 0) into.writeFragment(FRAME, COMMA)
      into.writeFragment(this.names, features[at] ?? 0)
    }
    into.writeFragment(FRAME, LABELS)
    for (let at = 0; at < features.length; at++) {
      if (at > 0) into.writeFragment(FRAME, COMMA)
      into.writeFragment(this.labels, slots[features[at] ?? 0] ?? 0)
    }
    into.writeFragment(FRAME, CLOSE_REASON)
  }
}

/** What is said of reasons only where it is true, each property with a comma before it. */
export function flagsText(isTruncated: boolean, isEmpty: boolean): string {
  return `${isTruncated ? ',"reasons_truncated":true' : ''}${isEmpty ? ',"no_adverse_factor":true' : ''}`
}
