import type { SQL_DIALECTS } from '../../../../schemas/export.ts'

/**
 * The way a database writes what a scorecard needs; every text and number of a card passes through
 * here.
 */
export interface Dialect {
  /** Name for messages. */
  readonly name: string
  readonly textType: string
  readonly doubleType: string
  /** A type of whole numbers with at least 53 bits. */
  readonly integerType: string
  /** Most columns of a subquery; null where the database documents no limit. */
  readonly columnsMax: number | null
  /**
   * Stops the database from copying the expressions of a subquery to every use; null if not needed.
   */
  readonly fence: string | null
  /** True if quoted names that differ only in case are two columns. */
  readonly isCaseSensitive: boolean
  /** @returns why no column or table can have this name, or null */
  nameFault(name: string): string | null
  /** A quoted name; the name must have no `nameFault`. */
  identifier(name: string): string
  /** A literal of exactly this text, which must be Unicode without NUL. */
  text(value: string): string
  /** A double precision literal of exactly this finite number, including the sign of 0. */
  number(value: number): string
  /** The column as double precision; fails on another column type if the database can. */
  formatNumber(column: string): string
  /** The column as a text that is compared byte by byte; fails like `formatNumber`. */
  formatText(column: string): string
}

export type DialectName = (typeof SQL_DIALECTS)[number]

const POSTGRESQL_NAME_BYTES_MAX = 63
const BIGQUERY_NAME_CHARS_MAX = 300
const SNOWFLAKE_NAME_CHARS_MAX = 255

const postgresql: Dialect = {
  name: 'PostgreSQL',
  textType: 'text',
  doubleType: 'double precision',
  integerType: 'bigint',
  columnsMax: 1_664,
  // PostgreSQL evaluates the expressions of a pulled-up subquery once for each use.
  fence: 'OFFSET 0',
  isCaseSensitive: true,
  nameFault: (name) =>
    Buffer.byteLength(name) > POSTGRESQL_NAME_BYTES_MAX
      ? `has more than ${POSTGRESQL_NAME_BYTES_MAX} bytes, which PostgreSQL would cut off`
      : null,
  identifier: (name) => doubled(name, '"'),
  // Only the form with E does not depend on standard_conforming_strings.
  text: (value) =>
    /\\/.test(value) || TEMPLATE_START.test(value)
      ? `E${doubled(value, "'").replace(ESCAPED_IN_POSTGRESQL, formatCodeUnit)}`
      : doubled(value, "'"),
  number: (value) => `float8 '${decimal(value)}'`,
  formatNumber: (column) => `${column} + float8 '0'`,
  // COLLATE fails for other types; the cast avoids the special equality of citext and char(n).
  formatText: (column) => `CAST(${column} COLLATE "C" AS text)`,
}

const duckdb: Dialect = {
  name: 'DuckDB',
  textType: 'VARCHAR',
  doubleType: 'DOUBLE',
  integerType: 'BIGINT',
  columnsMax: null,
  fence: null,
  isCaseSensitive: false,
  nameFault: () => null,
  identifier: (name) => doubled(name, '"'),
  text: (value) => {
    const parts = listParts(value, TEMPLATE_START, (code) => `chr(${code})`)
    // Not `||`, whose expression would be as deep as its number of parts.
    return parts.length === 1 ? parts.join('') : `concat(${parts.join(', ')})`
  },
  number: (value) => signed(withExponent(value)),
  formatNumber: (column) => `${column} + 0e0`,
  formatText: (column) => `${column} COLLATE "C"`,
}

const spark: Dialect = {
  name: 'Spark SQL',
  textType: 'STRING',
  doubleType: 'DOUBLE',
  integerType: 'BIGINT',
  columnsMax: null,
  fence: null,
  isCaseSensitive: false,
  nameFault: (name) =>
    name.includes('${') ? 'contains ${, which Spark SQL replaces everywhere' : null,
  identifier: (name) => doubled(name, '`'),
  text: sparkText,
  number: (value) => signed(`${decimal(value)}D`),
  // Spark converts texts to numbers and numbers to texts by itself; the condition is a constant.
  formatNumber: (column) =>
    `IF(typeof(${column}) IN (${SPARK_NUMBERS}) OR typeof(${column}) LIKE 'decimal%', ` +
    `CAST(${column} AS DOUBLE), raise_error('this column must hold numbers'))`,
  formatText: (column) =>
    `IF(typeof(${column}) = 'string', CAST(${column} AS STRING), ` +
    `raise_error('this column must hold texts'))`,
}

const SPARK_NUMBERS = "'tinyint', 'smallint', 'int', 'bigint', 'float', 'double'"

const bigquery: Dialect = {
  name: 'BigQuery',
  textType: 'STRING',
  doubleType: 'FLOAT64',
  integerType: 'INT64',
  columnsMax: 10_000,
  fence: null,
  isCaseSensitive: false,
  nameFault: (name) => {
    if (name.length > BIGQUERY_NAME_CHARS_MAX) {
      return `has more than ${BIGQUERY_NAME_CHARS_MAX} characters, the most that BigQuery allows`
    }
    return /[!"$()*,./;?@[\\\]^`{}~\p{Cc}]/u.test(name)
      ? 'contains a character that BigQuery does not allow in names'
      : null
  },
  identifier: (name) => `\`${name}\``,
  text: escapedText,
  number: (value) => signed(withExponent(value)),
  formatNumber: (column) => `${column} + 0e0`,
  formatText: (column) => `COLLATE(${column}, '')`,
}

const snowflake: Dialect = {
  name: 'Snowflake',
  textType: 'VARCHAR',
  doubleType: 'FLOAT',
  integerType: 'BIGINT',
  columnsMax: null,
  fence: null,
  isCaseSensitive: true,
  nameFault: (name) => {
    if (name.length > SNOWFLAKE_NAME_CHARS_MAX) {
      return `has more than ${SNOWFLAKE_NAME_CHARS_MAX} characters, the most that Snowflake allows`
    }
    return name.includes('&')
      ? "contains &, after which Snowflake's command lines insert variables"
      : null
  },
  identifier: (name) => doubled(name, '"'),
  text: escapedText,
  // Without a cast the literal is a decimal.
  number: (value) => `'${decimal(value)}'::FLOAT`,
  formatNumber: (column) => `${column} + '0'::FLOAT`,
  formatText: (column) => `COLLATE(${column}, '')`,
}

export const DIALECTS: Readonly<Record<DialectName, Dialect>> = {
  postgresql,
  spark,
  bigquery,
  snowflake,
  duckdb,
}

/** The shortest text that reads back as this double, including the sign of 0. */
function decimal(value: number): string {
  return Object.is(value, -0) ? '-0' : String(value)
}

function withExponent(value: number): string {
  const text = decimal(value)
  return text.includes('e') ? text : `${text}e0`
}

/** Two minus signs in a row would start a comment. */
function signed(literal: string): string {
  return literal.startsWith('-') ? `(${literal})` : literal
}

function doubled(text: string, quote: string): string {
  return `${quote}${text.replaceAll(quote, quote + quote)}${quote}`
}

/**
 * The start of a template in the tools that send statements: Jinja (dbt, Airflow, Databricks) and
 * the command lines of Snowflake (`<% %>`, `&{ }`). These tools also replace templates in literals
 * and comments.
 */
const TEMPLATE_START = /\{|<(?=%)/
const ESCAPED_IN_POSTGRESQL = new RegExp(`\\\\|${TEMPLATE_START.source}`, 'g')
/**
 * Refused in names: no escape in a quoted name works in all settings and versions of a database.
 */
const TEMPLATE_IN_NAME = /\{[{%#]|<%/

/**
 * @returns why a tool that sends statements could take part of this name for a template, or null
 */
export function templateFault(name: string): string | null {
  const start = TEMPLATE_IN_NAME.exec(name)?.[0]
  return start === undefined
    ? null
    : `contains ${start}, which starts a template in tools that run SQL`
}

/**
 * Characters without a special meaning in string literals and templates; all others are escaped.
 */
const HARMLESS = /[A-Za-z0-9 .,:;()+*/_@!?|~^[\]\u00a0-\u2027\u202a-\u{10ffff}-]/u

/** A literal of a dialect in which `\uhhhh` stands for a character. */
function escapedText(value: string): string {
  return `'${Array.from(value, (char) => (HARMLESS.test(char) ? char : formatCodeUnit(char))).join('')}'`
}

function formatCodeUnit(char: string): string {
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`
}

/**
 * The meaning of quotes and backslashes depends on the settings of Spark, and Spark replaces `${…}`
 * even in a string. These characters are therefore written by their code. The expression is a
 * constant.
 */
function sparkText(value: string): string {
  const parts = listParts(value, SPECIAL_IN_SPARK, (code) => `char(${code})`)
  return parts.length === 1 ? parts.join('') : `(${parts.join(' || ')})`
}

const SPECIAL_IN_SPARK = new RegExp(`['\\\\$\\p{Cc}]|${TEMPLATE_START.source}`, 'u')

/** Literals of the texts between special characters, and the codes of these; at least one part. */
function listParts(value: string, special: RegExp, numbered: (code: number) => string): string[] {
  const parts = value
    .split(new RegExp(`(${special.source})`, special.flags))
    .flatMap((part, at) => {
      if (at % 2 === 1) return [numbered(part.charCodeAt(0))]
      return part === '' ? [] : [doubled(part, "'")]
    })
  return parts.length === 0 ? ["''"] : parts
}
