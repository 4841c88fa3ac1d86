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
