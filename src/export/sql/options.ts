import type { COLUMN_CASES } from '../../schemas/export.ts'
import type { FeatureRule, SpecIssue } from '../engine/index.ts'
import { DIALECTS, type Dialect, type DialectName, templateFault } from './dialects.ts'

/** How the names of columns are made of those of features. */
export type ColumnCase = (typeof COLUMN_CASES)[number]

export interface SqlOrder {
  readonly dialect: DialectName
  /** The table with the applicants, with its schema and its catalog in front: `risk.applicants`. */
  readonly table: string
  /** Columns that are carried into the answer, so that its rows can be told apart. */
  readonly keys: readonly string[]
  /** Categorical features whose columns hold numbers. */
  readonly numberColumns: readonly string[]
  readonly columnCase: ColumnCase
}

/** Begins the names of all subqueries. */
export const SUBQUERY_PREFIX = 'scoreline_'

const TABLE_PARTS_MAX = 3
const ANSWER_COLUMN = /^(score|pd|risk_grade|points_\d+)$/i

/** The parts of a table's name. */
export function tableParts({ table }: SqlOrder): string[] {
  return table.split('.')
}

/** The column of a feature. */
export function columnOf(feature: string, { columnCase }: SqlOrder): string {
  if (columnCase === 'upper') return feature.toUpperCase()
  return columnCase === 'lower' ? feature.toLowerCase() : feature
}

/**
 * Everything about an order and a card that the dialect can't say.
 *
 * @returns paths are those of the spec, or names of what was ordered
 */
export function sqlFaults(rules: readonly FeatureRule[], order: SqlOrder): SpecIssue[] {
  const dialect = DIALECTS[order.dialect]
  return [
    ...tableFaults(order, dialect),
    ...keyFaults(order, dialect),
    ...numberColumnFaults(rules, order),
    ...columnFaults(rules, order, dialect),
    ...rules.flatMap(categoryFaults),
  ]
}

function tableFaults(order: SqlOrder, dialect: Dialect): SpecIssue[] {
  const parts = tableParts(order)
  if (parts.length > TABLE_PARTS_MAX) {
    return [{ path: 'table', message: `has more than ${TABLE_PARTS_MAX} parts between dots` }]
  }
  const faults = parts.flatMap((part) => nameFault(part, dialect) ?? [])
  if (parts.at(-1)?.toLowerCase().startsWith(SUBQUERY_PREFIX)) {
    faults.push(`must not begin with ${SUBQUERY_PREFIX}, as the subqueries of the statement do`)
  }
  return faults.map((message) => ({ path: 'table', message }))
}

function keyFaults({ keys }: SqlOrder, dialect: Dialect): SpecIssue[] {
  const messages = keys.flatMap((key) => {
    if (ANSWER_COLUMN.test(key)) return [`${JSON.stringify(key)} is a column of the answer`]
    const fault = nameFault(key, dialect)
    return fault === null ? [] : [`${JSON.stringify(key)} ${fault}`]
  })
  for (const [index, key] of keys.entries()) {
    const other = keys.findIndex((one) => areOneColumn(one, key, dialect))
    if (other < index) messages.push(`${JSON.stringify(key)} is given twice`)
  }
  return messages.map((message) => ({ path: 'key', message }))
}

function numberColumnFaults(
  rules: readonly FeatureRule[],
  { numberColumns }: SqlOrder,
): SpecIssue[] {
  const categorical = new Set(rules.filter(({ isNumeric }) => !isNumeric).map(({ name }) => name))
  return numberColumns
    .filter((name) => !categorical.has(name))
    .map((name) => ({
      path: 'number_column',
      message: `${JSON.stringify(name)} is no categorical feature of the card`,
    }))
}

function columnFaults(
  rules: readonly FeatureRule[],
  order: SqlOrder,
  dialect: Dialect,
): SpecIssue[] {
  const featureOfColumn = new Map<string, number>()
  return rules.flatMap(({ name }, index) => {
    const path = `features[${index}].name`
    const column = columnOf(name, order)
    const fault = nameFault(column, dialect)
    if (fault !== null) return [{ path, message: fault }]
    const known = columnKey(column, dialect)
    const other = featureOfColumn.get(known)
    featureOfColumn.set(known, other ?? index)
    const message = `is the same column as features[${other}].name in ${dialect.name}`
    return other === undefined ? [] : [{ path, message }]
  })
}

function categoryFaults({ categories }: FeatureRule, index: number): SpecIssue[] {
  const texts = categories.flatMap(({ texts }) => texts)
  if (texts.every(isStorable)) return []
  const message = 'have a category with NUL or half a character, which no column of texts can hold'
  return [{ path: `features[${index}].bins`, message }]
}

function nameFault(name: string, dialect: Dialect): string | null {
  if (name === '') return 'has an empty name'
  if (!isStorable(name)) return 'holds NUL or half a character, which no name can hold'
  return dialect.nameFault(name) ?? templateFault(name)
}

function areOneColumn(one: string, other: string, dialect: Dialect): boolean {
  return columnKey(one, dialect) === columnKey(other, dialect)
}

/** Equal for names that are one column. */
function columnKey(name: string, { isCaseSensitive }: Dialect): string {
  // Both ways, because there are letters that only one of them takes together.
  return isCaseSensitive ? name : name.toUpperCase().toLowerCase()
}

/** Unicode without NUL, which is what texts of databases are. */
function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0')
}
