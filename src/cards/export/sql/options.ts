import type { COLUMN_CASES } from '../../../../schemas/export.ts'
import type { FeatureRule, SpecIssue } from '../../../engine/index.ts'
import { DIALECTS, type Dialect, type DialectName, templateFault } from './dialects.ts'

/** The way column names are made from feature names. */
type ColumnCase = (typeof COLUMN_CASES)[number]

export interface SqlOptions {
  readonly dialect: DialectName
  /** Table of the applicants, optionally with schema and catalog: `risk.applicants`. */
  readonly table: string
  /** Columns that are copied to the result to identify its rows. */
  readonly keys: readonly string[]
  /** Categorical features whose columns hold numbers. */
  readonly numberColumns: readonly string[]
  readonly columnCase: ColumnCase
}

/** Start of the names of all subqueries. */
export const SUBQUERY_PREFIX = 'scoreline_'

const TABLE_PARTS_MAX = 3
const ANSWER_COLUMN = /^(score|pd|risk_grade|(points|reason)_\d+)$/i

/** The parts of a table's name. */
export function tableParts({ table }: SqlOptions): string[] {
  return table.split('.')
}

/** The column of a feature. */
export function nameColumn(feature: string, { columnCase }: SqlOptions): string {
  if (columnCase === 'upper') return feature.toUpperCase()
  return columnCase === 'lower' ? feature.toLowerCase() : feature
}

/**
 * Everything in the options and the card that the dialect can't express.
 *
 * @returns faults whose paths are paths of the spec or names of options
 */
export function sqlFaults(rules: readonly FeatureRule[], options: SqlOptions): SpecIssue[] {
  const dialect = DIALECTS[options.dialect]
  return [
    ...tableFaults(options, dialect),
    ...keyFaults(options, dialect),
    ...numberColumnFaults(rules, options),
    ...columnFaults(rules, options, dialect),
    ...rules.flatMap(categoryFaults),
  ]
}

function tableFaults(options: SqlOptions, dialect: Dialect): SpecIssue[] {
  const parts = tableParts(options)
  if (parts.length > TABLE_PARTS_MAX) {
    return [{ path: 'table', message: `has more than ${TABLE_PARTS_MAX} parts between dots` }]
  }
  const faults = parts.flatMap((part) => nameFault(part, dialect) ?? [])
  if (parts.at(-1)?.toLowerCase().startsWith(SUBQUERY_PREFIX)) {
    faults.push(`must not begin with ${SUBQUERY_PREFIX}, which the subqueries of the statement use`)
  }
  return faults.map((message) => ({ path: 'table', message }))
}

function keyFaults({ keys }: SqlOptions, dialect: Dialect): SpecIssue[] {
  const messages = keys.flatMap((key) => {
    if (ANSWER_COLUMN.test(key)) return [`${JSON.stringify(key)} is a column of the result`]
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
  { numberColumns }: SqlOptions,
): SpecIssue[] {
  const categorical = new Set(rules.filter(({ isNumeric }) => !isNumeric).map(({ name }) => name))
  return numberColumns
    .filter((name) => !categorical.has(name))
    .map((name) => ({
      path: 'number_column',
      message: `${JSON.stringify(name)} is not a categorical feature of the card`,
    }))
}

function columnFaults(
  rules: readonly FeatureRule[],
  options: SqlOptions,
  dialect: Dialect,
): SpecIssue[] {
  const featureOfColumn = new Map<string, number>()
  return rules.flatMap(({ name }, index) => {
    const path = `features[${index}].name`
    const column = nameColumn(name, options)
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
  const message = 'have a category with NUL or half a character, which no text column can contain'
  return [{ path: `features[${index}].bins`, message }]
}

function nameFault(name: string, dialect: Dialect): string | null {
  if (name === '') return 'has an empty name'
  if (!isStorable(name)) return 'contains NUL or half a character, which no name can contain'
  return dialect.nameFault(name) ?? templateFault(name)
}

function areOneColumn(one: string, other: string, dialect: Dialect): boolean {
  return columnKey(one, dialect) === columnKey(other, dialect)
}

/** The same key for names that are the same column. */
function columnKey(name: string, { isCaseSensitive }: Dialect): string {
  // Both conversions, because each merges some letters that the other keeps apart.
  return isCaseSensitive ? name : name.toUpperCase().toLowerCase()
}

/** Tells whether a text is Unicode without NUL, as databases require. */
function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0')
}
