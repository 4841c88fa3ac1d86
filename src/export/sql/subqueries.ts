/** A column of a subquery: its name there, and what it is. */
export type Column = readonly [alias: string, expression: string]

/** A subquery on the one before it. */
export interface Layer {
  readonly name: string
  readonly from: string
  readonly columns: readonly Column[]
}

/** `CASE` over lines; the value alone where there is no case. */
export function caseOf(
  cases: ReadonlyArray<readonly [condition: string, value: string]>,
  otherwise: string,
): string {
  if (cases.length === 0) return otherwise
  const lines = cases.map(([condition, value]) => `WHEN ${condition} THEN ${value}`)
  // Never by replacing line breaks in what is done: texts of a card may hold some.
  return `CASE\n      ${[...lines, `ELSE ${otherwise}`].join('\n      ')}\n    END`
}

/** `WITH` of all layers but the last, which is the answer. */
export function queryOf(layers: readonly Layer[], fence: string | null): string {
  const end = fence === null ? '' : `\n  ${fence}`
  const inner = layers
    .slice(0, -1)
    .map(({ name, from, columns }) => `${name} AS (\n${select(columns, from, '  ')}${end}\n)`)
  const last = layers.slice(-1).map(({ columns, from }) => select(columns, from, ''))
  return [`WITH ${inner.join(',\n')}`, ...last].join('\n')
}

function select(columns: readonly Column[], from: string, indent: string): string {
  const list = columns.map(([alias, expression]) =>
    expression === alias ? alias : `${expression} AS ${alias}`,
  )
  const lines = ['SELECT', `  ${list.join(`,\n${indent}  `)}`, `FROM ${from}`]
  return lines.map((line) => `${indent}${line}`).join('\n')
}
