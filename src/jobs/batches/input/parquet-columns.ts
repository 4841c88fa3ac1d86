import type { FileMetaData, SchemaElement } from 'hyparquet'
import { invalidFile, quoted } from './record.ts'

/** A column of a Parquet file, with what its values mean. */
export interface ParquetColumn {
  readonly name: string
  readonly kind: 'number' | 'text' | 'boolean' | 'decimal' | 'other'
  /** Digits behind the point of a decimal. */
  readonly scale: number
}

/**
 * The columns of a file by name. Decimals and texts lose their type in the metadata. The library
 * then gives digits, which it would multiply by a power of ten that is not the nearest double, and
 * bytes, of which it would replace what is not UTF-8.
 *
 * @throws AppError `invalid_file`
 */
export function takeColumns(metadata: FileMetaData): ReadonlyMap<string, ParquetColumn> {
  const columns = new Map<string, ParquetColumn>()
  const [root, ...elements] = metadata.schema
  for (let index = 0; index < elements.length; ) {
    const element = elements[index] as SchemaElement
    if (columns.has(element.name)) {
      throw invalidFile(`two columns have the name ${quoted(element.name)}`)
    }
    columns.set(element.name, readColumn(element))
    index += computeSize(elements, index)
  }
  if (root === undefined) throw invalidFile('the file has no schema')
  return columns
}

/** Elements of the subtree that begins here. */
function computeSize(elements: readonly SchemaElement[], index: number): number {
  let open = 1
  let at = index
  while (open > 0 && at < elements.length) {
    open += (elements[at]?.num_children ?? 0) - 1
    at++
  }
  return at - index
}

function readColumn(element: SchemaElement): ParquetColumn {
  const { name, type, converted_type: converted, logical_type: logical } = element
  const of = (kind: ParquetColumn['kind'], scale = 0) => ({ name, kind, scale })
  if (type === undefined || element.repetition_type === 'REPEATED') return of('other')
  if (converted === 'DECIMAL' || logical?.type === 'DECIMAL') {
    const { scale = 0 } = element
    forgetType(element)
    return DECIMAL_TYPES.includes(type) ? of('decimal', scale) : of('other')
  }
  if (type === 'BOOLEAN') return of('boolean')
  // The library gives it as text.
  if (logical?.type === 'UUID' && element.type_length === UUID_BYTES) return of('text')
  const isText = converted === 'UTF8' || converted === 'ENUM' || logical?.type === 'STRING'
  if (isText || logical?.type === 'ENUM') {
    forgetType(element)
    return of('text')
  }
  if (type === 'BYTE_ARRAY' && converted === undefined && logical === undefined) return of('text')
  const isWhole = converted === undefined || /^U?INT_/.test(converted)
  const isPlain = logical === undefined || logical.type === 'INTEGER'
  const isNumber = ['INT32', 'INT64', 'FLOAT', 'DOUBLE'].includes(type)
  return of(isNumber && isWhole && isPlain ? 'number' : 'other')
}

const UUID_BYTES = 16
const DECIMAL_TYPES = ['INT32', 'INT64', 'BYTE_ARRAY', 'FIXED_LEN_BYTE_ARRAY']
/** 76 digits, the most that any writer has. */
const DECIMAL_BYTES_MAX = 32

function forgetType(element: SchemaElement): void {
  delete element.converted_type
  delete element.logical_type
}

// A mark at the start is a character, as in a cell of CSV: without it, the text would be another.
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
/** Stands for a text that is not UTF-8. */
export const NOT_UTF8 = Symbol('not UTF-8')
const KNOWN_MAX = 10_000
/** Powers of ten up to here are exact, so that the quotient is the nearest double. */
const EXACT_DIGITS_MAX = 22

/** The texts of a column. A dictionary gives the same bytes again and again: they are read once. */
export class ColumnTexts {
  private readonly known = new Map<Uint8Array, string | typeof NOT_UTF8>()

  /** @returns the text of bytes in a column of texts, or `NOT_UTF8`; any other value as it is */
  of(value: unknown, kind: ParquetColumn['kind']): unknown {
    if (kind !== 'text' || !(value instanceof Uint8Array)) return value
    const known = this.known.get(value)
    if (known !== undefined) return known
    const text = formatText(value)
    if (this.known.size < KNOWN_MAX) this.known.set(value, text)
    return text
  }
}

function formatText(bytes: Uint8Array): string | typeof NOT_UTF8 {
  try {
    return UTF8.decode(bytes)
  } catch {
    return NOT_UTF8
  }
}

/**
 * A value as a request would have it: a number, a text or null, else what a score refuses.
 *
 * NaN and null are missing. A whole number beyond 2^53 is the nearest double for a numeric feature,
 * and keeps its digits elsewhere. A boolean is the text `true` or `false` for a category.
 *
 * @param value with its bytes already read as text, where the column has texts
 */
export function fileValue(value: unknown, column: ParquetColumn, isNumeric: boolean): unknown {
  if (value === null || value === undefined) return null
  if (column.kind === 'decimal') {
    if (value instanceof Uint8Array && value.length > DECIMAL_BYTES_MAX) return value
    return toDecimal(readUnscaled(value), column.scale, isNumeric)
  }
  switch (typeof value) {
    case 'number':
      return Number.isNaN(value) ? null : value
    case 'bigint':
      return isNumeric || isSafe(value) ? Number(value) : String(value)
    case 'boolean':
      return isNumeric ? value : String(value)
    default:
      return value
  }
}

function isSafe(value: bigint): boolean {
  return Number.isSafeInteger(Number(value))
}

/** The digits of a decimal, as a whole number: big-endian two's complement, or an integer. */
function readUnscaled(value: unknown): bigint {
  if (!(value instanceof Uint8Array)) return BigInt(value as number | bigint)
  let digits = 0n
  for (const byte of value) digits = (digits << 8n) | BigInt(byte)
  return BigInt.asIntN(8 * value.length, digits)
}

function toDecimal(unscaled: bigint, scale: number, isNumeric: boolean): number | string {
  if (isSafe(unscaled) && scale >= 0 && scale <= EXACT_DIGITS_MAX) {
    return Number(unscaled) / 10 ** scale
  }
  const text = `${unscaled}e${-scale}`
  return isNumeric || scale !== 0 ? Number(text) : String(unscaled)
}
