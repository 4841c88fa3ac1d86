import type { ImportOptions, Member, SourceBin, SourceCard, SourceFeature } from '../build/card.ts'
import { rowCounts } from '../build/development-counts.ts'
import { type Notes, quote } from '../build/notes.ts'
import { readInterval } from '../build/ranges.ts'
import {
  groupRows,
  numberIfAny,
  type Row,
  readNumber,
  readText,
  type Table,
} from '../build/table.ts'
import {
  codeMember,
  exactRange,
  listGroups,
  readSplits,
  type VariableSplits,
} from './optbinning-splits.ts'

const SPECIAL = 'Special'
const MISSING = 'Missing'
/** A number that numpy may have rounded to its 8 decimals. */
const NUMPY_ROUNDED = /^-?\d+\.\d{8}(?:e[+-]?\d+)?$/

/**
 * Reads the table of optbinning's `Scorecard`, summary or detailed.
 *
 * The table prints bounds with few decimals, so the caller should add the exact splits. The base
 * points are spread over the variables, or stored in `intercept_`, which the table does not have.
 *
 * @source optbinning 0.21.0 and 1.0.0, scorecard.py, binning_statistics.py
 */
export function readOptbinning(table: Table, options: ImportOptions, notes: Notes): SourceCard {
  const rowsByVariable = groupRows(table.rows, 'Variable', 'variable', notes)
  if (table.columns.includes('Mean')) {
    notes.fault(
      'row 1',
      'belongs to a card for a continuous target, which has no probability of default',
    )
  }
  const splits = readSplits(options.splits, [...rowsByVariable.keys()], notes)
  const features = [...rowsByVariable].map(([name, rows]) =>
    readVariable({ name, rows, splits: splits.get(name) }, options, notes),
  )
  return {
    tool: 'optbinning',
    basePoints: computeIntercept(features, options, notes),
    features,
    rules: {
      unseen: 'optbinning adds the points of the row Missing ("missing").',
      missing: 'optbinning has a row Missing for each variable, which is not in the file.',
      tiles: true,
    },
  }
}

/** The least points of each variable are 0 with `intercept_based`, and never without it. */
function computeIntercept(
  features: readonly SourceFeature[],
  { intercept, basePoints }: ImportOptions,
  notes: Notes,
): number {
  const given = intercept ?? basePoints
  const isApart =
    features.length > 0 &&
    features.every(
      ({ bins }) =>
        bins.some(({ points }) => points === 0) && bins.every(({ points }) => points >= 0),
    )
  if (given === undefined && isApart) {
    notes.fault(
      'intercept',
      'must be given: the least points of each variable are 0, so the card is intercept-based, and ' +
        '`intercept_` of the Scorecard is not in its table',
    )
  }
  return given ?? 0
}

interface Variable {
  readonly name: string
  readonly rows: readonly Row[]
  readonly splits: VariableSplits | undefined
}

function readVariable(variable: Variable, options: ImportOptions, notes: Notes): SourceFeature {
  const { name, rows, splits } = variable
  const labels = rows.map((row) => readText(row, 'Bin') ?? '')
  const isText = options.categorical?.includes(name) === true
  const ranges = labels.map((label) => (isText ? null : readInterval(label)))
  const isNumeric = ranges.some((range) => range !== null)
  const bins: SourceBin[] = []
  const members = isNumeric ? numericMembers : categoryMembers
  const found = members(variable, labels, notes)
  for (const [index, row] of rows.entries()) {
    const points = readNumber(row, 'Points', notes)
    const label = labels[index] ?? ''
    const held = found[index] ?? specialMembers(variable, { row, label, isNumeric }, options, notes)
    if (points === null || held === null) continue
    const woe = numberIfAny(row, 'WoE')
    const counts = rowCounts(row, COUNT_COLUMNS)
    bins.push({ path: row.path, label, points, woe, ...counts, members: held })
  }
  if (isNumeric && splits?.splits === undefined) {
    notes.conversion(
      quote(name),
      'uses the bounds that the table prints, which optbinning rounds to `show_digits` decimals: ' +
        'give the exact splits, or a value near a bound may get the points of the next bin',
    )
  }
  return { name, type: isNumeric ? 'numeric' : 'categorical', bins }
}

/** The table of the style `detailed` has counts; the event of a scorecard is the default. */
const COUNT_COLUMNS = { count: ['Count'], bads: ['Event'] }

type Found = readonly (readonly Member[] | undefined)[]

function numericMembers(
  { name, rows, splits }: Variable,
  labels: readonly string[],
  notes: Notes,
): Found {
  const printed = labels.map(readInterval)
  const count = printed.filter((range) => range !== null).length
  const exact = splits?.splits
  if (exact !== undefined && !exact.every((split) => typeof split === 'number')) {
    notes.fault(`splits.${name}`, 'must be numbers, because the bins of the table are intervals')
    return labels.map(() => [])
  }
  if (exact !== undefined && exact.length + 1 !== count) {
    notes.fault(
      `splits.${name}`,
      `are ${exact.length}, which make ${exact.length + 1} bins, but the table has ${count}`,
    )
    return labels.map(() => [])
  }
  let bin = 0
  return printed.map((range, index) => {
    if (range === null) return undefined
    if (exact === undefined) return [{ kind: 'range', range }]
    const label = labels[index] ?? ''
    const path = rows[index]?.path ?? ''
    return [{ kind: 'range', range: exactRange(range, { label, path, bin: bin++ }, exact, notes) }]
  })
}

function categoryMembers(
  { name, rows, splits }: Variable,
  labels: readonly string[],
  notes: Notes,
): Found {
  const groups = splits === undefined ? undefined : listGroups(splits)
  const areListed = labels.map((label) => readList(label).startsWith('['))
  const count = areListed.filter(Boolean).length
  if (groups === null) {
    notes.fault(
      `splits.${name}`,
      'are positions in its `categories`, which must be given with them, as to_dict() does',
    )
    return labels.map(() => [])
  }
  if (groups !== undefined && groups.length !== count) {
    notes.fault(`splits.${name}`, `are ${groups.length} groups, but the table has ${count}`)
    return labels.map(() => [])
  }
  let bin = 0
  return labels.map((label, index) => {
    if (areListed[index] !== true) return undefined
    const group = groups?.[bin++]
    const texts = group?.map(String) ?? readPythonTexts(label)
    if (group === undefined && texts?.some((text) => NUMPY_ROUNDED.test(text)) === true) {
      notes.fault(
        rows[index]?.path ?? '',
        `${quote(label)} of ${quote(name)} has numbers that numpy prints with 8 decimals: ` +
          'give the exact splits',
      )
    }
    if (texts !== null) return texts.map((text) => ({ kind: 'category', text }))
    const path = rows[index]?.path ?? ''
    notes.fault(
      path,
      `${quote(label)} of ${quote(name)} does not name all of its categories: give the exact splits`,
    )
    return []
  })
}

/** The rows below the bins: special values, with their names if there are several, then Missing. */
function specialMembers(
  { name, splits }: Variable,
  { row, label, isNumeric }: { row: Row; label: string; isNumeric: boolean },
  options: ImportOptions,
  notes: Notes,
): readonly Member[] | null {
  if (label === MISSING) return [{ kind: 'missing' }]
  const codes = splits?.specialCodes
  if (codes === undefined) {
    if (label === SPECIAL && options.hasNoSpecials === true) {
      notes.conversion(
        row.path,
        `is left out: the caller says that ${quote(name)} has no special values`,
      )
      return null
    }
    notes.fault(
      row.path,
      `${quote(label)} of ${quote(name)}: the table does not say which values are special. Give ` +
        '`special_codes` with the splits (null if there are none), or say that there are none',
    )
    return null
  }
  const values = codes.get(label) ?? (codes.size === 0 && label === SPECIAL ? [] : undefined)
  if (values === undefined) {
    notes.fault(row.path, `${quote(label)} is neither a bin nor one of the special codes given`)
    return null
  }
  if (values.length === 0) return null
  return values.map((value) => codeMember(value, { path: row.path, isNumeric }, notes))
}

/**
 * An extension array as pandas prints it. The name of a type has a bound: what follows each
 * bracket could be one.
 */
const EXTENSION_ARRAY = /^<\w+>\s*(\[.*\])\s*Length: \d{1,20}, dtype: [^\n]{1,200}$/s
const SEPARATOR = /[\s,]*/y
const WORD = /[^\s,'"[\]()]+/y
const ESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t' }
const HEX = /^(?:x([\da-fA-F]{2})|u([\da-fA-F]{4})|U([\da-fA-F]{8}))/

/**
 * Reads a list as Python or numpy prints it: `['a', 'b']`, `['a' 'b']` over several lines, `[1 2]`,
 * and arrays of pandas with their heading.
 *
 * @returns null for any other text, and for a list that was shortened with `...`
 */
export function readPythonTexts(text: string): string[] | null {
  const trimmed = readList(text)
  if (!trimmed.startsWith('[') || !trimmed.endsWith(']')) return null
  const body = trimmed.slice(1, -1)
  const texts: string[] = []
  let at = 0
  while (at < body.length) {
    SEPARATOR.lastIndex = at
    at += SEPARATOR.exec(body)?.[0].length ?? 0
    if (at >= body.length) break
    const quote = body[at] ?? ''
    const item = quote === "'" || quote === '"' ? quoted(body, at) : word(body, at)
    if (item === null || item.text === '...') return null
    texts.push(item.text)
    at = item.end
  }
  return texts
}

/** The list without the text that pandas prints around it. */
function readList(text: string): string {
  const trimmed = text.trim()
  return EXTENSION_ARRAY.exec(trimmed)?.[1] ?? trimmed
}

interface Item {
  readonly text: string
  readonly end: number
}

function word(body: string, at: number): Item | null {
  WORD.lastIndex = at
  const found = WORD.exec(body)?.[0]
  return found === undefined ? null : { text: found, end: at + found.length }
}

function quoted(body: string, start: number): Item | null {
  const quote = body[start]
  const parts: string[] = []
  let at = start + 1
  for (;;) {
    const char = body[at]
    if (char === undefined) return null
    if (char === quote) return { text: parts.join(''), end: at + 1 }
    if (char !== '\\') {
      parts.push(char)
      at++
      continue
    }
    const read = escaped(body, at + 1)
    if (read === null) return null
    parts.push(read.text)
    at = read.end
  }
}

function escaped(body: string, at: number): Item | null {
  const char = body[at]
  if (char === undefined) return null
  const hex = HEX.exec(body.slice(at, at + 9))
  if (hex !== null) {
    const code = Number.parseInt(hex[1] ?? hex[2] ?? hex[3] ?? '', 16)
    if (code > 0x10ffff) return null
    return { text: String.fromCodePoint(code), end: at + hex[0].length }
  }
  return { text: ESCAPES[char] ?? char, end: at + 1 }
}
