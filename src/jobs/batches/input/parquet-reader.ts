import type { DecodedArray, FileMetaData, RowGroup } from 'hyparquet'
import { AppError } from '../../../errors.ts'
import { type BatchPosition, NO_UNKNOWN_COLUMNS, type UnknownColumns } from '../batch.ts'
import { DEFAULT_ID_FIELD } from './csv-form.ts'
import { faultyRecord, LINE_BYTES_MAX } from './line-reader.ts'
import {
  ColumnTexts,
  fileValue,
  NOT_UTF8,
  type ParquetColumn,
  takeColumns,
} from './parquet-columns.ts'
import { checkGroups, readColumn, readMetadata } from './parquet-file.ts'
import {
  CHUNK_RECORDS_MAX,
  type FileRecord,
  findUnknown,
  invalidFile,
  isLongId,
  LONG_ID,
  makeTemplate,
  type Portion,
  quoted,
  type ReadBytes,
  type ReadFeatures,
  type RecordReader,
} from './record.ts'

/** Characters of text in a chunk: a dictionary can give one text to every row. */
const CHUNK_CHARS = 2 * 1024 * 1024

interface ParquetReaderOptions {
  readonly read: ReadBytes
  readonly fileBytes: number
  readonly features: ReadFeatures
  readonly position: BatchPosition
  readonly recordsMax: number
}

/** A decoded column, with the texts that were read from it. */
interface Column extends ParquetColumn {
  readonly values: DecodedArray
  readonly texts: ColumnTexts
  /** Null for a column that is not a feature. */
  readonly isNumeric: boolean | null
}

/** A row group with its decoded columns. */
interface Group {
  readonly number: number
  readonly start: number
  readonly end: number
  readonly columns: readonly Column[]
}

/**
 * Reads the columns of a Parquet file that are features, and the reference. A row group is decoded
 * once, and then gives its rows in chunks.
 */
export class ParquetReader implements RecordReader {
  total: number | null = null
  unknownColumns: UnknownColumns = NO_UNKNOWN_COLUMNS
  place: string | null = null
  private readonly options: ParquetReaderOptions
  private columns: readonly ParquetColumn[] = []
  private metadata: FileMetaData | null = null
  private template: Readonly<Record<string, unknown>> = {}
  /** The row group with `row`, or the one before it. */
  private group: Group = { number: 0, start: 0, end: 0, columns: [] }
  private row: number
  /** Characters of text of the applicant that was read last. */
  private chars = 0

  constructor(options: ParquetReaderOptions) {
    this.options = options
    this.row = options.position.offset
  }

  async next(): Promise<Portion | null> {
    try {
      this.metadata ??= await this.open()
      if (this.row >= Number(this.metadata.num_rows)) return null
      const group = await this.findGroup(this.metadata)
      const recordsMax = Math.min(this.options.recordsMax, CHUNK_RECORDS_MAX)
      const end = Math.min(group.end, this.row + recordsMax)
      const records: FileRecord[] = []
      for (let chars = 0; this.row < end && chars < CHUNK_CHARS; this.row++) {
        const record = this.readRecord(group, this.row)
        if (record.applicant !== null) chars += this.chars
        records.push(record)
      }
      return { records, position: { offset: this.row, line: this.row } }
    } catch (error) {
      if (error instanceof AppError || !(error instanceof Error)) throw error
      // Errors of the library say what is wrong with the file, and quote no value of it.
      const where = this.place === null ? '' : ` at ${this.place}`
      const reason = error.message.slice(0, 200)
      throw invalidFile(`the Parquet file can't be read${where}: ${reason}`, error)
    }
  }

  private async open(): Promise<FileMetaData> {
    const { features } = this.options
    this.place = 'its metadata'
    const metadata = await readMetadata(this.options)
    const all = takeColumns(metadata)
    this.total = Number(metadata.num_rows)
    this.unknownColumns = findUnknown([...all.keys()], features)
    const { idField, categories } = features
    if (!all.has(idField) && idField !== DEFAULT_ID_FIELD) {
      throw invalidFile(`the file has no column ${quoted(idField)}, which id_field names`)
    }
    // Nobody has asked for the reference by default: one that can't be read is left out.
    const hasId = idField !== DEFAULT_ID_FIELD || all.get(idField)?.kind !== 'other'
    this.columns = [...all.values()].filter(
      ({ name }) => categories.has(name) || (hasId && name === idField),
    )
    for (const { name, kind } of this.columns) {
      if (kind === 'other') {
        throw invalidFile(`the column ${quoted(name)} has neither numbers, texts nor booleans`)
      }
    }
    const names = this.columns.map(({ name }) => name)
    this.template = makeTemplate(names.filter((name) => categories.has(name)))
    checkGroups(metadata, names.length)
    return metadata
  }

  /** The row group of the next row; the work only moves forward. */
  private async findGroup(metadata: FileMetaData): Promise<Group> {
    if (this.row < this.group.end) return this.group
    let { number, end } = this.group
    let start = end
    // The memory of the last one is free before this one is read.
    this.group = { number, start, end, columns: [] }
    let group: RowGroup | undefined
    do {
      group = metadata.row_groups[number++]
      if (group === undefined) throw invalidFile('the file has fewer rows than it says')
      start = end
      end += Number(group.num_rows)
    } while (end <= this.row)
    const { categories } = this.options.features
    const columns: Column[] = []
    for (const column of this.columns) {
      const { name } = column
      this.place = `row group ${number}, column ${quoted(name)}`
      const values = await readColumn(this.options, metadata, { group, name })
      const isNumber = categories.has(name) ? categories.get(name) === null : null
      columns.push({ ...column, values, texts: new ColumnTexts(), isNumeric: isNumber })
    }
    this.group = { number, start, end, columns }
    return this.group
  }

  private readRecord({ start, columns }: Group, row: number): FileRecord {
    const line = row + 1
    const { idField } = this.options.features
    const applicant: Record<string, unknown> = { ...this.template }
    let id: string | number | null = null
    let fault: string | null = null
    this.chars = 0
    for (const column of columns) {
      const { name, isNumeric } = column
      const found = column.texts.of(column.values[row - start], column.kind)
      if (found === NOT_UTF8) {
        fault ??= `the column ${quoted(name)} of row ${line} is not UTF-8`
        continue
      }
      if (name === idField) id = readId(fileValue(found, column, false))
      if (isNumeric === null) continue
      const value = fileValue(found, column, isNumeric)
      applicant[name] = value
      if (typeof value === 'string') this.chars += value.length
    }
    if (isLongId(id)) return faultyRecord(line, LONG_ID)
    if (fault !== null) return faultyRecord(line, fault, id)
    if (this.chars <= LINE_BYTES_MAX) return { line, id, applicant, fault: null }
    return faultyRecord(line, `the row has more than ${LINE_BYTES_MAX} characters of text`, id)
  }
}

function readId(value: unknown): string | number | null {
  return typeof value === 'string' || Number.isFinite(value) ? (value as string | number) : null
}
