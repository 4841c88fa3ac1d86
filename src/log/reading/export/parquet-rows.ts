import { constants, zstdCompressSync } from 'node:zlib'
import type { SchemaElement } from 'hyparquet'
import { ByteWriter, ParquetWriter } from 'hyparquet-writer'
import { COLUMNS, type ColumnType, type RowTexts } from './columns.ts'

/** Rows of a row group, and values of its lists: a group is held in memory as a whole. */
const GROUP_ROWS = 20_000
const GROUP_LIST_VALUES = 1_000_000
/** Strong enough for an archive: three times as fast as level 9, and a tenth larger. */
const ZSTD_LEVEL = 3

type Values = unknown[]

/** Writes rows as a Parquet file, row group by row group. */
export class ParquetRows {
  private readonly bytes = new ByteWriter(1024 * 1024)
  private readonly file = new ParquetWriter({
    writer: this.bytes,
    schema: SCHEMA,
    codec: 'ZSTD',
    // The library writes a codec without its compressor uncompressed, but says that it is.
    compressors: { ZSTD: compress },
    createdBy: 'Scoreline',
  })
  private columns: Values[] = COLUMNS.map(() => [])
  private rows = 0
  private listValues = 0

  /**
   * Puts bytes between the row groups, where readers of Parquet do not look.
   *
   * @returns their offset in the file
   */
  embed(bytes: Uint8Array): number {
    const at = this.bytes.offset
    this.bytes.appendBytes(bytes)
    return at
  }

  /** @returns the bytes of the row groups that are full */
  write(lines: string): Uint8Array {
    for (const line of lines.split('\n')) {
      if (line !== '') this.add(JSON.parse(line))
      if (this.rows >= GROUP_ROWS || this.listValues >= GROUP_LIST_VALUES) this.writeGroup()
    }
    return this.finished()
  }

  /**
   * Adds rows that this thread has made, without a way over lines of JSON.
   *
   * @returns the bytes of the row groups that are full
   */
  writeRows(rows: readonly RowTexts[]): Uint8Array {
    for (const row of rows) {
      for (const [index, { type }] of COLUMNS.entries()) {
        const value = findCell(row[index] ?? 'null', type)
        this.columns[index]?.push(value)
        if (Array.isArray(value)) this.listValues += value.length
      }
      this.rows++
      if (this.rows >= GROUP_ROWS || this.listValues >= GROUP_LIST_VALUES) this.writeGroup()
    }
    return this.finished()
  }

  /** @returns the last row group and the footer */
  end(): Uint8Array {
    this.writeGroup()
    void this.file.finish()
    return this.finished()
  }

  private add(row: Readonly<Record<string, unknown>>): void {
    for (const [index, { name, type }] of COLUMNS.entries()) {
      const value = row[name]
      this.columns[index]?.push(type === 'moment' ? new Date(String(value)) : value)
      if (Array.isArray(value)) this.listValues += value.length
    }
    this.rows++
  }

  private writeGroup(): void {
    if (this.rows === 0) return
    const columnData = COLUMNS.map(({ name }, index) => ({ name, data: this.columns[index] ?? [] }))
    // No promise: the writer keeps the bytes in memory.
    void this.file.write({ columnData, rowGroupSize: this.rows })
    this.columns = COLUMNS.map(() => [])
    this.rows = 0
    this.listValues = 0
  }

  private finished(): Uint8Array {
    const bytes = this.bytes.getBytes().slice()
    this.bytes.index = 0
    return bytes
  }
}

/** The value of a JSON text. */
function findCell(text: string, type: ColumnType): unknown {
  if (text === 'null') return null
  if (type === 'moment') return new Date(text.slice(1, -1))
  if (type === 'text') return text.includes('\\') ? JSON.parse(text) : text.slice(1, -1)
  if (type === 'integer' || type === 'number') return Number(text)
  return JSON.parse(text)
}

function compress(bytes: Uint8Array): Uint8Array {
  return zstdCompressSync(bytes, {
    params: { [constants.ZSTD_c_compressionLevel]: ZSTD_LEVEL },
  })
}

const PRIMITIVES: Readonly<
  Record<Exclude<ColumnType, 'integers' | 'texts'>, Partial<SchemaElement>>
> = {
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  integer: { type: 'INT32' },
  number: { type: 'DOUBLE' },
  boolean: { type: 'BOOLEAN' },
  moment: {
    type: 'INT64',
    converted_type: 'TIMESTAMP_MILLIS',
    logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' },
  },
}

const SCHEMA: SchemaElement[] = [
  { name: 'scores', num_children: COLUMNS.length },
  ...COLUMNS.flatMap(({ name, type, isNullable }): SchemaElement[] => {
    const repetition_type = isNullable ? 'OPTIONAL' : 'REQUIRED'
    if (type === 'integers') return makeList(name, PRIMITIVES.integer, 'REQUIRED')
    if (type === 'texts') return makeList(name, PRIMITIVES.text, 'OPTIONAL')
    return [{ name, repetition_type, ...PRIMITIVES[type] }]
  }),
]

function makeList(
  name: string,
  element: Partial<SchemaElement>,
  repetition_type: 'REQUIRED' | 'OPTIONAL',
): SchemaElement[] {
  return [
    { name, repetition_type: 'REQUIRED', num_children: 1, converted_type: 'LIST' },
    { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
    { name: 'element', repetition_type, ...element },
  ]
}
