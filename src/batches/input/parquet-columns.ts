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
 * The columns of a file by name. Decimals lose their type in the metadata, so that the library
 * gives their digits: it would multiply them by a power of ten, which is not the nearest double.
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
    columns.set(element.name, columnOf(element))
    index += sizeOf(elements, index)
  }
  if (root === undefined) throw invalidFile('the file has no schema')
  return columns
}

/** Elements of the subtree that begins here. */
function sizeOf(elements: readonly SchemaElement[], index: number): number {
  let open = 1
  let at = index
  while (open > 0 && at < elements.length) {
    open += (elements[at]?.num_children ?? 0) - 1
    at++
  }
  return at - index
}

function columnOf(element: SchemaElement): ParquetColumn {
  const { name, type, converted_type: converted, logical_type: logical } = element
  const of = (kind: ParquetColumn['kind'], scale = 0) => ({ name, kind, scale })
  if (type === undefined || element.repetition_type === 'REPEATED') return of('other')
  if (converted === 'DECIMAL' || logical?.type === 'DECIMAL') {
    const { scale = 0 } = element
    delete element.converted_type
    delete element.logical_type
    return of('decimal', scale)
  }
  if (type === 'BOOLEAN') return of('boolean')
  const isText = converted === 'UTF8' || converted === 'ENUM' || logical?.type === 'STRING'
  if (isText || logical?.type === 'ENUM') return of('text')
  if (type === 'BYTE_ARRAY' && converted === undefined && logical === undefined) return of('text')
  const isWhole = converted === undefined || /^U?INT_/.test(converted)
  const isPlain = logical === undefined || logical.type === 'INTEGER'
  const isNumber = ['INT32', 'INT64', 'FLOAT', 'DOUBLE'].includes(type)
  return of(isNumber && isWhole && isPlain ? 'number' : 'other')
}

const UTF8 = new TextDecoder('utf-8', { fatal: true })
/** Powers of ten up to here are exact, so that the quotient is the nearest double. */
const EXACT_DIGITS_MAX = 22

/**
 * A value as a request would have it: a number, a text or null, else what a score refuses.
 *
 * NaN and null are missing. A whole number beyond 2^53 is the nearest double for a numeric feature,
 * and keeps its digits elsewhere. A boolean is the text `true` or `false` for a category.
 */
export function fileValue(value: unknown, column: ParquetColumn, isNumeric: boolean): unknown {
  if (value === null || value === undefined) return null
  if (column.kind === 'decimal') return decimalOf(unscaledOf(value), column.scale, isNumeric)
  switch (typeof value) {
    case 'number':
      return Number.isNaN(value) ? null : value
    case 'string':
      return value
    case 'bigint':
      return isNumeric || isSafe(value) ? Number(value) : String(value)
    case 'boolean':
      return isNumeric ? value : String(value)
    default:
      return value instanceof Uint8Array && column.kind === 'text' ? textOf(value) : value
  }
}

function isSafe(value: bigint): boolean {
  return Number.isSafeInteger(Number(value))
}

/** @returns the bytes where they are not UTF-8, which a score refuses */
function textOf(bytes: Uint8Array): unknown {
  try {
    return UTF8.decode(bytes)
  } catch {
    return bytes
  }
}

/** The digits of a decimal, as a whole number: big-endian two's complement, or an integer. */
function unscaledOf(value: unknown): bigint {
  if (!(value instanceof Uint8Array)) return BigInt(value as number | bigint)
  let digits = 0n
  for (const byte of value) digits = (digits << 8n) | BigInt(byte)
  return BigInt.asIntN(8 * value.length, digits)
}

function decimalOf(unscaled: bigint, scale: number, isNumeric: boolean): number | string {
  if (isSafe(unscaled) && scale >= 0 && scale <= EXACT_DIGITS_MAX) {
    return Number(unscaled) / 10 ** scale
  }
  const text = `${unscaled}e${-scale}`
  return isNumeric || scale !== 0 ? Number(text) : String(unscaled)
}
