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

/** A place between values: before a number, or after it. */
interface Edge {
  readonly at: number
  readonly isAfter: boolean
}

interface Interval {
  readonly from: Edge
  readonly to: Edge
  readonly points: number
}

const RANGE = /^\s*([[(])\s*([^,\s]+)\s*,\s*([^,\s]+)\s*([\])])\s*$/

function listIntervals(feature: Feature | null): Interval[] {
  return (feature?.bins ?? []).flatMap(({ range = '', points }) => {
    const [, open, low, high, close] = RANGE.exec(range) ?? []
    if (low === undefined || high === undefined) return []
    const from = { at: readNumber(low), isAfter: open === '(' }
    return [{ from, to: { at: readNumber(high), isAfter: close === ']' }, points }]
  })
}

function readNumber(text: string): number {
  return Number(text.replace(/inf(inity)?$/i, 'Infinity'))
}

function compareEdges(one: Edge, other: Edge): number {
  if (one.at !== other.at) return one.at < other.at ? -1 : 1
  return Number(one.isAfter) - Number(other.isAfter)
}

function alignedRanges(one: Feature | null, other: Feature | null): AlignedBin[] {
  const [ofOne, ofOther] = [listIntervals(one), listIntervals(other)]
  const edges = [...ofOne, ...ofOther].flatMap(({ from, to }) => [from, to]).sort(compareEdges)
  return edges.slice(0, -1).flatMap((from, index) => {
    const to = edges[index + 1] ?? from
    const points = pointsBetween(ofOne, from, to)
    const otherPoints = pointsBetween(ofOther, from, to)
    const isEmpty = compareEdges(from, to) === 0 || (points === null && otherPoints === null)
    return isEmpty ? [] : [{ value: rangeText(from, to), points, otherPoints }]
  })
}

function pointsBetween(intervals: readonly Interval[], from: Edge, to: Edge): number | null {
  const found = intervals.find(
    (one) => compareEdges(one.from, from) <= 0 && compareEdges(to, one.to) <= 0,
  )
  return found?.points ?? null
}

function rangeText(from: Edge, to: Edge): string {
  const open = from.isAfter || from.at === Number.NEGATIVE_INFINITY ? '(' : '['
  const close = to.isAfter && to.at !== Number.POSITIVE_INFINITY ? ']' : ')'
  return `${open}${from.at}, ${to.at}${close}`
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
