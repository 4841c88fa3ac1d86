import { REASONS_MAX, type ReasonFinder } from '../engine/index.ts'
import { type BytesLeft, LazyFragments } from '../platform/bytes/lazy-fragments.ts'
import { PreparedFragments } from '../platform/bytes/prepared-fragments.ts'
import type { Utf8Writer } from '../platform/bytes/utf8-writer.ts'

/** The parts of reasons in one language, as JSON. */
interface ReasonParts {
  /** Numbers of codes, features and slots of the model. */
  readonly counts: { readonly codes: number; readonly features: number; readonly slots: number }
  /** Code and text of a code, up to the distance. */
  readonly head: (code: number) => string
  /** The code alone. */
  readonly code: (code: number) => string
  readonly name: (feature: number) => string
  /** The label of a slot's bin. */
  readonly label: (slot: number) => string
  /** All that a reason says after its rank, for a slot that alone makes the reason. */
  readonly reason: (slot: number) => string
  /** For the bytes of all of them. */
  readonly left: BytesLeft
}

/** Openings of the reason at each rank. */
const RANKS = PreparedFragments.of(
  Array.from({ length: REASONS_MAX }, (_, at) => `${at === 0 ? '' : ','}{"rank":${at + 1},`),
)
const FRAME = PreparedFragments.of([
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
  private readonly heads: LazyFragments
  private readonly codes: LazyFragments
  private readonly names: LazyFragments
  private readonly labels: LazyFragments
  private readonly reasons: LazyFragments

  constructor(finder: ReasonFinder, parts: ReasonParts) {
    this.finder = finder
    const { counts, left } = parts
    this.heads = new LazyFragments({ count: counts.codes, formatText: parts.head, left })
    this.codes = new LazyFragments({ count: counts.codes, formatText: parts.code, left })
    this.names = new LazyFragments({ count: counts.features, formatText: parts.name, left })
    this.labels = new LazyFragments({ count: counts.slots, formatText: parts.label, left })
    this.reasons = new LazyFragments({ count: counts.slots, formatText: parts.reason, left })
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
      if (slot >= 0) this.reasons.write(into, slot)
      else this.writeComposed(into, rank, slots)
    }
    into.writeFragment(FRAME, CLOSE)
    const flags = flagsText(finder.isTruncatedAt(shown, count), count === 0)
    if (flags !== '') into.writeString(flags)
    into.writeFragment(FRAME, KEY_FACTORS)
    const factors = finder.keyFactors(count, slots)
    for (let at = 0; at < factors.length; at++) {
      if (at > 0) into.writeFragment(FRAME, COMMA)
      this.codes.write(into, factors[at] ?? 0)
    }
    into.writeFragment(FRAME, CLOSE)
  }

  private writeComposed(into: Utf8Writer, rank: number, slots: ArrayLike<number>): void {
    const { code, distance, features } = this.finder.reasonAt(rank, slots)
    this.heads.write(into, code)
    into.writeString(String(distance))
    into.writeFragment(FRAME, FEATURES)
    for (let at = 0; at < features.length; at++) {
      if (at > 0) into.writeFragment(FRAME, COMMA)
      this.names.write(into, features[at] ?? 0)
    }
    into.writeFragment(FRAME, LABELS)
    for (let at = 0; at < features.length; at++) {
      if (at > 0) into.writeFragment(FRAME, COMMA)
      this.labels.write(into, slots[features[at] ?? 0] ?? 0)
    }
    into.writeFragment(FRAME, CLOSE_REASON)
  }
}

/** Returns what is said of reasons only where it is true, each property with a comma before it. */
export function flagsText(isTruncated: boolean, isEmpty: boolean): string {
  return `${isTruncated ? ',"reasons_truncated":true' : ''}${isEmpty ? ',"no_adverse_factor":true' : ''}`
}
