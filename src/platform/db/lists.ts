import { type SQL, sql } from 'drizzle-orm'

/**
 * A list of texts as one parameter, for `column = any(…)`.
 *
 * Unlike `in (select …)` of a list in JSON it is a constant of the plan: the planner knows its
 * length and looks each row up in a hash. A join would be a nested loop of both wherever a table
 * without statistics seems to have one row.
 */
export function textList(values: readonly string[]): SQL {
  const items = values.map((value) => `"${value.replaceAll(/["\\]/g, '\\$&')}"`)
  return sql`${`{${items.join()}}`}::text[]`
}

/** As `textList`, of whole numbers. */
export function bigintList(values: readonly (number | string)[]): SQL {
  return sql`${`{${values.join()}}`}::bigint[]`
}

/** As `textList`, of bytes. */
export function bytesList(values: readonly Uint8Array[]): SQL {
  const items = values.map((value) => `"\\\\x${Buffer.from(value).toString('hex')}"`)
  return sql`${`{${items.join()}}`}::bytea[]`
}
