interface Feature {
  readonly type: string
  readonly bins: readonly {
    readonly range?: string
    readonly value?: string
    readonly points: number
  }[]
}

/** A range of values, or a category, with the points of both versions of a card. */
interface AlignedBin {
  readonly value: string
  /**
   * Points that a value gets. Null where the version has no bin for it, which gives 0 points; a
   * category without a bin of its own gets the points of the Missing bin.
   */
  readonly points: number | null
  readonly otherPoints: number | null
}

const MISSING = 'Missing'
const DELIMITER = '%,%'

/**
 * Lays the bins of two versions of a feature beside each other: each row is a range, or a set of
 * categories, within which neither version changes its points.
 *
 * @param one null for a version without the feature; not both are null
 */
export function alignedBins(one: Feature | null, other: Feature | null): AlignedBin[] {
  const isNumeric = (one ?? other)?.type === 'numeric'
  const bothAlike = one === null || other === null || one.type === other.type
  const rows = isNumeric && bothAlike ? alignedRanges(one, other) : alignedValues(one, other)
  const missing = missingRow(one, other)
  return missing === null ? rows : [...rows, missing]
}

interface Interval {
  readonly low: number
  readonly isLowIn: boolean
  readonly high: number
  readonly isHighIn: boolean
  readonly points: number
}

/** A place between values: before a number, or after it. */
interface Edge {
  readonly at: number
  readonly isAfter: boolean
}

const RANGE = /^\s*([[(])\s*([^,\s]+)\s*,\s*([^,\s]+)\s*([\])])\s*$/

function listIntervals(feature: Feature | null): Interval[] {
  return (feature?.bins ?? []).flatMap(({ range = '', points }) => {
    const [, open, low, high, close] = RANGE.exec(range) ?? []
    if (low === undefined || high === undefined) return []
    const isLowIn = open === '['
    return [
      { low: readNumber(low), isLowIn, high: readNumber(high), isHighIn: close === ']', points },
    ]
  })
}

function readNumber(text: string): number {
  if (/^[+]?inf(inity)?$/i.test(text)) return Number.POSITIVE_INFINITY
  return /^-inf(inity)?$/i.test(text) ? Number.NEGATIVE_INFINITY : Number(text)
}

function alignedRanges(one: Feature | null, other: Feature | null): AlignedBin[] {
  const [ofOne, ofOther] = [listIntervals(one), listIntervals(other)]
  const edges = [...ofOne, ...ofOther].flatMap(({ low, isLowIn, high, isHighIn }): Edge[] => [
    { at: low, isAfter: !isLowIn },
    { at: high, isAfter: isHighIn },
  ])
  const rising = edges
    .sort((a, b) => a.at - b.at || Number(a.isAfter) - Number(b.isAfter))
    .filter(({ at, isAfter }, index, all) => {
      const before = all[index - 1]
      return before === undefined || before.at !== at || before.isAfter !== isAfter
    })
  return rising.slice(0, -1).flatMap((from, index) => {
    const to = rising[index + 1]
    if (to === undefined) return []
    const points = pointsBetween(ofOne, from, to)
    const otherPoints = pointsBetween(ofOther, from, to)
    return points === null && otherPoints === null
      ? []
      : [{ value: rangeText(from, to), points, otherPoints }]
  })
}

function pointsBetween(intervals: readonly Interval[], from: Edge, to: Edge): number | null {
  const found = intervals.find(
    ({ low, isLowIn, high, isHighIn }) =>
      !isAfter({ at: low, isAfter: !isLowIn }, from) &&
      !isAfter(to, { at: high, isAfter: isHighIn }),
  )
  return found?.points ?? null
}

function isAfter(one: Edge, other: Edge): boolean {
  return one.at > other.at || (one.at === other.at && one.isAfter && !other.isAfter)
}

function rangeText(from: Edge, to: Edge): string {
  const low = Number.isFinite(from.at) ? String(from.at) : '-Infinity'
  const high = Number.isFinite(to.at) ? String(to.at) : 'Infinity'
  const isFirst = !Number.isFinite(from.at)
  const isLast = !Number.isFinite(to.at)
  return `${from.isAfter || isFirst ? '(' : '['}${low}, ${high}${to.isAfter && !isLast ? ']' : ')'}`
}

/** Categories with the same pair of points are one row. */
function alignedValues(one: Feature | null, other: Feature | null): AlignedBin[] {
  const [ofOne, ofOther] = [pointsByValue(one), pointsByValue(other)]
  const rows = new Map<
    string,
    { values: string[]; points: number | null; otherPoints: number | null }
  >()
  for (const value of new Set([...ofOne.keys(), ...ofOther.keys()])) {
    const points = ofOne.get(value) ?? unseenPoints(one)
    const otherPoints = ofOther.get(value) ?? unseenPoints(other)
    const name = `${points} ${otherPoints}`
    const row = rows.get(name) ?? { values: [], points, otherPoints }
    row.values.push(value)
    rows.set(name, row)
  }
  return [...rows.values()].map(({ values, ...points }) => ({
    value: values.join(', '),
    ...points,
  }))
}

/** Points of a category without a bin: those of the Missing bin, as scoring gives them. */
function unseenPoints(feature: Feature | null): number | null {
  return feature?.type === 'categorical' ? missingPoints(feature) : null
}

function pointsByValue(feature: Feature | null): Map<string, number> {
  if (feature === null) return new Map()
  return new Map(
    feature.bins
      .filter((bin) => !isMissing(feature, bin))
      .flatMap(({ range, value, points }) =>
        (value ?? range ?? '').split(DELIMITER).map((one) => [one, points] as const),
      ),
  )
}

function missingRow(one: Feature | null, other: Feature | null): AlignedBin | null {
  const [points, otherPoints] = [missingPoints(one), missingPoints(other)]
  return points === null && otherPoints === null ? null : { value: MISSING, points, otherPoints }
}

function missingPoints(feature: Feature | null): number | null {
  return feature?.bins.find((bin) => isMissing(feature, bin))?.points ?? null
}

/** As the engine tells it: around a range white space is free, a category is compared exactly. */
function isMissing({ type }: Feature, { range, value }: Feature['bins'][number]): boolean {
  const text = range ?? value ?? ''
  return (type === 'numeric' ? text.trim() : text) === MISSING
}
