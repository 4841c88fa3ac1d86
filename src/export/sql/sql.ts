import { type CompiledModel, type FeatureRule, nextUp, rulesOf } from '../engine/index.ts'
import { atOrAbove, atOrBelow } from './bounds.ts'
import { DIALECTS, type Dialect } from './dialects.ts'
import { type Column, caseOf, type Layer, queryOf } from './layers.ts'
import { probabilitySql } from './probability.ts'
import { columnOf, type SqlOrder, SUBQUERY_PREFIX, sqlFaults, tableParts } from './sql-order.ts'
import type { Written } from './written.ts'

/** DuckDB bounds the depth of an expression, and a sum is as deep as it has terms. */
const TERMS_MAX = 100

/**
 * Writes a query that scores each row of a table the way `scoreApplicant` does, to the bit.
 *
 * NULL is a missing value. A number that is NaN or infinite is none that may be scored: the service
 * refuses it, and here the points, the score, the probability and the grade are NULL.
 *
 * @returns a statement without a semicolon, with the keys, `score`, `pd`, `risk_grade`, and `points_1` and
 *   so on in the order of the spec
 */
export function writeSql(model: CompiledModel, order: SqlOrder): Written {
  const rules = rulesOf(model)
  const faults = sqlFaults(rules, order)
  if (faults.length > 0) return { ok: false, faults }
  const dialect = DIALECTS[order.dialect]
  const { steps, pd } = probabilitySql(model.scale, dialect)
  const keys = order.keys.map((_, index) => `key_${index + 1}`)
  const points = rules.map((_, index) => `points_${index + 1}`)

  const query = new Query()
  query.add('values', [
    ...order.keys.map((key, index): Column => [keys[index] ?? '', columnSql(key, dialect)]),
    ...rules.map((rule, index): Column => [`value_${index + 1}`, valueSql(rule, order, dialect)]),
  ])
  query.add('points', [
    ...same(keys),
    ...rules.map((rule, index): Column => {
      const value = `value_${index + 1}`
      const sql = isOfNumbers(rule, order)
        ? numberPoints(rule, value, dialect)
        : textPoints(rule, value, dialect)
      return [points[index] ?? '', sql]
    }),
  ])
  const [first = '', ...others] = sumsOf(model.basePoints, points, dialect)
  query.add('score', [ALL, ['score', first]])
  for (const [index, sum] of others.entries()) {
    query.add(`score_${index + 2}`, [...same(keys), ...same(points), ['score', sum]])
  }
  for (const step of steps) query.add(step[0], [ALL, step])
  query.add('', [
    ...order.keys.map((key, index): Column => [dialect.identifier(key), keys[index] ?? '']),
    ...same(['score']),
    ['pd', pd],
    ['risk_grade', gradeSql(model, dialect)],
    ...same(points),
  ])
  const table = tableParts(order).map(dialect.identifier).join('.')
  const text = queryOf(query.layersOn(`${table} AS t`), dialect.fence)
  return { ok: true, text: `${headerOf(model, dialect)}\n${text}\n` }
}

/** Every column of the subquery before. */
const ALL: Column = ['*', '*']

/** Subqueries, each on the one before it. */
class Query {
  private readonly layers: Array<Pick<Layer, 'name' | 'columns'>> = []

  add(name: string, columns: readonly Column[]): void {
    this.layers.push({ name: SUBQUERY_PREFIX + name, columns })
  }

  layersOn(table: string): Layer[] {
    return this.layers.map((layer, index) => ({
      ...layer,
      from: this.layers[index - 1]?.name ?? table,
    }))
  }
}

function same(aliases: readonly string[]): Column[] {
  return aliases.map((alias) => [alias, alias])
}

function columnSql(name: string, dialect: Dialect): string {
  return `t.${dialect.identifier(name)}`
}

function valueSql(rule: FeatureRule, order: SqlOrder, dialect: Dialect): string {
  const column = columnSql(columnOf(rule.name, order), dialect)
  return isOfNumbers(rule, order) ? dialect.numberOf(column) : dialect.textOf(column)
}

function isOfNumbers({ isNumeric, name }: FeatureRule, { numberColumns }: SqlOrder): boolean {
  return isNumeric || numberColumns.includes(name)
}

/** Points of a double: of its range, or of the category that it is when written shortly. */
function numberPoints(rule: FeatureRule, value: string, { number: n }: Dialect): string {
  const { missingPoints, unmatchedPoints } = rule
  const cases: Array<readonly [string, string]> = [
    [`${value} IS NULL`, n(missingPoints)],
    // Minus infinity, which would pass for a small number.
    [`${value} < ${n(-Number.MAX_VALUE)}`, 'NULL'],
  ]
  for (const { texts, points } of rule.categories) {
    const numbers = texts.map(Number).filter((number, at) => isShortest(number, texts[at] ?? ''))
    if (numbers.length > 0) cases.push([`${value} IN (${numbers.map(n).join(', ')})`, n(points)])
  }
  let covered = Number.NEGATIVE_INFINITY
  for (const { low, high, points } of rule.intervals) {
    const above = atOrAbove(low)
    if (above !== null && low > follower(covered)) {
      const operator = above.operator === '>' ? '<=' : '<'
      cases.push([`${value} ${operator} ${n(above.bound)}`, n(unmatchedPoints)])
    }
    const below = atOrBelow(high)
    if (below !== null) cases.push([`${value} ${below.operator} ${n(below.bound)}`, n(points)])
    else cases.push([`${value} <= ${n(Number.MAX_VALUE)}`, n(points)])
    covered = high
  }
  if (covered < Number.MAX_VALUE) {
    cases.push([`${value} <= ${n(Number.MAX_VALUE)}`, n(unmatchedPoints)])
  }
  return caseOf(cases, 'NULL')
}

/** The next double; the least finite one for minus infinity. */
function follower(value: number): number {
  return value === Number.NEGATIVE_INFINITY ? -Number.MAX_VALUE : nextUp(value)
}

/** Whether scoring compares this number with this category and finds them equal. */
function isShortest(number: number, category: string): boolean {
  return Number.isFinite(number) && String(number) === category
}

function textPoints(rule: FeatureRule, value: string, { number, text }: Dialect): string {
  const cases: Array<readonly [string, string]> = [
    [`${value} IS NULL`, number(rule.missingPoints)],
    ...rule.categories.map(
      ({ texts, points }) =>
        [`${value} IN (${texts.map(text).join(', ')})`, number(points)] as const,
    ),
  ]
  return caseOf(cases, number(rule.unmatchedPoints))
}

/** The score as a sum from left to right, each of the expressions on the one before it. */
function sumsOf(basePoints: number, points: readonly string[], { number }: Dialect): string[] {
  const sums: string[] = []
  for (let at = 0; at < points.length; at += TERMS_MAX) {
    const start = at === 0 ? number(basePoints) : 'score'
    sums.push([start, ...points.slice(at, at + TERMS_MAX)].join(' + '))
  }
  return sums
}

/** The last grade that starts at or below the score, if it does not end below it. */
function gradeSql({ grades }: CompiledModel, { number, text, textType }: Dialect): string {
  const cases: Array<readonly [string, string]> = []
  let next = Number.POSITIVE_INFINITY
  for (const [index, name] of [...grades.names.entries()].reverse()) {
    const [low = 0, high = 0] = [grades.low[index], grades.high[index]]
    if (high < next && Number.isFinite(high)) cases.push([`score > ${number(high)}`, 'NULL'])
    const starts = low === Number.NEGATIVE_INFINITY ? 'IS NOT NULL' : `>= ${number(low)}`
    cases.push([`score ${starts}`, text(name)])
    next = low
  }
  return cases.length === 0 ? `CAST(NULL AS ${textType})` : caseOf(cases, 'NULL')
}

/**
 * What the columns of the answer are. Names stand here without any character that could end a comment, or
 * start a template.
 */
function headerOf(model: CompiledModel, dialect: Dialect): string {
  const quoted = (name: string) => `"${name.replace(/[^\p{L}\p{N} _.,()-]/gu, codesOf)}"`
  return [
    `-- The scorecard ${quoted(model.name)}, version ${quoted(model.version)}, for ${dialect.name}.`,
    ...model.featureNames.map((name, index) => `-- points_${index + 1}: ${quoted(name)}`),
  ].join('\n')
}

/** As JSON could spell it. */
function codesOf(char: string): string {
  const units = Array.from({ length: char.length }, (_, at) => char.charCodeAt(at))
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('')
}
