import type { CompiledModel, FeatureRule, ReasonFinder, SpecIssue } from '../../../engine/index.ts'
import { DIALECTS, type Dialect } from './dialects.ts'
import type { SqlOptions } from './options.ts'
import { type Column, formatCase, slotCase } from './values.ts'
export interface SqlReasons {
  /** Columns `reason_1` and so on. */
  readonly count: number
  /** Null for no such columns. */
  readonly finder: ReasonFinder | null
  /** Comments on them: text of this service, without a text of the card. */
  readonly notes: readonly string[]
}

/** The way a statement comes from values to points and reasons. */
interface ReasonPlan {
  /** Names and columns of subqueries after that of the values. */
  readonly subqueries: ReadonlyArray<readonly [name: string, columns: readonly Column[]]>
  /** Columns beside the keys and the points that the last of them has. */
  readonly columns: readonly string[]
  readonly results: readonly Column[]
}

interface PlanOptions {
  readonly finder: ReasonFinder
  readonly count: number
  readonly options: SqlOptions
}

/** Points that the values of one feature add to one code: slots of the feature by millionths. */
interface Part {
  readonly feature: number
  readonly slots: ReadonlyMap<number, readonly number[]>
}

/** Parts that add to a code, in spec order. */
interface CodeParts {
  readonly code: number
  readonly parts: readonly Part[]
}

/** A distance has six decimals, so a statement counts in whole millionths. */
const MILLION = 1e6
/** Longer lists of operands are nested: databases bound the depth or the number of arguments. */
const OPERANDS_MAX = 100
/**
 * Up to this product of millionths and features, the service's sum of doubles rounds to the sum of
 * whole numbers: n additions of doubles are off by less than n * 2^-53 of what they add up.
 */
const EXACT_BELOW = 2 ** 52

/**
 * Plans the columns of reasons, which have the codes that `ReasonFinder` gives.
 *
 * Each value becomes the number of its bin; points and distances are constants of a bin. The
 * distances of a code are added up as whole millionths, and joined with the place of the first
 * feature that adds to it, into one number which orders codes as the service does: the largest
 * number is the first reason, the largest below that the second, and so on.
 *
 * @returns faults where the dialect can't express this exactly
 */
export function planReasons(
  model: CompiledModel,
  rules: readonly FeatureRule[],
  { finder, count, options }: PlanOptions,
): { readonly plan: ReasonPlan; readonly faults: readonly SpecIssue[] } {
  const dialect = DIALECTS[options.dialect]
  const codes = listCodeParts(model, finder)
  const writer = new ReasonWriter(model, finder, { codes, dialect })
  const keys = options.keys.map((_, index): Column => same(`key_${index + 1}`))
  const points = rules.map((_, index): Column => [`points_${index + 1}`, writer.pointsSql(index)])
  const carried = [...keys, ...points.map(([name]) => same(name))]
  const distances = writer.distances()
  const names = Array.from({ length: count }, (_, index) => `reason_${index + 1}`)
  const bins = rules.map((rule, index): Column => {
    const place = { value: `value_${index + 1}`, dialect, options }
    return [binName(index), slotCase(rule, place, (slot) => writer.formatBin(index, slot))]
  })
  const ranks = names.map((_, index) => {
    const rank = `rank_${index + 1}`
    return subquery(rank, [same('*'), [rank, writer.rankSql(index)]])
  })
  const plan: ReasonPlan = {
    subqueries: [
      subquery('bins', [...keys, ...bins]),
      subquery('points', [...keys, ...points, ...distances]),
      subquery('codes', [...carried, ...writer.codes()]),
      ...ranks,
      subquery('reasons', [
        ...carried,
        ...names.map((name, index): Column => [name, writer.reasonSql(index)]),
      ]),
    ],
    columns: names,
    // Where a number can't be scored, there are no reasons either.
    results: names.map(
      (name): Column => [name, `CASE WHEN score IS NULL THEN NULL ELSE ${name} END`],
    ),
  }
  const width = carried.length + distances.length + count
  return { plan, faults: [...exactFaults(codes, rules), ...widthFaults(width, dialect)] }
}

function same(name: string): Column {
  return [name, name]
}

function subquery(name: string, columns: readonly Column[]): readonly [string, readonly Column[]] {
  return [name, columns]
}

function binName(feature: number): string {
  return `bin_${feature + 1}`
}

function listCodeParts(model: CompiledModel, finder: ReasonFinder): CodeParts[] {
  const { rules } = finder
  const isNet = rules.settings.aggregate === 'net'
  const parts = new Map<number, Map<number, Map<number, number[]>>>()
  for (const feature of model.features.keys()) {
    const [start = 0, end = 0] = model.slotStart.slice(feature, feature + 2)
    for (let slot = start; slot < end; slot++) {
      const millionths = Math.round(finder.readDistance(slot) * MILLION)
      if (!(millionths > 0 || (isNet && millionths < 0))) continue
      const code = rules.codeOfSlot[slot] ?? 0
      const ofCode = held(parts, code, () => new Map<number, Map<number, number[]>>())
      const ofFeature = held(ofCode, feature, () => new Map<number, number[]>())
      held(ofFeature, millionths, (): number[] => []).push(slot - start)
    }
  }
  const codes = [...parts].map(([code, features]) => ({
    code,
    parts: [...features].map(([feature, slots]): Part => ({ feature, slots })),
  }))
  // A code that no value can take points for is never a reason.
  return codes.filter(({ parts }) => parts.some(({ slots }) => most(slots) > 0))
}

function held<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  const known = map.get(key)
  if (known !== undefined) return known
  const made = make()
  map.set(key, made)
  return made
}

function most(slots: Part['slots']): number {
  return [...slots.keys()].reduce((found, one) => Math.max(found, one), 0)
}

function exactFaults(codes: readonly CodeParts[], rules: readonly FeatureRule[]): SpecIssue[] {
  const isExact = codes.every(({ parts }) => {
    const largest = parts.map(({ slots }) =>
      [...slots.keys()].reduce((found, one) => Math.max(found, Math.abs(one)), 0),
    )
    return largest.reduce((sum, one) => sum + one, 0) * (rules.length + 2) < EXACT_BELOW
  })
  if (isExact) return []
  const message = 'have distances too large to be added up exactly in SQL: export without reasons'
  return [{ path: 'reasons', message }]
}

/** @param columns of the widest subquery, or a few more */
function widthFaults(columns: number, { columnsMax, name }: Dialect): SpecIssue[] {
  if (columnsMax === null || columns <= columnsMax) return []
  const message = `need a subquery of up to ${columns} columns, but ${name} allows ${columnsMax}: export without reasons`
  return [{ path: 'reasons', message }]
}

interface WriterOptions {
  readonly codes: readonly CodeParts[]
  readonly dialect: Dialect
}

class ReasonWriter {
  private readonly model: CompiledModel
  private readonly finder: ReasonFinder
  private readonly codeParts: readonly CodeParts[]
  private readonly dialect: Dialect
  /** The column of each part, in order. */
  private readonly names: ReadonlyMap<Part, string>

  constructor(model: CompiledModel, finder: ReasonFinder, { codes, dialect }: WriterOptions) {
    this.model = model
    this.finder = finder
    this.codeParts = codes
    this.dialect = dialect
    const parts = codes.flatMap(({ parts }) => parts)
    this.names = new Map(parts.map((part, index) => [part, `distance_${index + 1}`]))
  }

  /** The number of the bin of a slot in its feature. */
  formatBin(feature: number, slot: number): string {
    return String(slot - (this.model.slotStart[feature] ?? 0))
  }

  /** The points of a feature from the number of its bin. */
  pointsSql(feature: number): string {
    const { slotStart, points } = this.model
    const [start = 0, end = 0] = slotStart.slice(feature, feature + 2)
    const slots = new Map<string, number[]>()
    for (let slot = start; slot < end; slot++) {
      const number = this.dialect.number(points[slot] ?? 0)
      held(slots, number, (): number[] => []).push(slot - start)
    }
    const cases = [...slots].map(([number, bins]) => [matchBins(feature, bins), number] as const)
    return formatCase(cases, 'NULL')
  }

  /** The millionths that each part adds. */
  distances(): Column[] {
    return [...this.names].map(([{ feature, slots }, name]): Column => {
      const cases = [...slots].map(
        ([millionths, bins]) => [matchBins(feature, bins), String(millionths)] as const,
      )
      return [name, formatCase(cases, `CAST(0 AS ${this.dialect.integerType})`)]
    })
  }

  /** For each code a number that orders reasons; 0 for none. */
  codes(): Column[] {
    const features = this.model.features.length
    const { aggregate = 'positive', min_distance: leastDistance = 0 } = this.finder.rules.settings
    const least = leastAbove(leastDistance)
    return this.codeParts.map(({ parts }, index): Column => {
      const names = parts.map((part) => this.names.get(part) ?? '')
      const sum = aggregate === 'max' ? greatest(names) : total(names)
      const places = parts.map(
        ({ feature }, at) => [`${names[at]} > 0`, String(features - feature)] as const,
      )
      const place = places.length === 1 ? places[0]?.[1] : formatCase(places, '0')
      const order = `${sum} * ${features + 1} + ${place}`
      return [codeName(index), `CASE WHEN ${sum} >= ${least} THEN ${order} ELSE 0 END`]
    })
  }

  /** The largest number of a code that is below that of the reason before. */
  rankSql(index: number): string {
    const codes = this.codeParts.map((_, at) => codeName(at))
    if (codes.length === 0) return '0'
    if (index === 0) return greatest(codes)
    return greatest(
      codes.map((code) => `CASE WHEN ${code} < rank_${index} THEN ${code} ELSE 0 END`),
    )
  }

  /** The code with the number of this reason. */
  reasonSql(index: number): string {
    const { dialect, codeParts, finder } = this
    const none = `CAST(NULL AS ${dialect.textType})`
    if (codeParts.length === 0) return none
    const rank = `rank_${index + 1}`
    const cases = codeParts.map(
      ({ code }, at) =>
        [`${rank} = ${codeName(at)}`, dialect.text(finder.rules.codes[code] ?? '')] as const,
    )
    return formatCase([[`${rank} = 0`, none], ...cases], none)
  }
}

function codeName(index: number): string {
  return `code_${index + 1}`
}

function matchBins(feature: number, bins: readonly number[]): string {
  const [only] = bins
  const name = binName(feature)
  return bins.length === 1 ? `${name} = ${only}` : `${name} IN (${bins.join(', ')})`
}

/** The fewest whole millionths whose distance is above another; at least 1. */
function leastAbove(distance: number): number {
  if (distance * MILLION >= EXACT_BELOW) return EXACT_BELOW
  let millionths = Math.max(1, Math.floor(distance * MILLION) - 1)
  while (!(millionths / MILLION > distance)) millionths++
  return millionths
}

/** A sum of whole numbers, whose order does not matter. */
function total(operands: readonly string[]): string {
  return operands.length === 1 ? `${operands[0]}` : `(${nested(operands, total).join(' + ')})`
}

/** The largest of whole numbers of 0 or more. */
function greatest(operands: readonly string[]): string {
  return `GREATEST(0, ${nested(operands, greatest).join(', ')})`
}

function nested(
  operands: readonly string[],
  join: (operands: readonly string[]) => string,
): readonly string[] {
  if (operands.length <= OPERANDS_MAX) return operands
  const groups: string[] = []
  for (let at = 0; at < operands.length; at += OPERANDS_MAX) {
    groups.push(join(operands.slice(at, at + OPERANDS_MAX)))
  }
  return nested(groups, join)
}
