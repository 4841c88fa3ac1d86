import { CATEGORY_DELIMITER, MISSING } from '../../../engine/index.ts'
import {
  type BuildContext,
  type BuiltNumeric,
  type BuiltReasons,
  binsWith,
  findMissingBin,
  noteNoMissing,
  readReason,
} from './build-numeric.ts'
import type { SourceBin, SourceFeature } from './card.ts'
import { type DevelopmentCounts, makeCounts } from './development-counts.ts'
import { labelText, quote } from './notes.ts'
import { readDecimal } from './ranges.ts'

interface CategoricalBin extends DevelopmentCounts {
  readonly value: string
  readonly reason_code?: string
  readonly points: number
  readonly label: string
}

interface BuiltCategorical extends BuiltReasons {
  readonly name: string
  readonly type: 'categorical'
  readonly bins: readonly CategoricalBin[]
  readonly woe_values?: readonly number[]
}

export type BuiltFeature = BuiltNumeric | BuiltCategorical

/**
 * A number as Python, numpy and R write it: `2.0`, `2.`, `1e-05`. A code with a leading zero, such
 * as a postal code, is not a number.
 */
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d*)?(?:e[+-]?\d+)?$/i

/**
 * One bin for the categories of each row, then the Missing bin.
 *
 * The service gives a category that no bin names the points of a missing value. If the tool gives
 * the two different points, the card can't be converted, and a fault says so.
 */
export function buildCategorical(feature: SourceFeature, context: BuildContext): BuiltCategorical {
  return new CategoricalBuilder(feature, context).build()
}

class CategoricalBuilder {
  private readonly feature: SourceFeature
  private readonly context: BuildContext
  /** Bin of each category as the file writes it. */
  private readonly binOf = new Map<string, SourceBin>()
  /** Categories of each bin, with the shortest forms of numbers. */
  private readonly textsOf = new Map<SourceBin, string[]>()

  constructor(feature: SourceFeature, context: BuildContext) {
    this.feature = feature
    this.context = context
  }

  build(): BuiltCategorical {
    for (const bin of this.feature.bins) this.addCategories(bin)
    if (this.context.rules.hasTextCategories !== true) this.addShortestNumbers()
    const missing = this.missingBin()
    if (missing === null) noteNoMissing(this.feature, this.context)
    const all = [
      ...[...this.textsOf].map(([bin, categories]) => ({ value: joined(categories), bin })),
      ...(missing === null ? [] : [{ value: MISSING, bin: missing }]),
    ]
    const woes = all.map(({ bin }) => bin.woe)
    const counts = makeCounts(all.map(({ bin }) => bin))
    return {
      name: this.feature.name,
      type: 'categorical',
      bins: all.map(({ value, bin }) => ({
        value,
        points: bin.points,
        label: labelText(bin.label),
        ...counts(bin),
        ...readReason(bin),
      })),
      ...(woes.every((woe) => woe !== undefined) && { woe_values: woes }),
    }
  }

  private addCategories(bin: SourceBin): void {
    const { notes } = this.context
    for (const member of bin.members) {
      if (member.kind !== 'category') continue
      const { text } = member
      const category = `has the category ${quote(text)} of ${quote(this.feature.name)}`
      const other = this.binOf.get(text)
      if (text.includes(CATEGORY_DELIMITER)) {
        notes.fault(
          bin.path,
          `${category}, which a specification would split at ${CATEGORY_DELIMITER}: ` +
            'rename the category',
        )
      } else if (other !== undefined && other !== bin) {
        notes.fault(bin.path, `${category}, which ${other.path} has already`)
      }
      if (other !== undefined) continue
      this.binOf.set(text, bin)
      this.addText(bin, text)
    }
  }

  private addText(bin: SourceBin, text: string): void {
    const texts = this.textsOf.get(bin)
    if (texts === undefined) this.textsOf.set(bin, [text])
    else texts.push(text)
  }

  /**
   * Adds the shortest form of each number: scoring compares an applicant's number as "3", which a
   * card of Python writes as "3.0".
   */
  private addShortestNumbers(): void {
    const { notes } = this.context
    const added = new Map<string, SourceBin>()
    for (const [text, bin] of this.binOf) {
      const value = NUMBER.test(text) ? readDecimal(text) : null
      if (value === null) continue
      const shortest = String(value)
      const other = added.get(shortest) ?? this.binOf.get(shortest)
      if (other === undefined) {
        added.set(shortest, bin)
        this.addText(bin, shortest)
        const category = `the category ${quote(text)} of ${quote(this.feature.name)}`
        notes.conversion(
          bin.path,
          `${category} also matches ${quote(shortest)}, the form in which a number is compared`,
        )
      } else if (other !== bin && added.has(shortest)) {
        notes.fault(
          bin.path,
          `has the category ${quote(text)} of ${quote(this.feature.name)}, ` +
            `a number that ${other.path} has already`,
        )
      }
    }
  }

  /** The bin for missing values, which in the service also serves unseen categories. */
  private missingBin(): SourceBin | null {
    const { rules, unseen, notes } = this.context
    const others = binsWith(this.feature, 'else')
    const [other = null] = others
    const missing = findMissingBin(this.feature, others, this.context)
    const name = quote(this.feature.name)
    const unseenPoints = other?.points ?? this.unseenPoints()
    if (unseenPoints === null) {
      if (missing !== null && missing.points !== 0) {
        notes.conversion(
          name,
          `a category that no bin names adds ${missing.points} points, like a missing value. ${rules.unseen}`,
        )
      }
      return missing
    }
    const isAccepted = rules.elseHoldsMissing === true || (other !== null && unseen === 'missing')
    const missingPoints = missing?.points ?? (isAccepted ? unseenPoints : 0)
    if (missingPoints === unseenPoints) {
      if (missing !== null || unseenPoints === 0) return missing
      return other ?? { path: name, label: 'unseen or missing', points: unseenPoints, members: [] }
    }
    notes.fault(
      (other ?? missing)?.path ?? name,
      `${name}: a category that no bin names adds ${unseenPoints} points and a missing value adds ` +
        `${missingPoints}, but the service has one number for both: ${remedyFor(other, missing)}`,
    )
    return missing
  }

  /** Null when an unseen category counts as a missing value, or the caller did not choose. */
  private unseenPoints(): number | null {
    const { unseen } = this.context
    if (unseen === 'zero') return 0
    if (unseen !== 'min') return null
    const points = this.feature.bins.map((bin) => bin.points)
    return points.reduce((least, each) => Math.min(least, each), Number.POSITIVE_INFINITY)
  }
}

/** Returns what the caller can change so that unseen and missing values get the same points. */
function remedyFor(other: SourceBin | null, missing: SourceBin | null): string {
  if (other === null) return 'choose "missing" for unseen'
  const remedy = `name the categories of ${quote(other.label)} in the file`
  if (missing !== null) return remedy
  return `${remedy}, or choose "missing" for unseen to give both the same points`
}

/** A category called `Missing` is written twice: alone it would be the bin for missing values. */
function joined(categories: readonly string[]): string {
  const isMistakable = categories.length === 1 && categories[0] === MISSING
  return (isMistakable ? [MISSING, MISSING] : categories).join(CATEGORY_DELIMITER)
}
