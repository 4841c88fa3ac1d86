import type { NaiveSpec } from '../naive/naive-evaluator.ts'
import type { Cell, TableColumn } from './sql-engines.ts'

/** The columns of a table for a card, some of the categorical ones with numbers. */
export function columnsFor(
  spec: Pick<NaiveSpec, 'features'>,
  ofNumbers: readonly boolean[] = [],
): TableColumn[] {
  return spec.features.map(({ name, type }, index) => ({
    name,
    type: type === 'numeric' || ofNumbers[index] === true ? 'number' : 'text',
  }))
}

/** The value as a column of this type can hold it. */
function findCell(value: unknown, { type }: TableColumn): Cell {
  if (type === 'number') return typeof value === 'number' ? value : null
  const text = typeof value === 'number' ? String(value) : value
  const isStorable = typeof text === 'string' && text.isWellFormed() && !text.includes('\0')
  return isStorable ? text : null
}

/** The values of an applicant in the order of the columns. */
export function readRow(applicant: object, columns: readonly TableColumn[]): Cell[] {
  return columns.map((column) =>
    findCell(Object.entries(applicant).find(([name]) => name === column.name)?.[1], column),
  )
}
