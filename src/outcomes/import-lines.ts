import { isUtf8 } from 'node:buffer'
import { parseJson } from '../platform/json.ts'
import { ITEM_FIELDS } from './item.ts'

/** A line of a file as an item: a value to read, or what is wrong with the line. */
export type LineValue =
  | { readonly value: unknown; readonly fault: null }
  | { readonly value: null; readonly fault: string }

export const LINE_BYTES_MAX = 64 * 1024
const LIST_DELIMITER = ';'
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/

export function readJsonLine(bytes: Buffer): LineValue {
  const fault = bytesFault(bytes)
  if (fault !== null) return { value: null, fault }
  try {
    return { value: parseJson(bytes.toString()), fault: null }
  } catch {
    return { value: null, fault: 'the line is not valid JSON' }
  }
}

export interface CsvHeader {
  readonly delimiter: string
  readonly columns: readonly string[]
}

/**
 * Reads the header of a CSV file: the fields of an item, separated by commas, semicolons or tabs.
 *
 * @returns a text that says what is wrong with it
 */
export function readCsvHeader(bytes: Buffer): CsvHeader | string {
  const fault = bytesFault(bytes)
  if (fault !== null) return fault
  const text = bytes.toString().replace(/^\uFEFF/, '')
  const [delimiter] = [',', ';', '\t'].sort((a, b) => text.split(b).length - text.split(a).length)
  const columns = readCells(text, delimiter ?? ',')?.map((name) => name.trim()) ?? []
  const unknown = columns.find((name) => !Object.hasOwn(ITEM_FIELDS, name))
  if (unknown !== undefined) {
    const fields = Object.keys(ITEM_FIELDS).join(', ')
    return `the header has the unknown column "${unknown.slice(0, 40)}"; columns are ${fields}`
  }
  if (new Set(columns).size < columns.length) return 'the header names a column twice'
  return { delimiter: delimiter ?? ',', columns }
}

/** Reads a line of a CSV file: an empty cell is an absent field. */
export function readCsvLine(bytes: Buffer, { delimiter, columns }: CsvHeader): LineValue {
  const fault = bytesFault(bytes)
  if (fault !== null) return { value: null, fault }
  const cells = readCells(bytes.toString(), delimiter)
  if (cells === null) {
    return { value: null, fault: 'a quote is not closed: a cell cannot contain a line break' }
  }
  if (cells.length !== columns.length) {
    const message = `the line has ${cells.length} cells, but the header has ${columns.length}`
    return { value: null, fault: message }
  }
  const value: Record<string, unknown> = {}
  for (const [index, name] of columns.entries()) {
    const cell = cells[index] ?? ''
    if (cell !== '') value[name] = readField(name as keyof typeof ITEM_FIELDS, cell)
  }
  return { value, fault: null }
}

/** A cell that is not of the kind of its field stays a text, which the item then refuses. */
function readField(name: keyof typeof ITEM_FIELDS, cell: string): unknown {
  const field = ITEM_FIELDS[name]
  if (field === 'number' || field === 'index') return NUMBER.test(cell) ? Number(cell) : cell
  if (field === 'flag') return FLAGS.get(cell.toLowerCase()) ?? cell
  if (field === 'texts') return cell.split(LIST_DELIMITER).map((text) => text.trim())
  return cell
}

const FLAGS = new Map([
  ['true', true],
  ['false', false],
])

/** The cells of a line by RFC 4180; null where a quote is not closed. */
export function readCells(line: string, delimiter: string): string[] | null {
  if (!line.includes('"')) return line.split(delimiter)
  const cells: string[] = []
  let at = 0
  for (;;) {
    if (line[at] !== '"') {
      const end = line.indexOf(delimiter, at)
      cells.push(end < 0 ? line.slice(at) : line.slice(at, end))
      if (end < 0) return cells
      at = end + 1
      continue
    }
    let text = ''
    for (;;) {
      const end = line.indexOf('"', at + 1)
      if (end < 0) return null
      text += line.slice(at + 1, end)
      at = end + 1
      if (line[at] !== '"') break
      text += '"'
    }
    const end = line.indexOf(delimiter, at)
    cells.push(text + (end < 0 ? line.slice(at) : line.slice(at, end)))
    if (end < 0) return cells
    at = end + 1
  }
}

function bytesFault(bytes: Buffer): string | null {
  if (bytes.length > LINE_BYTES_MAX) return `the line is longer than ${LINE_BYTES_MAX} bytes`
  return isUtf8(bytes) ? null : 'the line is not UTF-8'
}
