import type { Member } from '../build/card.ts'
import { isObject } from '../build/data-frame.ts'
import { type Notes, quote } from '../build/notes.ts'
import { between, type Range, readDecimal } from '../build/ranges.ts'

/** Facts that optbinning knows about a variable beyond the table. */
export interface VariableSplits {
  /** Numbers between the bins, or the categories of each bin. */
  readonly splits?: readonly (number | readonly (string | number)[])[]
  /** Categories of the variable; its splits are positions in this order. */
  readonly categories?: readonly (string | number)[]
  readonly catOthers?: readonly (string | number)[]
  readonly hasUserSplits?: boolean
  /** Special values by the label of their row; undefined when the caller did not give them. */
  readonly specialCodes?: ReadonlyMap<string, readonly (string | number)[]>
}

type Value = string | number

/**
 * Reads the exact splits: `{variable: splits}`, `{variable: to_dict()}` or an array of `to_dict()`.
 *
 * @param names of the variables of the card; others are ignored
 */
export function readSplits(
  json: unknown,
  names: readonly string[],
  notes: Notes,
): Map<string, VariableSplits> {
  const read = new Map<string, VariableSplits>()
  if (json === undefined) return read
  const entries = listEntries(json)
  if (entries === null) {
    notes.fault('splits', 'must be an object by variable, or an array of to_dict() results')
    return read
  }
  const wanted = new Set(names)
  for (const [name, value] of entries) {
    if (!wanted.has(name)) continue
    const splits = readVariable(value)
    if (splits === null) {
      notes.fault(`splits.${name}`, 'must be an array of splits, or an object with `splits`')
    } else read.set(name, splits)
  }
  const absent = names.filter((name) => !read.has(name))
  if (absent.length > 0 && absent.length < names.length) {
    notes.conversion('splits', `do not contain ${absent.map(quote).join(', ')}`)
  }
  return read
}

function listEntries(json: unknown): [string, unknown][] | null {
  if (isObject(json)) {
    return typeof json['name'] === 'string' && 'splits' in json
      ? [[json['name'], json]]
      : Object.entries(json)
  }
  if (!Array.isArray(json)) return null
  const entries: [string, unknown][] = []
  for (const item of json) {
    if (!isObject(item) || typeof item['name'] !== 'string') return null
    entries.push([item['name'], item])
  }
  return entries
}

function readVariable(value: unknown): VariableSplits | null {
  if (Array.isArray(value)) {
    const splits = findSplits(value)
    return splits === null ? null : { splits }
  }
  if (!isObject(value)) return null
  const splits = value['splits'] === undefined ? undefined : findSplits(value['splits'])
  const codes = value['special_codes'] === undefined ? undefined : listCodes(value['special_codes'])
  if (splits === null || codes === null) return null
  const { categories, cat_others: catOthers, user_splits: userSplits } = value
  return {
    ...(splits && { splits }),
    ...(codes && { specialCodes: codes }),
    ...(isValues(categories) && { categories }),
    ...(isValues(catOthers) && { catOthers }),
    hasUserSplits: userSplits != null,
  }
}

/**
 * The categories of each bin. The splits of a fitted variable are positions between its categories;
 * rare categories form a last bin.
 *
 * @returns undefined when the splits do not define them, null when they can't be derived
 * @source optbinning binning_statistics.py, bin_categorical
 */
export function listGroups(variable: VariableSplits): (readonly Value[])[] | undefined | null {
  const { splits, categories, catOthers = [], hasUserSplits } = variable
  if (splits === undefined) return undefined
  const groups = splits.filter((split) => typeof split !== 'number')
  if (groups.length > 0) return groups.length === splits.length ? groups : null
  if (categories === undefined || hasUserSplits === true) return null
  const starts = splits.map((split) => Math.ceil(Number(split)))
  const bins = [0, ...starts].map((start, bin) =>
    categories.slice(start, starts[bin] ?? categories.length),
  )
  return catOthers.length > 0 ? [...bins, catOthers] : bins
}

function findSplits(value: unknown): NonNullable<VariableSplits['splits']> | null {
  if (!Array.isArray(value)) return null
  const isSplit = (item: unknown) => Number.isFinite(item) || isValues(item)
  return value.every(isSplit) ? value : null
}

function listCodes(value: unknown): Map<string, readonly Value[]> | null {
  if (value === null) return new Map()
  if (isValues(value)) return new Map([['Special', value]])
  if (!isObject(value)) return null
  const codes = new Map<string, readonly Value[]>()
  for (const [label, code] of Object.entries(value)) {
    const values = Array.isArray(code) ? code : [code]
    if (!isValues(values)) return null
    codes.set(label, values)
  }
  return codes
}

/** A special value of a variable. For a numeric variable it may be a text that holds a number. */
export function codeMember(
  code: Value,
  { path, isNumeric }: { path: string; isNumeric: boolean },
  notes: Notes,
): Member {
  if (!isNumeric) return { kind: 'category', text: String(code) }
  const value = typeof code === 'number' ? code : readDecimal(code)
  if (value !== null) return { kind: 'value', value }
  notes.fault(path, `has the special code ${quote(String(code))}, but its values are numbers`)
  return { kind: 'category', text: String(code) }
}

function isValues(value: unknown): value is Value[] {
  return (
    Array.isArray(value) && value.every((item) => typeof item === 'string' || Number.isFinite(item))
  )
}

/**
 * The range of a bin by its exact splits, which must round to the bounds that the table prints.
 *
 * @param bin the row and the number of the bin among the intervals of its variable
 */
export function exactRange(
  printed: Range,
  { label, path, bin }: { label: string; path: string; bin: number },
  splits: readonly unknown[],
  notes: Notes,
): Range {
  const low = bin === 0 ? Number.NEGATIVE_INFINITY : Number(splits[bin - 1])
  const high = bin === splits.length ? Number.POSITIVE_INFINITY : Number(splits[bin])
  const decimals = /\.(\d+)/.exec(label)?.[1]?.length ?? 0
  for (const [exact, shown] of [
    [low, printed.low.at],
    [high, printed.high.at],
  ] as const) {
    if (exact === shown) continue
    // A printed bound is within half of its last digit, plus a little for the rounding of both.
    if (Math.abs(exact - shown) <= 0.5 * 10 ** -decimals * (1 + 1e-9) + Math.abs(exact) * 1e-15) {
      notes.conversion(
        path,
        `${quote(label)} ends at the exact split ${exact}, which the table shows as ${shown}`,
      )
    } else notes.fault(path, `${quote(label)} does not belong to the split ${exact}`)
  }
  return between(low, high, { isLowClosed: true, isHighClosed: false })
}
