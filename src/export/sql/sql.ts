import { type CompiledModel, type FeatureRule, nextUp, rulesOf } from '../../engine/index.ts'
import type { WriteResult } from '../export-file.ts'
import { atOrAbove, atOrBelow } from './bounds.ts'
import { DIALECTS, type Dialect } from './dialects.ts'
import { columnOf, type SqlOptions, SUBQUERY_PREFIX, sqlFaults, tableParts } from './options.ts'
import { probabilitySql } from './probability.ts'
import { type Column, caseOf, queryOf, type Subquery } from './subqueries.ts'

/** DuckDB limits the depth of an expression, and a sum is as deep as its number of terms. */
const TERMS_MAX = 100

/**
 * Writes a query that scores each row of a table like `scoreApplicant`, to the bit.
 *
 * NULL is a missing value. NaN and infinite numbers can't be scored: the service refuses them, and
 * the query returns NULL as points, score, probability and grade. For a model without a scale the
 * column `pd` is always NULL.
 *
 * @returns a statement without a semicolon, with the keys, `score`, `pd`, `risk_grade`, and
 *   `points_1` and so on in the order of the spec
 */
export function writeSql(model: CompiledModel, options: SqlOptions): WriteResult {
  const rules = rulesOf(model)
  const faults = sqlFaults(rules, options)
  if (faults.length > 0) return { ok: false, faults }
  const dialect = DIALECTS[options.dialect]
  const { scale } = model
  const { steps, pd } =
    scale === null
      ? { steps: [], pd: `CAST(NULL AS ${dialect.doubleType})` }
      : probabilitySql(scale, dialect)
  const keys = options.keys.map((_, index) => `key_${index + 1}`)
  const points = rules.map((_, index) => `points_${index + 1}`)

  const query = new Query()
  query.add('values', [
    ...options.keys.map((key, index): Column => [keys[index] ?? '', columnSql(key, dialect)]),
    ...rules.map((rule, index): Column => [`value_${index + 1}`, valueSql(rule, options, dialect)]),
  ])
  query.add('points', [
    ...same(keys),
    ...rules.map((rule, index): Column => {
      const value = `value_${index + 1}`
      const sql = isOfNumbers(rule, options)
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
    ...options.keys.map((key, index): Column => [dialect.identifier(key), keys[index] ?? '']),
    ...same(['score']),
    ['pd', pd],
    ['risk_grade', gradeSql(model, dialect)],
    ...same(points),
  ])
  const table = tableParts(options).map(dialect.identifier).join('.')
  const text = queryOf(query.subqueriesOn(`${table} AS t`), dialect.fence)
  return { ok: true, text: `${headerOf(model, dialect)}\n${text}\n` }
}

/** Every column of the previous subquery. */
const ALL: Column = ['*', '*']

/** A chain of subqueries in which each reads from the previous one. */
class Query {
  private readonly subqueries: Array<Pick<Subquery, 'name' | 'columns'>> = []

  add(name: string, columns: readonly Column[]): void {
    this.subqueries.push({ name: SUBQUERY_PREFIX + name, columns })
  }

  subqueriesOn(table: string): Subquery[] {
    return this.subqueries.map((subquery, index) => ({
      ...subquery,
      from: this.subqueries[index - 1]?.name ?? table,
    }))
  }
}

function same(aliases: readonly string[]): Column[] {
  return aliases.map((alias) => [alias, alias])
}

function columnSql(name: string, dialect: Dialect): string {
  return `t.${dialect.identifier(name)}`
}

function valueSql(rule: FeatureRule, options: SqlOptions, dialect: Dialect): string {
  const column = columnSql(columnOf(rule.name, options), dialect)
  return isOfNumbers(rule, options) ? dialect.numberOf(column) : dialect.textOf(column)
}

function isOfNumbers({ isNumeric, name }: FeatureRule, { numberColumns }: SqlOptions): boolean {
  return isNumeric || numberColumns.includes(name)
}

/** Points of a double: those of its range, or of the category that equals its shortest form. */
function numberPoints(rule: FeatureRule, value: string, { number: n }: Dialect): string {
  const { missingPoints, unmatchedPoints } = rule
  const cases: Array<readonly [string, string]> = [
    [`${value} IS NULL`, n(missingPoints)],
    // Minus infinity, which would otherwise count as a small number.
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

/** The next double; for minus infinity the least finite double. */
function follower(value: number): number {
  return value === Number.NEGATIVE_INFINITY ? -Number.MAX_VALUE : nextUp(value)
}

/** Whether scoring treats this number as equal to this category. */
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

/** The score as a sum from left to right; each expression continues the previous one. */
function sumsOf(basePoints: number, points: readonly string[], { number }: Dialect): string[] {
  const sums: string[] = []
  for (let at = 0; at < points.length; at += TERMS_MAX) {
    const start = at === 0 ? number(basePoints) : 'score'
    sums.push([start, ...points.slice(at, at + TERMS_MAX)].join(' + '))
  }
  return sums
}

/** The last grade that starts at or below the score, unless it ends below the score. */
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
 * Comments that explain the columns of the result. Names are written without characters that could
 * end a comment or start a template.
 */
function headerOf(model: CompiledModel, dialect: Dialect): string {
  const quoted = (name: string) => `"${name.replace(/[^\p{L}\p{N} _.,()-]/gu, codesOf)}"`
  return [
    `-- The scorecard ${quoted(model.name)}, version ${quoted(model.version)}, for ${dialect.name}.`,
    ...model.featureNames.map((name, index) => `-- points_${index + 1}: ${quoted(name)}`),
  ].join('\n')
}

/** The escape sequences of a character in JSON. */
function codesOf(char: string): string {
  const units = Array.from({ length: char.length }, (_, at) => char.charCodeAt(at))
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('')
}
