import { type SQL, sql } from 'drizzle-orm'

/** With nothing that ends a literal or an item of a list. */
const NAME = /^[\w-]+$/

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

/**
 * Rows of bytes and of names that the service made itself, written into the statement. The driver
 * asks for the types of parameters before it sends them; without any it saves that round trip.
 */
export function listRows(rows: readonly (readonly (Uint8Array | string)[])[]): SQL {
  const texts = rows.map((row) => row.map(writeLiteral).join())
  return sql.raw(`(values (${texts.join('),(')}))`)
}

/** As `textList`, of bytes, and without a parameter as `listRows`. */
export function bytesList(values: readonly Uint8Array[]): SQL {
  return sql.raw(`'{${values.map((value) => `"\\${writeHex(value)}"`).join()}}'::bytea[]`)
}

/** As `bytesList`, of names. */
export function nameList(names: readonly string[]): SQL {
  return sql.raw(`'{${names.map((name) => `"${checkName(name)}"`).join()}}'::text[]`)
}

function writeLiteral(value: Uint8Array | string): string {
  return typeof value === 'string' ? `'${checkName(value)}'::text` : `'${writeHex(value)}'::bytea`
}

function writeHex(bytes: Uint8Array): string {
  return `\\x${Buffer.from(bytes).toString('hex')}`
}

function checkName(text: string): string {
  if (!NAME.test(text)) throw new TypeError('a name has other characters')
  return text
}
