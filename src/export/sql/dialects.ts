import type { SQL_DIALECTS } from '../../schemas/export.ts'

/** How a database spells what a scorecard needs; what a card holds goes through here as data. */
export interface Dialect {
  /** Told to people. */
  readonly name: string
  readonly textType: string
  /** Keeps a subquery apart, where the database would copy its expressions into each place of use. */
  readonly fence: string | null
  /** Whether quoted names that differ in case alone are two columns. */
  readonly isCaseSensitive: boolean
  /** @returns why no column or table can be called so, or null */
  nameFault(name: string): string | null
  /** A quoted name, without a fault. */
  identifier(name: string): string
  /** A literal that is exactly this text, which is Unicode without NUL. */
  text(value: string): string
  /** A literal of double precision that is exactly this finite number, the sign of 0 included. */
  number(value: number): string
  /** The column as double precision; one of another type is an error where the database has one for it. */
  numberOf(column: string): string
  /** The column as a text that is compared byte by byte, with the same about its type. */
  textOf(column: string): string
}

export type DialectName = (typeof SQL_DIALECTS)[number]

const POSTGRESQL_NAME_BYTES_MAX = 63
const BIGQUERY_NAME_CHARS_MAX = 300
const SNOWFLAKE_NAME_CHARS_MAX = 255

const postgresql: Dialect = {
  name: 'PostgreSQL',
  textType: 'text',
  // Expressions of a subquery that is pulled up are evaluated once for each place of use.
  fence: 'OFFSET 0',
  isCaseSensitive: true,
  nameFault: (name) =>
    Buffer.byteLength(name) > POSTGRESQL_NAME_BYTES_MAX
      ? `has more than ${POSTGRESQL_NAME_BYTES_MAX} bytes, which PostgreSQL would cut off`
      : null,
  identifier: (name) => doubled(name, '"'),
  // Only the form with E means the same whatever standard_conforming_strings is.
  text: (value) =>
    /\\/.test(value) || TEMPLATE_START.test(value)
      ? `E${doubled(value, "'").replace(ESCAPED_IN_POSTGRESQL, codeUnitOf)}`
      : doubled(value, "'"),
  number: (value) => `float8 '${decimal(value)}'`,
  numberOf: (column) => `${column} + float8 '0'`,
  // A collation is refused for what is no text; the type keeps citext and char(n) from their own equality.
  textOf: (column) => `CAST(${column} COLLATE "C" AS text)`,
}

const duckdb: Dialect = {
  name: 'DuckDB',
  textType: 'VARCHAR',
  fence: null,
  isCaseSensitive: false,
  nameFault: () => null,
  identifier: (name) => doubled(name, '"'),
  text: (value) => {
    const parts = partsOf(value, TEMPLATE_START, (code) => `chr(${code})`)
    // Not `||`, which would be as deep as it has parts.
    return parts.length === 1 ? parts.join('') : `concat(${parts.join(', ')})`
  },
  number: (value) => signed(withExponent(value)),
  numberOf: (column) => `${column} + 0e0`,
  textOf: (column) => `${column} COLLATE "C"`,
}

const spark: Dialect = {
  name: 'Spark SQL',
  textType: 'STRING',
  fence: null,
  isCaseSensitive: false,
  nameFault: (name) =>
    name.includes('${') ? 'holds ${, which Spark SQL replaces wherever it stands' : null,
  identifier: (name) => doubled(name, '`'),
  text: sparkText,
  number: (value) => signed(`${decimal(value)}D`),
  // Spark reads a text as a number by itself, and a number as a text; the condition is a constant.
  numberOf: (column) =>
    `IF(typeof(${column}) IN (${SPARK_NUMBERS}) OR typeof(${column}) LIKE 'decimal%', ` +
    `CAST(${column} AS DOUBLE), raise_error('this column must hold numbers'))`,
  textOf: (column) =>
    `IF(typeof(${column}) = 'string', CAST(${column} AS STRING), ` +
    `raise_error('this column must hold texts'))`,
}

const SPARK_NUMBERS = "'tinyint', 'smallint', 'int', 'bigint', 'float', 'double'"

const bigquery: Dialect = {
  name: 'BigQuery',
  textType: 'STRING',
  fence: null,
  isCaseSensitive: false,
  nameFault: (name) => {
    if (name.length > BIGQUERY_NAME_CHARS_MAX) {
      return `has more than ${BIGQUERY_NAME_CHARS_MAX} characters, the most that BigQuery allows`
    }
    return /[!"$()*,./;?@[\\\]^`{}~\p{Cc}]/u.test(name)
      ? 'holds a character that BigQuery allows in no name'
      : null
  },
  identifier: (name) => `\`${name}\``,
  text: escapedText,
  number: (value) => signed(withExponent(value)),
  numberOf: (column) => `${column} + 0e0`,
  textOf: (column) => `COLLATE(${column}, '')`,
}

const snowflake: Dialect = {
  name: 'Snowflake',
  textType: 'VARCHAR',
  fence: null,
  isCaseSensitive: true,
  nameFault: (name) => {
    if (name.length > SNOWFLAKE_NAME_CHARS_MAX) {
      return `has more than ${SNOWFLAKE_NAME_CHARS_MAX} characters, the most that Snowflake allows`
    }
    return name.includes('&')
      ? "holds &, after which Snowflake's command lines fill in variables"
      : null
  },
  identifier: (name) => doubled(name, '"'),
  text: escapedText,
  // A literal alone is a decimal.
  number: (value) => `'${decimal(value)}'::FLOAT`,
  numberOf: (column) => `${column} + '0'::FLOAT`,
  textOf: (column) => `COLLATE(${column}, '')`,
}

export const DIALECTS: Readonly<Record<DialectName, Dialect>> = {
  postgresql,
  spark,
  bigquery,
  snowflake,
  duckdb,
}

/** The shortest text that reads back as this double; 0 with its sign. */
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
 * Where a template starts for what people send statements with: Jinja (dbt, Airflow, Databricks), the command
 * lines of Snowflake (`<% %>`, `&{ }`). None of them spares literals or comments.
 */
const TEMPLATE_START = /\{|<(?=%)/
const ESCAPED_IN_POSTGRESQL = new RegExp(`\\\\|${TEMPLATE_START.source}`, 'g')
/** No quoted name has an escape that all settings and versions of a database know. */
const TEMPLATE_IN_NAME = /\{[{%#]|<%/

/** @returns why a tool in front of the database could take a part of this name for a template, or null */
export function templateFault(name: string): string | null {
  const start = TEMPLATE_IN_NAME.exec(name)?.[0]
  return start === undefined
    ? null
    : `holds ${start}, which starts a template in tools that run SQL`
}

/** Of characters in ASCII those that neither a string literal nor a template in front of it gives a meaning. */
const UNHARMFUL = /[A-Za-z0-9 .,:;()+*/_@!?|~^[\]\u00a0-\u2027\u202a-\u{10ffff}-]/u

/** A literal of a dialect in which `\uhhhh` is a character. */
function escapedText(value: string): string {
  return `'${Array.from(value, (char) => (UNHARMFUL.test(char) ? char : codeUnitOf(char))).join('')}'`
}

function codeUnitOf(char: string): string {
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`
}

/**
 * Quotes and backslashes mean one thing or another by the settings of Spark, and `${…}` is replaced even
 * in a string: these characters are put in by their numbers. The expression is a constant.
 */
function sparkText(value: string): string {
  const parts = partsOf(value, SPECIAL_IN_SPARK, (code) => `char(${code})`)
  return parts.length === 1 ? parts.join('') : `(${parts.join(' || ')})`
}

const SPECIAL_IN_SPARK = new RegExp(`['\\\\$\\p{Cc}]|${TEMPLATE_START.source}`, 'u')

/** Literals of the text between special characters, and these by their numbers; one part at least. */
function partsOf(value: string, special: RegExp, numbered: (code: number) => string): string[] {
  const parts = value
    .split(new RegExp(`(${special.source})`, special.flags))
    .flatMap((part, at) => {
      if (at % 2 === 1) return [numbered(part.charCodeAt(0))]
      return part === '' ? [] : [doubled(part, "'")]
    })
  return parts.length === 0 ? ["''"] : parts
}
