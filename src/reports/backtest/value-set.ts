import {
  CATEGORY_DELIMITER,
  CELL_FIRST_BIN,
  CELL_MISSING,
  CELL_NO_BIN,
  CELL_NOT_A_NUMBER,
  CELL_UNSEEN_CATEGORY,
  type FeatureSpec,
  MISSING,
  nextDown,
  nextUp,
  parseInterval,
} from '../../engine/index.ts'

/** Doubles from `low` to `high`, both included; infinite ends stand for no end. */
export interface NumberRange {
  readonly low: number
  readonly high: number
}

/** Texts that are among these, or texts that are not. */
interface TextSet {
  readonly isComplement: boolean
  readonly texts: ReadonlySet<string>
}

/** All values that a feature can have had. */
export interface ValueSet {
  /** True if the value can have been missing. */
  readonly missing: boolean
  readonly numbers: readonly NumberRange[]
  readonly texts: TextSet
}

const NO_TEXTS: TextSet = { isComplement: false, texts: new Set() }
const ALL_TEXTS: TextSet = { isComplement: true, texts: new Set() }
const ALL_NUMBERS: NumberRange = { low: -Infinity, high: Infinity }

/**
 * The values that a logged cell stands for. A number for a categorical feature counts as its text:
 * it was compared so.
 */
export function valuesOfCell(feature: FeatureSpec, cell: number): ValueSet {
  return feature.type === 'numeric' ? numericValues(feature, cell) : texts(feature, cell)
}

function numericValues(
  feature: FeatureSpec & { readonly type: 'numeric' },
  cell: number,
): ValueSet {
  if (cell === CELL_MISSING) return { missing: true, numbers: [], texts: NO_TEXTS }
  if (cell === CELL_NOT_A_NUMBER) return { missing: false, numbers: [], texts: ALL_TEXTS }
  const numbers =
    cell === CELL_NO_BIN
      ? gapsBetween(listRanges(feature))
      : listRanges(feature).filter(({ bin }) => bin === cell - CELL_FIRST_BIN)
  return { missing: false, numbers, texts: NO_TEXTS }
}

/** In ascending order. */
function listRanges(feature: FeatureSpec & { readonly type: 'numeric' }) {
  return feature.bins
    .flatMap(({ range }, bin) => {
      const interval = range.trim() === MISSING ? null : parseInterval(range)
      return interval === null || typeof interval === 'string' ? [] : [{ ...interval, bin }]
    })
    .sort((one, other) => (one.low < other.low ? -1 : 1))
}

function gapsBetween(ranges: readonly NumberRange[]): NumberRange[] {
  const gaps: NumberRange[] = []
  let from = -Infinity
  for (const { low, high } of ranges) {
    if (from < low && low !== -Infinity) gaps.push({ low: from, high: nextDown(low) })
    if (high === Infinity) return gaps
    from = nextUp(high)
  }
  return from === Infinity ? gaps : [...gaps, { low: from, high: Infinity }]
}

function texts(feature: FeatureSpec & { readonly type: 'categorical' }, cell: number): ValueSet {
  if (cell === CELL_MISSING) {
    return { missing: true, numbers: [], texts: { isComplement: false, texts: new Set([MISSING]) } }
  }
  const wanted =
    cell === CELL_UNSEEN_CATEGORY
      ? feature.bins
      : feature.bins.filter((_, bin) => bin === cell - CELL_FIRST_BIN)
  const set = new Set(wanted.flatMap(({ value }) => value.split(CATEGORY_DELIMITER)))
  const isComplement = cell === CELL_UNSEEN_CATEGORY
  return { missing: false, numbers: [], texts: { isComplement, texts: set } }
}

/** The values in both sets, which are of features of the same type. */
export function intersection(one: ValueSet, other: ValueSet): ValueSet {
  return {
    missing: one.missing && other.missing,
    numbers: one.numbers.flatMap((a) =>
      other.numbers.flatMap((b) => {
        const both = { low: Math.max(a.low, b.low), high: Math.min(a.high, b.high) }
        return both.low <= both.high ? [both] : []
      }),
    ),
    texts: textsInBoth(one.texts, other.texts),
  }
}

function textsInBoth(one: TextSet, other: TextSet): TextSet {
  if (one.isComplement && other.isComplement) {
    return { isComplement: true, texts: new Set([...one.texts, ...other.texts]) }
  }
  if (one.isComplement) return textsInBoth(other, one)
  const both = [...one.texts].filter((text) => other.texts.has(text) !== other.isComplement)
  return { isComplement: false, texts: new Set(both) }
}

/**
 * The same values as a feature of the other type sees them, or more: a text can have been sent as a
 * number, and a number counts as a text.
 */
export function ofOtherType({ missing, numbers, texts: set }: ValueSet): ValueSet {
  const isWide = numbers.length > 0 || set.isComplement
  const sent = [...set.texts].map(Number).filter((number, index) => {
    return Number.isFinite(number) && String(number) === [...set.texts][index]
  })
  return {
    missing,
    numbers: isWide ? [ALL_NUMBERS] : sent.map((number) => ({ low: number, high: number })),
    texts: isWide ? ALL_TEXTS : set,
  }
}

export const ANY_VALUE: ValueSet = { missing: true, numbers: [ALL_NUMBERS], texts: ALL_TEXTS }
