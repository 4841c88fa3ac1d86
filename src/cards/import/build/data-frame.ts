import type { Notes } from './notes.ts'
import type { Cell, Row, Table } from './table.ts'

type JsonObject = Readonly<Record<string, unknown>>

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * A table in any of the shapes that pandas and R write as JSON: an array of records, an object of
 * columns, `split`, `table`, or an object of such tables, one for each variable.
 *
 * @param columns the columns that the table must have
 * @returns null when the value has none of these shapes
 */
export function readFrame(value: unknown, columns: readonly string[], notes: Notes): Table | null {
  const table = findFrame(value, '')
  if (table !== null && columns.every((name) => table.columns.includes(name))) return table
  if (!isObject(value)) return null
  const parts: Table[] = []
  for (const [name, part] of Object.entries(value)) {
    const read = findFrame(part, name)
    if (read === null || !columns.every((column) => read.columns.includes(column))) return null
    parts.push(read)
  }
  if (parts.length === 0) return null
  notes.conversion('file', `${parts.length} tables of an object are read as one, in its order`)
  return {
    columns: [...new Set(parts.flatMap((part) => part.columns))],
    rows: parts.flatMap((part) => part.rows),
  }
}

function findFrame(value: unknown, path: string): Table | null {
  if (Array.isArray(value)) return fromRecords(value, path)
  if (!isObject(value)) return null
  const { columns, data } = value
  if (Array.isArray(columns) && Array.isArray(data)) return fromSplit(columns, data, path)
  if (isObject(value['schema']) && Array.isArray(data)) return fromRecords(data, path)
  return fromColumns(value, path)
}

function fromRecords(records: readonly unknown[], path: string): Table | null {
  const rows: Row[] = []
  const columns = new Set<string>()
  for (const [index, record] of records.entries()) {
    if (!isObject(record)) return null
    const cells = new Map<string, Cell>()
    for (const [name, cell] of Object.entries(record)) {
      columns.add(name)
      cells.set(name, findCell(cell))
    }
    rows.push({ path: `${path}[${index}]`, cells })
  }
  return rows.length === 0 ? null : { columns: [...columns], rows }
}

function fromSplit(
  columns: readonly unknown[],
  data: readonly unknown[],
  path: string,
): Table | null {
  const names = columns.map(String)
  const rows: Row[] = []
  for (const [index, record] of data.entries()) {
    if (!Array.isArray(record) || record.length !== names.length) return null
    const cells = new Map(names.map((name, column) => [name, findCell(record[column])]))
    rows.push({ path: `${path}[${index}]`, cells })
  }
  return { columns: names, rows }
}

/** Each column an array, or an object by the index of the row. */
function fromColumns(value: JsonObject, path: string): Table | null {
  const columns = new Map<string, readonly (readonly [string, unknown])[]>()
  for (const [name, column] of Object.entries(value)) {
    if (Array.isArray(column))
      columns.set(
        name,
        column.map((cell, index) => [String(index), cell]),
      )
    else if (isObject(column)) columns.set(name, Object.entries(column))
    else return null
  }
  const [first] = columns.values()
  if (first === undefined) return null
  const cellsByIndex = new Map<string, Map<string, Cell>>(
    first.map(([index]) => [index, new Map()]),
  )
  for (const [name, entries] of columns) {
    if (entries.length !== first.length) return null
    for (const [index, cell] of entries) {
      const cells = cellsByIndex.get(index)
      if (cells === undefined) return null
      cells.set(name, findCell(cell))
    }
  }
  const rows = [...cellsByIndex].map(([index, cells]) => ({ path: `${path}[${index}]`, cells }))
  return { columns: [...columns.keys()], rows }
}

/**
 * An array, as a bin of several categories may be, is told from a text by whoever reads the column.
 */
function findCell(value: unknown): Cell {
  if (typeof value === 'number' || typeof value === 'string') return value
  if (value === null || value === undefined) return null
  return JSON.stringify(value)
}
