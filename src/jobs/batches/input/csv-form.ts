import type { WrittenCategories } from '../../../engine/index.ts'
import { readCells } from '../../../outcomes/import-lines.ts'
import { NO_UNKNOWN_COLUMNS, type UnknownColumns } from '../batch.ts'
import { faultyRecord, type LineForm } from './line-reader.ts'
import {
  type FileRecord,
  findUnknown,
  invalidFile,
  isLongId,
  LONG_ID,
  makeTemplate,
  quoted,
  type ReadFeatures,
} from './record.ts'

const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/
/** A cell in quotes, in which a doubled quote is one. */
const QUOTED = /"[^"]*"/g
/** Digits of a whole number that is always exact, with a point. */
const PLAIN_CHARS_MAX = 16
const POWERS_OF_TEN = Array.from({ length: PLAIN_CHARS_MAX }, (_, power) => 10 ** power)
const MINUS = 0x2d
const POINT = 0x2e
const DIGIT_0 = 0x30
const DIGIT_9 = 0x39
const DELIMITERS = [',', ';', '\t'] as const
/** The applicants' column of ids by default; a file need not have it. */
export const DEFAULT_ID_FIELD = 'id'

interface FeatureColumn {
  readonly name: string
  readonly cell: number
  /** Null for a feature whose values are numbers. */
  readonly categories: WrittenCategories | null
}

/**
 * CSV with a header of names, separated by commas, semicolons or tabs.
 *
 * An empty cell is a missing value. A cell of a numeric feature is a number if JSON would take it
 * as one, else the text that it is, which matches no bin. A cell of another feature is a category,
 * see `WrittenCategories`. A cell contains no line break.
 */
export class CsvForm implements LineForm {
  unknownColumns: UnknownColumns = NO_UNKNOWN_COLUMNS
  readonly hasHeader = true
  private readonly features: ReadFeatures
  private delimiter = ','
  private cells = 0
  private idCell = -1
  private columns: readonly FeatureColumn[] = []
  private template: Readonly<Record<string, unknown>> = {}

  constructor(features: ReadFeatures) {
    this.features = features
  }

  readHeader(line: string): void {
    const unquoted = line.replace(QUOTED, '')
    const counts = DELIMITERS.map((delimiter) => unquoted.split(delimiter).length)
    this.delimiter = DELIMITERS[counts.indexOf(Math.max(...counts))] ?? ','
    const names = readCells(line, this.delimiter)
    if (names === null) throw invalidFile('a quote in the header is not closed')
    const { categories, idField } = this.features
    this.unknownColumns = findUnknown(names, this.features)
    this.cells = names.length
    this.idCell = names.indexOf(idField)
    if (this.idCell < 0 && idField !== DEFAULT_ID_FIELD) {
      throw invalidFile(`the header has no column ${quoted(idField)}, which id_field names`)
    }
    this.columns = names.flatMap((name, cell) => {
      const known = categories.get(name)
      return known === undefined ? [] : { name, cell, categories: known }
    })
    this.template = makeTemplate(this.columns.map(({ name }) => name))
  }

  read(line: string, number: number): FileRecord {
    const cells = readCells(line, this.delimiter)
    if (cells === null) {
      return faultyRecord(number, 'a quote is not closed: a cell cannot contain a line break')
    }
    if (cells.length !== this.cells) {
      const fault = `the line has ${cells.length} cells, but the header has ${this.cells}`
      return faultyRecord(number, fault)
    }
    const id = cells[this.idCell] || null
    if (isLongId(id)) return faultyRecord(number, LONG_ID)
    const applicant: Record<string, unknown> = { ...this.template }
    for (const { name, cell, categories } of this.columns) {
      const text = cells[cell] ?? ''
      if (text === '') applicant[name] = null
      else applicant[name] = categories === null ? numberOrText(text) : categories.read(text)
    }
    return { line: number, id, applicant, fault: null }
  }
}

function numberOrText(text: string): number | string {
  const plain = readPlainNumber(text)
  if (plain !== null) return plain
  return JSON_NUMBER.test(text) ? Number(text) : text
}

/**
 * A number of few digits without an exponent, some three times as fast as by a pattern. Both the
 * digits and the power of ten are exact doubles, so that their quotient is the nearest double.
 *
 * @returns null for any other text
 * @source Clinger, How to read floating point numbers accurately, 1990
 */
function readPlainNumber(text: string): number | null {
  const { length } = text
  const isNegative = text.charCodeAt(0) === MINUS
  const start = isNegative ? 1 : 0
  if (length - start > PLAIN_CHARS_MAX) return null
  let digits = 0
  let point = -1
  for (let at = start; at < length; at++) {
    const code = text.charCodeAt(at)
    if (code === POINT && point < 0) point = at
    else if (code >= DIGIT_0 && code <= DIGIT_9) digits = 10 * digits + (code - DIGIT_0)
    else return null
  }
  const wholeDigits = (point < 0 ? length : point) - start
  const hasLeadingZero = wholeDigits > 1 && text.charCodeAt(start) === DIGIT_0
  if (wholeDigits === 0 || hasLeadingZero || point === length - 1) return null
  const number = point < 0 ? digits : digits / (POWERS_OF_TEN[length - 1 - point] ?? 1)
  return isNegative ? -number : number
}
