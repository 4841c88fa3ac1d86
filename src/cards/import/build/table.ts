import { parse } from 'csv-parse/sync'
import { type Notes, quote } from './notes.ts'
import { readDecimal } from './ranges.ts'

/** A cell as the file has it; null when it is empty. */
export type Cell = string | number | null

export interface Row {
  /**
   * Position in the file: `row 7` of a CSV file, whose heading is row 1, or `[5]` of a JSON array.
   */
  readonly path: string
  /** By column name. */
  readonly cells: ReadonlyMap<string, Cell>
}

export interface Table {
  readonly columns: readonly string[]
  readonly rows: readonly Row[]
}

const DELIMITERS = [',', ';', '\t', '|'] as const
const CELL_CHARS_MAX = 1_000_000
const NO_NAMES: ReadonlySet<string> = new Set()

/**
 * Reads a CSV file with a heading. The heading shows whether commas, semicolons, tabs or bars
 * separate the cells.
 *
 * @param exact names of columns that keep the blanks around them; others lose them
 * @returns null after a fault when the file is not a table
 */
export function readCsv(
  text: string,
  notes: Notes,
  exact: ReadonlySet<string> = NO_NAMES,
): Table | null {
  const records = readRecords(text, notes)
  if (records === null) return null
  const [heading, ...rest] = records
  if (heading === undefined) {
    notes.fault('file', 'is empty')
    return null
  }
  const columns = heading.map((name) => (exact.has(name) ? name : name.trim()))
  const names = new Set<string>()
  const twice = columns.find((name) => name !== '' && names.size === names.add(name).size)
  if (twice !== undefined) {
    notes.fault('row 1', `names the column ${quote(twice)} twice`)
    return null
  }
  const rows: Row[] = []
  for (const [index, record] of rest.entries()) {
    const path = `row ${index + 2}`
    if (record.every((cell) => cell === '')) continue
    if (record.length === columns.length) rows.push({ path, cells: readCells(columns, record) })
    else {
      notes.fault(path, `has ${record.length} cells, but the heading has ${columns.length}`)
    }
  }
  return { columns, rows }
}

function readCells(columns: readonly string[], record: readonly string[]): Map<string, Cell> {
  const cells = new Map<string, Cell>()
  for (const [index, column] of columns.entries()) {
    const cell = record[index] ?? ''
    cells.set(column, cell === '' ? null : cell)
  }
  return cells
}

function readRecords(text: string, notes: Notes): string[][] | null {
  try {
    // Text of a card is data: nothing is converted, trimmed or evaluated.
    return parse(text, {
      bom: true,
      delimiter: findDelimiter(text),
      relax_column_count: true,
      skip_empty_lines: true,
      max_record_size: CELL_CHARS_MAX,
    })
  } catch (error) {
    notes.fault(
      'file',
      `is not valid CSV: ${error instanceof Error ? error.message : "it can't be read"}`,
    )
    return null
  }
}

/** The most frequent delimiter of the heading; quoted delimiters are rare in column names. */
function findDelimiter(text: string): string {
  const end = text.search(/[\r\n]/)
  const heading = end === -1 ? text : text.slice(0, end)
  const counts = DELIMITERS.map((delimiter) => heading.split(delimiter).length)
  return DELIMITERS[counts.indexOf(Math.max(...counts))] ?? ','
}

/** The text of a cell; a number of a JSON file in its shortest form. */
export function readText(row: Row, column: string): string | null {
  const cell = row.cells.get(column) ?? null
  return typeof cell === 'number' ? String(cell) : cell
}

/** @returns null after a fault when the cell holds no finite number */
export function readNumber(row: Row, column: string, notes: Notes): number | null {
  const cell = row.cells.get(column) ?? null
  if (typeof cell === 'number' && Number.isFinite(cell)) return cell
  const value = typeof cell === 'string' ? readDecimal(cell) : null
  if (value !== null) return value
  const isComma = typeof cell === 'string' && /^-?\d+,\d+$/.test(cell.trim())
  const hint = isComma ? '; write decimals with a point' : ''
  const found = cell === null ? 'is empty' : `is ${quote(String(cell))}`
  notes.fault(row.path, `${column} must be a number, but ${found}${hint}`)
  return null
}

/** The number in a cell; undefined when the column is absent, or the cell is empty or no number. */
export function numberIfAny(row: Row, column: string): number | undefined {
  const cell = row.cells.get(column) ?? null
  if (typeof cell === 'number') return Number.isFinite(cell) ? cell : undefined
  return cell === null ? undefined : (readDecimal(cell) ?? undefined)
}

/** Groups rows by name, in the order of the file; adds a fault for each row without a name. */
export function groupRows(
  rows: readonly Row[],
  column: string,
  called: string,
  notes: Notes,
): Map<string, Row[]> {
  const groups = new Map<string, Row[]>()
  for (const row of rows) {
    const name = readText(row, column)
    const group = name === null ? undefined : groups.get(name)
    if (group !== undefined) group.push(row)
    else if (name !== null) groups.set(name, [row])
    else notes.fault(row.path, `names no ${called}`)
  }
  return groups
}
