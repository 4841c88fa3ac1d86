import { type CompiledModel, type FeatureRule, listRules } from '../../../engine/index.ts'
import type { WriteResult } from '../export-file.ts'
import { DIALECTS, type Dialect } from './dialects.ts'
import { type SqlOptions, SUBQUERY_PREFIX, sqlFaults, tableParts } from './options.ts'
import { probabilitySql } from './probability.ts'
import { planReasons, type SqlReasons } from './reasons.ts'
import {
  type Column,
  columnSql,
  formatCase,
  makeQuery,
  type Subquery,
  slotCase,
  valueSql,
} from './values.ts'

/** DuckDB limits the depth of an expression, and a sum is as deep as its number of terms. */
const TERMS_MAX = 100

/**
 * Writes a query that scores each row of a table like `scoreApplicant`, to the bit.
 *
 * NULL is a missing value. NaN and infinite numbers can't be scored: the service refuses them, and
 * the query returns NULL as points, score, probability, grade and reasons. For a model without a
 * scale the column `pd` is always NULL.
 *
 * @param reasons null for no columns of reasons, and no remark on them
 * @returns a statement without a semicolon, with the keys, `score`, `pd`, `risk_grade`, `points_1`
 *   and so on in the order of the spec, and `reason_1` and so on
 */
export function writeSql(
  model: CompiledModel,
  options: SqlOptions,
  reasons: SqlReasons | null = null,
): WriteResult {
  const rules = listRules(model)
  const dialect = DIALECTS[options.dialect]
  const { finder = null, count = 0, notes = [] } = reasons ?? {}
  const planned = finder === null ? null : planReasons(model, rules, { finder, count, options })
  const faults = [...sqlFaults(rules, options), ...(planned?.faults ?? [])]
  if (faults.length > 0) return { ok: false, faults }
  const plan = planned?.plan ?? null
  const { scale } = model
  const { steps, pd } =
    scale === null
      ? { steps: [], pd: `CAST(NULL AS ${dialect.doubleType})` }
      : probabilitySql(scale, dialect)
  const keys = options.keys.map((_, index) => `key_${index + 1}`)
  const points = rules.map((_, index) => `points_${index + 1}`)
  const carried = [...keys, ...points, ...(plan?.columns ?? [])]

  const query = new Query()
  query.add('values', [
    ...options.keys.map((key, index): Column => [keys[index] ?? '', columnSql(key, dialect)]),
    ...rules.map((rule, index): Column => [`value_${index + 1}`, valueSql(rule, options, dialect)]),
  ])
  if (plan === null) query.add('points', [...same(keys), ...pointsSql(model, rules, options)])
  else {
    for (const [name, columns] of plan.subqueries) query.add(name, columns)
  }
  const [first = '', ...others] = formatSums(model.basePoints, points, dialect)
  query.add('score', [ALL, ['score', first]])
  for (const [index, sum] of others.entries()) {
    query.add(`score_${index + 2}`, [...same(carried), ['score', sum]])
  }
  for (const step of steps) query.add(step[0], [ALL, step])
  query.add('', [
    ...options.keys.map((key, index): Column => [dialect.identifier(key), keys[index] ?? '']),
    ...same(['score']),
    ['pd', pd],
    ['risk_grade', gradeSql(model, dialect)],
    ...same(points),
    ...(plan?.results ?? []),
  ])
  const table = tableParts(options).map(dialect.identifier).join('.')
  const text = makeQuery(query.subqueriesOn(`${table} AS t`), dialect.fence)
  return { ok: true, text: `${formatHeader(model, dialect, notes)}\n${text}\n` }
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

function pointsSql(
  model: CompiledModel,
  rules: readonly FeatureRule[],
  options: SqlOptions,
): Column[] {
  const dialect = DIALECTS[options.dialect]
  return rules.map((rule, index): Column => {
    const place = { value: `value_${index + 1}`, dialect, options }
    const points = slotCase(rule, place, (slot) => dialect.number(model.points[slot] ?? 0))
    return [`points_${index + 1}`, points]
  })
}

/** The score as a sum from left to right; each expression continues the previous one. */
function formatSums(basePoints: number, points: readonly string[], { number }: Dialect): string[] {
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
  return cases.length === 0 ? `CAST(NULL AS ${textType})` : formatCase(cases, 'NULL')
}

/**
 * Comments that explain the columns of the result. Names are written without characters that could
 * end a comment or start a template.
 */
function formatHeader(model: CompiledModel, dialect: Dialect, notes: readonly string[]): string {
  const quoted = (name: string) => `"${name.replace(/[^\p{L}\p{N} _.,()-]/gu, formatCodes)}"`
  return [
    `-- The scorecard ${quoted(model.name)}, version ${quoted(model.version)}, for ${dialect.name}.`,
    ...model.featureNames.map((name, index) => `-- points_${index + 1}: ${quoted(name)}`),
    ...notes.map((note) => `-- ${note}`),
  ].join('\n')
}

/** The escape sequences of a character in JSON. */
function formatCodes(char: string): string {
  const units = Array.from({ length: char.length }, (_, at) => char.charCodeAt(at))
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('')
}
