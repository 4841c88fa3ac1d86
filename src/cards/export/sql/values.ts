import { type FeatureRule, nextUp } from '../../../engine/index.ts'
import { atOrAbove, atOrBelow } from './bounds.ts'
import type { Dialect } from './dialects.ts'
import { nameColumn, type SqlOptions } from './options.ts'

/** Terms that a statement gives for a slot of a feature. */
type Give = (slot: number) => string

export function columnSql(name: string, dialect: Dialect): string {
  return `t.${dialect.identifier(name)}`
}

/** The column of a feature, of the type that its values are compared as. */
export function valueSql(rule: FeatureRule, options: SqlOptions, dialect: Dialect): string {
  const column = columnSql(nameColumn(rule.name, options), dialect)
  return isOfNumbers(rule, options) ? dialect.formatNumber(column) : dialect.formatText(column)
}

function isOfNumbers({ isNumeric, name }: FeatureRule, { numberColumns }: SqlOptions): boolean {
  return isNumeric || numberColumns.includes(name)
}

/** The place where a statement finds a value, and how it writes. */
interface Place {
  readonly value: string
  readonly dialect: Dialect
  readonly options: SqlOptions
}

/** Returns what follows from a value by its slot; NULL for a number that can't be scored. */
export function slotCase(rule: FeatureRule, place: Place, give: Give): string {
  return isOfNumbers(rule, place.options)
    ? numberCase(rule, place, give)
    : textCase(rule, place, give)
}

/** The slot of a double: that of its range, or of the category that equals its shortest form. */
function numberCase(rule: FeatureRule, { value, dialect }: Place, give: Give): string {
  const { number: n } = dialect
  const { missingSlot, unmatchedSlot } = rule
  const cases: Array<readonly [string, string]> = [
    [`${value} IS NULL`, give(missingSlot)],
    // Minus infinity, which would otherwise count as a small number.
    [`${value} < ${n(-Number.MAX_VALUE)}`, 'NULL'],
  ]
  for (const { texts, slot } of rule.categories) {
    const numbers = texts.map(Number).filter((number, at) => isShortest(number, texts[at] ?? ''))
    if (numbers.length > 0) cases.push([`${value} IN (${numbers.map(n).join(', ')})`, give(slot)])
  }
  let covered = Number.NEGATIVE_INFINITY
  for (const { low, high, slot } of rule.intervals) {
    const above = atOrAbove(low)
    if (above !== null && low > follower(covered)) {
      const operator = above.operator === '>' ? '<=' : '<'
      cases.push([`${value} ${operator} ${n(above.bound)}`, give(unmatchedSlot)])
    }
    const below = atOrBelow(high)
    if (below !== null) cases.push([`${value} ${below.operator} ${n(below.bound)}`, give(slot)])
    else cases.push([`${value} <= ${n(Number.MAX_VALUE)}`, give(slot)])
    covered = high
  }
  if (covered < Number.MAX_VALUE) {
    cases.push([`${value} <= ${n(Number.MAX_VALUE)}`, give(unmatchedSlot)])
  }
  return formatCase(cases, 'NULL')
}

/** The next double; for minus infinity the least finite double. */
function follower(value: number): number {
  return value === Number.NEGATIVE_INFINITY ? -Number.MAX_VALUE : nextUp(value)
}

/** Tells whether scoring treats this number as equal to this category. */
function isShortest(number: number, category: string): boolean {
  return Number.isFinite(number) && String(number) === category
}

function textCase(rule: FeatureRule, { value, dialect }: Place, give: Give): string {
  const cases: Array<readonly [string, string]> = [
    [`${value} IS NULL`, give(rule.missingSlot)],
    ...rule.categories.map(
      ({ texts, slot }) =>
        [`${value} IN (${texts.map(dialect.text).join(', ')})`, give(slot)] as const,
    ),
  ]
  return formatCase(cases, give(rule.unmatchedSlot))
}

export type Column = readonly [alias: string, expression: string]

/** A subquery that reads from the previous one. */
export interface Subquery {
  readonly name: string
  readonly from: string
  readonly columns: readonly Column[]
}

/** `CASE` over several lines; only the value of `otherwise` when there is no case. */
export function formatCase(
  cases: ReadonlyArray<readonly [condition: string, value: string]>,
  otherwise: string,
): string {
  if (cases.length === 0) return otherwise
  const lines = cases.map(([condition, value]) => `WHEN ${condition} THEN ${value}`)
  // Lines are joined, not re-indented afterwards: texts of a card may contain line breaks.
  return `CASE\n      ${[...lines, `ELSE ${otherwise}`].join('\n      ')}\n    END`
}

/** `WITH` of all subqueries but the last, which is the main query. */
export function makeQuery(subqueries: readonly Subquery[], fence: string | null): string {
  const end = fence === null ? '' : `\n  ${fence}`
  const inner = subqueries
    .slice(0, -1)
    .map(({ name, from, columns }) => `${name} AS (\n${select(columns, from, '  ')}${end}\n)`)
  const last = subqueries.slice(-1).map(({ columns, from }) => select(columns, from, ''))
  return [`WITH ${inner.join(',\n')}`, ...last].join('\n')
}

function select(columns: readonly Column[], from: string, indent: string): string {
  const list = columns.map(([alias, expression]) =>
    expression === alias ? alias : `${expression} AS ${alias}`,
  )
  const lines = ['SELECT', `  ${list.join(`,\n${indent}  `)}`, `FROM ${from}`]
  return lines.map((line) => `${indent}${line}`).join('\n')
}
