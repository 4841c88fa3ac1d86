import { CATEGORY_DELIMITER, MISSING } from '../engine/index.ts'
import {
  type BuildContext,
  type BuiltNumeric,
  binsWith,
  missingBinOf,
  noteNoMissing,
} from './build-numeric.ts'
import type { SourceBin, SourceFeature } from './card.ts'
import { labelText, type Notes, quote } from './notes.ts'
import { readDecimal } from './ranges.ts'

export interface CategoricalBin {
  readonly value: string
  readonly points: number
  readonly label: string
}

export interface BuiltCategorical {
  readonly name: string
  readonly type: 'categorical'
  readonly bins: readonly CategoricalBin[]
  readonly woe_values?: readonly number[]
}

export type BuiltFeature = BuiltNumeric | BuiltCategorical

/** A number as Python, numpy and R write it: `2.0`, `2.`, `1e-05`; no code that begins with a zero. */
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d*)?(?:e[+-]?\d+)?$/i

/**
 * One bin for the categories of each row, then the Missing bin.
 *
 * The service gives a category that no bin names what it gives a missing value. Where the tool does
 * something else for the one than for the other, the card can't be converted, and a fault says so.
 */
export function buildCategorical(feature: SourceFeature, context: BuildContext): BuiltCategorical {
  const texts = textsByBin(feature, context)
  const others = binsWith(feature, 'else')
  const own = missingBinOf(feature, others, context)
  const missing = withUnseen(feature, own, others[0] ?? null, context)
  if (missing === null) noteNoMissing(feature, context)
  const all = [
    ...[...texts].map(([bin, categories]) => ({ value: joined(categories), bin })),
    ...(missing === null ? [] : [{ value: MISSING, bin: missing }]),
  ]
  const woes = all.map(({ bin }) => bin.woe)
  return {
    name: feature.name,
    type: 'categorical',
    bins: all.map(({ value, bin }) => ({
      ...{ value, points: bin.points, label: labelText(bin.label) },
    })),
    ...(woes.every((woe) => woe !== undefined) && { woe_values: woes }),
  }
}

/** A category called `Missing` is written twice: alone it would be the bin for missing values. */
function joined(categories: readonly string[]): string {
  const isMistakable = categories.length === 1 && categories[0] === MISSING
  return (isMistakable ? [MISSING, MISSING] : categories).join(CATEGORY_DELIMITER)
}

function textsByBin(
  feature: SourceFeature,
  { rules, notes }: BuildContext,
): Map<SourceBin, string[]> {
  const binOf = new Map<string, SourceBin>()
  const texts = new Map<SourceBin, string[]>()
  for (const bin of feature.bins) {
    for (const member of bin.members) {
      if (member.kind !== 'category') continue
      const { text } = member
      const other = binOf.get(text)
      if (text.includes(CATEGORY_DELIMITER)) {
        notes.fault(
          bin.path,
          `has the category ${quote(text)}, which a specification would take apart at ${CATEGORY_DELIMITER}`,
        )
      } else if (other !== undefined && other !== bin) {
        notes.fault(bin.path, `has the category ${quote(text)}, which ${other.path} has already`)
      }
      if (other !== undefined) continue
      binOf.set(text, bin)
      const list = texts.get(bin)
      if (list === undefined) texts.set(bin, [text])
      else list.push(text)
    }
  }
  if (rules.hasTextCategories !== true) addNumbers(feature, binOf, texts, notes)
  return texts
}

/** An applicant's number is compared in its shortest form: as "3", which stands as "3.0" in a card of Python. */
function addNumbers(
  feature: SourceFeature,
  binOf: ReadonlyMap<string, SourceBin>,
  texts: Map<SourceBin, string[]>,
  notes: Notes,
): void {
  const added = new Map<string, SourceBin>()
  for (const [text, bin] of binOf) {
    const value = NUMBER.test(text) ? readDecimal(text) : null
    if (value === null) continue
    const shortest = String(value)
    const other = added.get(shortest) ?? binOf.get(shortest)
    if (other === undefined) {
      added.set(shortest, bin)
      texts.get(bin)?.push(shortest)
    } else if (other !== bin && added.has(shortest)) {
      notes.fault(
        bin.path,
        `has the category ${quote(text)}, a number that ${other.path} has already`,
      )
    }
    if (other !== undefined) continue
    notes.conversion(
      bin.path,
      `the category ${quote(text)} of ${quote(feature.name)} is ${quote(shortest)} too, as a number is compared`,
    )
  }
}

/** The bin for missing values, which is the service's for unseen categories as well. */
function withUnseen(
  feature: SourceFeature,
  missing: SourceBin | null,
  other: SourceBin | null,
  { rules, unseen, notes }: BuildContext,
): SourceBin | null {
  const name = quote(feature.name)
  const wanted = other?.points ?? unseenPoints(feature, unseen)
  if (wanted === null) {
    if (missing !== null && missing.points !== 0) {
      notes.conversion(
        name,
        `a category that no bin names adds ${missing.points} points, as a missing value. ${rules.unseen}`,
      )
    }
    return missing
  }
  const isAccepted = rules.elseHoldsMissing === true || (other !== null && unseen === 'missing')
  const given = missing?.points ?? (isAccepted ? wanted : 0)
  if (given === wanted) {
    if (missing !== null || wanted === 0) return missing
    return other ?? { path: name, label: 'unseen or missing', points: wanted, members: [] }
  }
  notes.fault(
    (other ?? missing)?.path ?? name,
    `${name}: a category that no bin names adds ${wanted} points and a missing value ${given}, and the ` +
      'service knows one number for both: ' +
      (other === null
        ? 'choose "missing" for unseen'
        : `name the categories of ${quote(other.label)} in the file` +
          (missing === null ? ', or choose "missing" for unseen to give both the same' : '')),
  )
  return missing
}

/** Null where an unseen category is to count as a missing value, or nobody said how. */
function unseenPoints({ bins }: SourceFeature, unseen: BuildContext['unseen']): number | null {
  if (unseen === 'zero') return 0
  if (unseen !== 'min') return null
  return bins.reduce((least, { points }) => Math.min(least, points), Number.POSITIVE_INFINITY)
}
