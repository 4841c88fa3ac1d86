import type { Applicant, WrittenCategories } from '../../../engine/index.ts'
import { AppError } from '../../../errors.ts'
import type { BatchPosition, UnknownColumns } from '../batch.ts'

/** An applicant of a file, or why there is none. */
export interface FileRecord {
  /** From 1; of a Parquet file, the row. */
  readonly line: number
  readonly id: string | number | null
  /** Null with a fault. */
  readonly applicant: Applicant | null
  readonly fault: string | null
}

/** Records that are made when they are asked for, the same ones each time. */
export interface Records extends Iterable<FileRecord> {
  readonly length: number
}

/** Applicants of one chunk. */
export interface Portion {
  readonly records: Records
  /** After them. */
  readonly position: BatchPosition
}

/** Reads a file in chunks, which follow from the file alone. */
export interface RecordReader {
  /** Records of the whole file; null where only reading all of it would tell. */
  readonly total: number | null
  readonly unknownColumns: UnknownColumns
  /** The part that is being read, for an error of a process that ended; null: no part of it. */
  readonly place: string | null
  /**
   * @returns null at the end of the file
   * @throws AppError `invalid_file`
   */
  next(): Promise<Portion | null>
}

/** Bytes of a file, fewer where it ends. */
export type ReadBytes = (from: number, bytes: number) => Promise<Buffer>

/** Facts of the models that a reader needs. */
export interface ReadFeatures {
  /** Categories of all features of all models by name; null where the values are numbers. */
  readonly categories: ReadonlyMap<string, WrittenCategories | null>
  readonly idField: string
  /** True if columns that no model knows are refused. */
  readonly isStrict: boolean
}

/** Most applicants of a chunk: half a tenth of a second of work. */
export const CHUNK_RECORDS_MAX = 5_000
/** Longest reference of an applicant. */
const ID_CHARS_MAX = 1_000

export const LONG_ID = `the reference is longer than ${ID_CHARS_MAX} characters`

/** Tells whether a reference is too long for the log and the results. */
export function isLongId(id: string | number | null): boolean {
  return typeof id === 'string' && id.length > ID_CHARS_MAX
}

/** A file that can't be scored at all; the message says what to change. */
export function invalidFile(message: string, cause?: unknown): AppError {
  return new AppError('invalid_file', message, { cause })
}

/**
 * Which columns of a file are features, and which no model knows.
 *
 * @throws AppError `invalid_file` if no column is a feature, a name is there twice, or strict mode
 *   refuses a column
 */
export function findUnknown(
  columns: readonly string[],
  { categories, idField, isStrict }: ReadFeatures,
): UnknownColumns {
  const seen = new Set<string>()
  for (const name of columns) {
    if (seen.has(name)) throw invalidFile(`two columns have the name ${quoted(name)}`)
    seen.add(name)
  }
  const unknown = columns.filter((name) => !categories.has(name))
  if (unknown.length === columns.length) {
    throw invalidFile('no column has the name of a feature of the model: check the header')
  }
  const others = unknown.filter((name) => name !== idField)
  const [first] = others
  if (isStrict && first !== undefined) {
    throw invalidFile(
      `strict mode takes no unknown columns, but ${quoted(first)} is not a feature of the model`,
    )
  }
  const listed = others.slice(0, UNKNOWN_LISTED_MAX).map((name) => name.slice(0, NAME_CHARS_MAX))
  return { names: listed, more: others.length - listed.length }
}

const UNKNOWN_LISTED_MAX = 100
const NAME_CHARS_MAX = 80

/** A name from a file, for a message. */
export function quoted(name: string): string {
  return JSON.stringify(name.slice(0, NAME_CHARS_MAX))
}

/**
 * An object with these names, to be copied for each applicant. V8 keeps the copies as fast as those
 * of `JSON.parse`; an object that grows by twenty names becomes a hash table, and scoring takes
 * twice as long.
 */
export function makeTemplate(names: readonly string[]): Readonly<Record<string, unknown>> {
  return JSON.parse(JSON.stringify(Object.fromEntries(names.map((name) => [name, null]))))
}
