import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib'
import {
  type AsyncBuffer,
  type Compressors,
  type DecodedArray,
  type FileMetaData,
  type ParquetScan,
  parquetMetadataAsync,
  parquetScan,
} from 'hyparquet'
import { AppError } from '../../errors.ts'
import type { BatchPosition } from '../batch.ts'
import { DEFAULT_ID_FIELD } from './csv-form.ts'
import { faultyRecord } from './line-reader.ts'
import { fileValue, type ParquetColumn, takeColumns } from './parquet-columns.ts'
import {
  CHUNK_RECORDS_MAX,
  type FileRecord,
  invalidFile,
  isLongId,
  LONG_ID,
  type Portion,
  quoted,
  type ReadBytes,
  type ReadFeatures,
  type RecordReader,
  templateOf,
  unknownOf,
} from './record.ts'

/** Largest part that is read at once: the column of a row group, or the footer. */
const PART_BYTES_MAX = 512 * 1024 * 1024
const FOOTER_BYTES_MAX = 64 * 1024 * 1024
/** Values of the columns of a row group, which is decoded as a whole. */
const GROUP_VALUES_MAX = 64_000_000
const MAGIC = 'PAR1'
const TAIL_BYTES = 8

const COMPRESSORS: Compressors = {
  GZIP: (bytes, outputBytes) => gunzipSync(bytes, { maxOutputLength: Math.max(outputBytes, 1) }),
  ZSTD: (bytes, outputBytes) =>
    zstdDecompressSync(bytes, { maxOutputLength: Math.max(outputBytes, 1) }),
  BROTLI: (bytes, outputBytes) =>
    brotliDecompressSync(bytes, { maxOutputLength: Math.max(outputBytes, 1) }),
}

interface ParquetReaderOptions {
  readonly read: ReadBytes
  readonly fileBytes: number
  readonly features: ReadFeatures
  readonly position: BatchPosition
  readonly recordsMax: number
}

/** A row group with its decoded columns. */
interface Group {
  readonly end: number
  readonly start: number
  readonly columns: ReadonlyMap<string, DecodedArray>
}

/**
 * Reads the columns of a Parquet file that are features, and the reference. A row group is decoded
 * once, and then gives its rows in chunks.
 */
export class ParquetReader implements RecordReader {
  total: number | null = null
  unknownColumns: readonly string[] = []
  private readonly options: ParquetReaderOptions
  private columns: ReadonlyMap<string, ParquetColumn> = new Map()
  private idColumn: ParquetColumn | null = null
  private scan: ParquetScan | null = null
  private template: Readonly<Record<string, unknown>> = {}
  private group: Group | null = null
  private row: number

  constructor(options: ParquetReaderOptions) {
    this.options = options
    this.row = options.position.offset
  }

  async next(): Promise<Portion | null> {
    try {
      const scan = this.scan ?? (await this.open())
      const { row } = this
      if (row >= Number(scan.metadata.num_rows)) return null
      const group = await this.groupAt(scan, row)
      const recordsMax = Math.min(this.options.recordsMax, CHUNK_RECORDS_MAX)
      const end = Math.min(group.end, row + recordsMax)
      const records: FileRecord[] = []
      for (let at = row; at < end; at++) records.push(this.recordOf(group, at))
      this.row = end
      return { records, position: { offset: end, line: end } }
    } catch (error) {
      if (error instanceof AppError || !(error instanceof Error)) throw error
      // Errors of the library say what is wrong with the file, and quote no value of it.
      throw invalidFile(`the Parquet file can't be read: ${error.message.slice(0, 200)}`, error)
    }
  }

  private async open(): Promise<ParquetScan> {
    const { features } = this.options
    const file = this.asyncBuffer()
    await this.checkTail()
    const metadata = await parquetMetadataAsync(file, { geoparquet: false })
    const all = takeColumns(metadata)
    this.total = Number(metadata.num_rows)
    this.unknownColumns = unknownOf([...all.keys()], features)
    const { idField, isNumeric } = features
    this.idColumn = all.get(idField) ?? null
    if (this.idColumn === null && idField !== DEFAULT_ID_FIELD) {
      throw invalidFile(`the file has no column ${quoted(idField)}, which id_field names`)
    }
    this.columns = new Map([...all].filter(([name]) => isNumeric.has(name) || name === idField))
    for (const { name, kind } of this.columns.values()) {
      if (kind === 'other') {
        throw invalidFile(`the column ${quoted(name)} has neither numbers, texts nor booleans`)
      }
    }
    const columns = [...this.columns.keys()]
    this.template = templateOf(columns.filter((name) => isNumeric.has(name)))
    this.checkGroups(metadata, columns.length, this.total)
    const compressors = COMPRESSORS
    this.scan = await parquetScan({ file, metadata, columns, compressors, utf8: false })
    return this.scan
  }

  /** Before the library allocates what the footer asks for. */
  private async checkTail(): Promise<void> {
    const { read, fileBytes } = this.options
    if (fileBytes < TAIL_BYTES) throw invalidFile('the file is no Parquet file')
    const tail = await read(fileBytes - TAIL_BYTES, TAIL_BYTES)
    if (tail.toString('latin1', 4) !== MAGIC) throw invalidFile('the file is no Parquet file')
    if (tail.readUInt32LE(0) > FOOTER_BYTES_MAX) {
      throw invalidFile(`the metadata of the file has more than ${FOOTER_BYTES_MAX} bytes`)
    }
  }

  private checkGroups({ row_groups: groups }: FileMetaData, columns: number, total: number): void {
    let sum = 0
    for (const { num_rows: rows } of groups) {
      sum += Number(rows)
      if (rows >= 0 && Number(rows) * columns <= GROUP_VALUES_MAX) continue
      throw invalidFile(
        `a row group has more than ${GROUP_VALUES_MAX} values: write the file with smaller ones`,
      )
    }
    // Else a file could have rows without an end, or rows that nobody scores.
    if (sum !== total) throw invalidFile('the rows of its groups are not those of the whole file')
  }

  private async groupAt(scan: ParquetScan, row: number): Promise<Group> {
    if (this.group !== null && row >= this.group.start && row < this.group.end) return this.group
    this.group = null
    let start = 0
    let end = 0
    for (const { num_rows: rows } of scan.metadata.row_groups) {
      start = end
      end += Number(rows)
      if (row < end) break
    }
    const columns = new Map<string, DecodedArray>()
    for (const name of this.columns.keys()) {
      const column = await scan.readColumn({ column: name, rowStart: start, rowEnd: end })
      if (column.length !== end - start) throw invalidFile(`the column ${quoted(name)} is cut off`)
      columns.set(name, column)
    }
    this.group = { start, end, columns }
    return this.group
  }

  private recordOf({ start, columns }: Group, row: number): FileRecord {
    const line = row + 1
    const { isNumeric } = this.options.features
    const { idColumn } = this
    const found = idColumn === null ? null : columns.get(idColumn.name)?.[row - start]
    const value = idColumn === null ? null : fileValue(found, idColumn, false)
    const id = typeof value === 'string' || Number.isFinite(value) ? (value as string) : null
    if (isLongId(id)) return faultyRecord(line, LONG_ID)
    const applicant: Record<string, unknown> = { ...this.template }
    for (const column of this.columns.values()) {
      const isNumber = isNumeric.get(column.name)
      if (isNumber === undefined) continue
      applicant[column.name] = fileValue(columns.get(column.name)?.[row - start], column, isNumber)
    }
    return { line, id, applicant, fault: null }
  }

  private asyncBuffer(): AsyncBuffer {
    const { read, fileBytes } = this.options
    return {
      byteLength: fileBytes,
      slice: async (start, end = fileBytes) => {
        const bytes = end - start
        if (!(bytes >= 0) || bytes > PART_BYTES_MAX) {
          throw new Error(`a part of it has more than ${PART_BYTES_MAX} bytes`)
        }
        const part = await read(start, bytes)
        // A copy at the start of its own memory, as the library wants it.
        return new Uint8Array(part).buffer
      },
    }
  }
}
