import type { ImportOptions, Member, SourceBin, SourceCard, SourceFeature } from '../build/card.ts'
import { type Notes, quote } from '../build/notes.ts'
import { between, readDecimal } from '../build/ranges.ts'
import { groupRows, type Row, readNumber, readText, type Table } from '../build/table.ts'

const INTERCEPT = '(Intercept)'
/** Most digits that R writes when it turns a number into text. */
const R_DIGITS = 15

/**
 * Reads `logitscaled` of smbinning: characteristics that `smbinning.gen` made, with attributes such
 * as `01 <= 25`, `02 > 25`, `01 = 'own'`, `01 in ('a','b')` and `00 Miss`. The base points are
 * spread over the characteristics.
 *
 * @source smbinning 0.9, smbinning.gen, smbinning.factor.gen, smbinning.scaling
 */
export function readSmbinning(table: Table, options: ImportOptions, notes: Notes): SourceCard {
  const rowsByName = groupRows(table.rows, 'Characteristic', 'characteristic', notes)
  for (const row of rowsByName.get(INTERCEPT) ?? []) checkIntercept(row, notes)
  rowsByName.delete(INTERCEPT)
  return {
    tool: 'smbinning',
    basePoints: options.basePoints ?? 0,
    features: [...rowsByName].map(([name, rows]) => readCharacteristic(name, rows, notes)),
    rules: {
      unseen: 'smbinning gives no score at all (NA).',
      missing: 'smbinning gives no score at all (NA).',
      tiles: true,
    },
  }
}

function checkIntercept(row: Row, notes: Notes): void {
  const points = readNumber(row, 'Points', notes)
  if (points === null || points === 0) return
  notes.fault(row.path, `has ${points} points; smbinning spreads them over the characteristics`)
}

function readCharacteristic(name: string, rows: readonly Row[], notes: Notes): SourceFeature {
  const bins: SourceBin[] = []
  let low = Number.NEGATIVE_INFINITY
  for (const row of rows) {
    const label = readText(row, 'Attribute') ?? ''
    const points = readNumber(row, 'Points', notes)
    const cut = readCut(label)
    const members = cut === null ? listMembers(label) : [makeRange(low, cut)]
    if (cut?.isLast === false) low = cut.at
    if (cut?.isLast === true && cut.at !== low) {
      notes.fault(row.path, `${quote(label)} does not begin where the previous bin ends (${low})`)
    }
    if (members === null) {
      notes.fault(row.path, `${quote(label)} is not an attribute that smbinning writes`)
    } else if (points !== null) bins.push({ path: row.path, label, points, members })
    if (cut !== null && String(cut.at).replace(/\D/g, '').length >= R_DIGITS) {
      notes.conversion(row.path, `${quote(label)} may be rounded: R writes ${R_DIGITS} digits`)
    }
  }
  const isNumeric = bins.some(({ members }) => members[0]?.kind === 'range')
  if (isNumeric && bins.some(({ members }) => members[0]?.kind === 'category')) {
    notes.fault(quote(name), 'has bins of numbers and of texts')
  }
  return { name, type: isNumeric ? 'numeric' : 'categorical', bins }
}

interface NumberCut {
  readonly at: number
  readonly isLast: boolean
}

const CUT = /^\d+ (<=|>) (\S+)$/
const EQUAL = /^\d+ = '(.*)'$/s
const IN = /^\d+ in \((.*)\)$/s

/** `02 <= 40` ends at 40 and begins where the previous row ends. */
function readCut(label: string): NumberCut | null {
  const match = CUT.exec(label)
  const at = match === null ? null : readDecimal(match[2] ?? '')
  return at === null ? null : { at, isLast: match?.[1] === '>' }
}

function makeRange(low: number, { at, isLast }: NumberCut): Member {
  const range = isLast
    ? between(at, Number.POSITIVE_INFINITY, { isLowClosed: false, isHighClosed: false })
    : between(low, at, { isLowClosed: false, isHighClosed: true })
  return { kind: 'range', range }
}

function listMembers(label: string): Member[] | null {
  if (label === '00 Miss') return [{ kind: 'missing' }]
  const single = EQUAL.exec(label)?.[1]
  if (single !== undefined) return [{ kind: 'category', text: single }]
  const listed = IN.exec(label)?.[1]
  if (listed === undefined) return null
  // smbinning removes the quotes and splits at every comma.
  const texts = listed.replaceAll("'", '').split(',')
  return texts.map((text): Member => ({ kind: 'category', text }))
}
