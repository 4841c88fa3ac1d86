import { MISSING } from '../../../engine/index.ts'
import type { SourceBin, SourceFeature, ToolRules, Unseen } from './card.ts'
import { type DevelopmentCounts, makeCounts } from './development-counts.ts'
import { labelText, type Notes, quote } from './notes.ts'
import {
  ABOVE_ALL,
  BELOW_ALL,
  compareCuts,
  holds,
  isEmpty,
  only,
  type Range,
  rangeText,
  without,
} from './ranges.ts'

/** State that the builders of bins share. */
export interface BuildContext {
  readonly rules: ToolRules
  readonly unseen: Unseen | undefined
  readonly notes: Notes
}

/** Reasons of a feature of a card with reason codes. */
export interface BuiltReasons {
  readonly reason_code?: string
  readonly reason_baseline?: number
}

/** Where a bin came from stays with it: `label` is the tool's own text, at most 255 characters. */
interface NumericBin extends DevelopmentCounts {
  readonly range: string
  readonly reason_code?: string
  readonly points: number
  readonly label: string
}

export interface BuiltNumeric extends BuiltReasons {
  readonly name: string
  readonly type: 'numeric'
  readonly bins: readonly NumericBin[]
  readonly woe_values?: readonly number[]
}

interface RangedBin {
  readonly range: Range
  readonly bin: SourceBin
}

/**
 * Ranges in ascending order, each closed as in the card; then the Missing bin.
 *
 * A single number goes before the ranges, as the tools have it: it is cut out of the range that
 * holds it. Ranges that overlap, or leave a gap where the tool can't, are faults.
 */
export function buildNumeric(feature: SourceFeature, context: BuildContext): BuiltNumeric {
  const { notes } = context
  const singles = singleValueBins(feature, notes)
  const ranges = rangeBins(feature, notes)
  checkNeighbours(feature, ranges, singles, context)
  checkEnds(feature, ranges, context)
  const taken = singles.map(({ range }) => range)
  const parts: RangedBin[] = [...singles]
  for (const { range, bin } of ranges) {
    const left = without(range, taken)
    if (left.length !== 1) noteSplit(feature, bin, left.length, notes)
    for (const part of left) parts.push({ range: part, bin })
  }
  const others = binsWith(feature, 'else')
  const [other] = others
  if (other !== undefined) for (const rest of computeRemainder(parts, other)) parts.push(rest)
  parts.sort((a, b) => compareCuts(a.range.low, b.range.low))
  const missing = findMissingBin(feature, others, context)
  if (missing === null) noteNoMissing(feature, context)
  return numericSpec(feature, parts, missing)
}

function numericSpec(
  { name }: SourceFeature,
  parts: readonly RangedBin[],
  missing: SourceBin | null,
): BuiltNumeric {
  const all = [
    ...parts.map(({ range, bin }) => ({ text: rangeText(range), bin })),
    ...(missing === null ? [] : [{ text: MISSING, bin: missing }]),
  ]
  const woes = all.map(({ bin }) => bin.woe)
  const counts = makeCounts(all.map(({ bin }) => bin))
  return {
    name,
    type: 'numeric',
    bins: all.map(({ text, bin }) => ({
      range: text,
      points: bin.points,
      label: labelText(bin.label),
      ...counts(bin),
      ...readReason(bin),
    })),
    ...(woes.every((woe) => woe !== undefined) && { woe_values: woes }),
  }
}

/** The reason code of a bin, where it has its own. */
export function readReason({ reasonCode }: SourceBin): { readonly reason_code?: string } {
  return reasonCode === undefined ? {} : { reason_code: reasonCode }
}

/** The bins with a member of this kind; the caller refuses a second one. */
export function binsWith({ bins }: SourceFeature, kind: string): SourceBin[] {
  return bins.filter(({ members }) => members.some((member) => member.kind === kind))
}

/**
 * The one bin for missing values: its own, or the one for everything else where that holds them.
 */
export function findMissingBin(
  feature: SourceFeature,
  others: readonly SourceBin[],
  { rules, notes }: BuildContext,
): SourceBin | null {
  const [missing, second] = binsWith(feature, 'missing')
  if (missing !== undefined && second !== undefined) {
    notes.fault(second.path, `is a second bin of ${quote(feature.name)} for missing values`)
  }
  if (others[1] !== undefined) {
    notes.fault(others[1].path, `is a second bin of ${quote(feature.name)} for everything else`)
  }
  if (missing !== undefined) return missing
  return rules.elseHoldsMissing === true ? (others[0] ?? null) : null
}

export function noteNoMissing({ name }: SourceFeature, { rules, notes }: BuildContext): void {
  notes.conversion(
    quote(name),
    `has no bin for missing values, so here they add 0 points. ${rules.missing}`,
  )
}

function singleValueBins(feature: SourceFeature, notes: Notes): RangedBin[] {
  const byValue = new Map<number, SourceBin>()
  for (const bin of feature.bins) {
    for (const member of bin.members) {
      if (member.kind !== 'value') continue
      const other = byValue.get(member.value)
      if (other === undefined) byValue.set(member.value, bin)
      else if (other !== bin) {
        notes.fault(bin.path, `has the value ${member.value}, which ${other.path} has already`)
      }
    }
  }
  const placed = [...byValue].map(([value, bin]) => ({ range: only(value), bin }))
  return placed.sort((a, b) => compareCuts(a.range.low, b.range.low))
}

function rangeBins(feature: SourceFeature, notes: Notes): RangedBin[] {
  const placed: RangedBin[] = []
  for (const bin of feature.bins) {
    for (const member of bin.members) {
      if (member.kind !== 'range') continue
      if (!isEmpty(member.range)) placed.push({ range: member.range, bin })
      else {
        notes.fault(
          bin.path,
          `${quote(bin.label)} contains no number: its bounds are rounded for display, or swapped`,
        )
      }
    }
  }
  return placed.sort((a, b) => compareCuts(a.range.low, b.range.low))
}

function checkNeighbours(
  { name }: SourceFeature,
  ranges: readonly RangedBin[],
  singles: readonly RangedBin[],
  { rules, notes }: BuildContext,
): void {
  for (const [index, { range, bin }] of ranges.entries()) {
    const next = ranges[index + 1]
    if (next === undefined) break
    const order = compareCuts(range.high, next.range.low)
    const labels = `${quote(bin.label)} (${bin.path}) and ${quote(next.bin.label)}`
    if (order > 0) notes.fault(next.bin.path, `${labels} of ${quote(name)} overlap`)
    const gap = { low: range.high, high: next.range.low }
    if (order >= 0 || isEmpty(gap)) continue
    const isFilled = singles.some(({ range: { low } }) => holds(gap, low.at)) && isOnePoint(gap)
    if (isFilled) continue
    const message = `between ${labels} of ${quote(name)} is a gap: ${rangeText(gap)} has no bin`
    if (rules.tiles === true) notes.fault(next.bin.path, message)
    else notes.conversion(next.bin.path, `${message} and adds 0 points here`)
  }
}

/** Reports a table that lost its first or last bin because it was truncated. */
function checkEnds(
  feature: SourceFeature,
  ranges: readonly RangedBin[],
  { rules, notes }: BuildContext,
): void {
  const [first] = ranges
  const last = ranges.at(-1)
  if (rules.tiles !== true || binsWith(feature, 'else').length > 0) return
  const fault = (bin: SourceBin, range: Range) =>
    notes.fault(
      bin.path,
      `${quote(bin.label)} is the outermost bin of ${quote(feature.name)}, but ${rangeText(range)} ` +
        'has no bin: is a row missing?',
    )
  if (first !== undefined && compareCuts(first.range.low, BELOW_ALL) > 0) {
    fault(first.bin, { low: BELOW_ALL, high: first.range.low })
  }
  if (last !== undefined && compareCuts(last.range.high, ABOVE_ALL) < 0) {
    fault(last.bin, { low: last.range.high, high: ABOVE_ALL })
  }
}

function isOnePoint({ low, high }: Range): boolean {
  return low.at === high.at
}

function noteSplit({ name }: SourceFeature, bin: SourceBin, parts: number, notes: Notes): void {
  const becomes = parts === 0 ? 'no bin' : `${parts} bins`
  notes.conversion(
    bin.path,
    `${quote(bin.label)} of ${quote(name)} becomes ${becomes}, because single values with bins of ` +
      'their own lie in it',
  )
}

/** The numbers that no bin contains yet, as ranges of the bin for everything else. */
function computeRemainder(parts: readonly RangedBin[], other: SourceBin): RangedBin[] {
  const taken = parts.map(({ range }) => range).sort((a, b) => compareCuts(a.low, b.low))
  return without({ low: BELOW_ALL, high: ABOVE_ALL }, taken).map((range) => ({
    range,
    bin: other,
  }))
}
