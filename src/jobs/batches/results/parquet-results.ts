import { constants, zstdCompressSync } from 'node:zlib'
import type { SchemaElement } from 'hyparquet'
import { ByteWriter, ParquetWriter } from 'hyparquet-writer'
import {
  type ResultChunk,
  type ResultColumn,
  type ResultRow,
  type ResultWriter,
  readColumns,
} from './result-writer.ts'

const BYTES_EXPECTED = 512 * 1024
const ZSTD_LEVEL = 1
export const CREATED_BY = 'Scoreline'
/** Columns that no applicant lacks. */
const REQUIRED = ['line', 'request_id', 'record_index']

/** A Parquet file of one row group; `joinParquet` makes one file of those of all chunks. */
export class ParquetResults implements ResultWriter {
  private readonly columns: readonly ResultColumn[]
  private readonly values: (string | number | bigint | null)[][]

  constructor(chunk: ResultChunk) {
    this.columns = readColumns(chunk)
    this.values = this.columns.map(() => [])
  }

  add(row: ResultRow): void {
    for (let column = 0; column < this.columns.length; column++) {
      const { type, value } = this.columns[column] as ResultColumn
      this.values[column]?.push(storedValue(value(row), type))
    }
  }

  end(): Uint8Array {
    const bytes = new ByteWriter(BYTES_EXPECTED)
    const file = parquetWriter(bytes, makeSchema(this.columns))
    const columnData = this.columns.map(({ name }, column) => ({
      name,
      data: this.values[column] ?? [],
      // Their places in the file would have to be moved when files are joined.
      offsetIndex: false,
    }))
    const rows = columnData[0]?.data.length ?? 0
    // No promises: the writer keeps the bytes in memory.
    if (rows > 0) void file.write({ columnData, rowGroupSize: rows })
    void file.finish()
    return bytes.getBytes()
  }
}

/** A reference is a text or a number, and its column has texts. */
function storedValue(
  value: string | number | null,
  type: ResultColumn['type'],
): string | number | bigint | null {
  if (typeof value !== 'number' || type === 'number') return value
  return type === 'whole' ? BigInt(value) : String(value)
}

/** A writer whose files can be joined. */
export function parquetWriter(writer: ByteWriter, schema: SchemaElement[]): ParquetWriter {
  return new ParquetWriter({
    writer,
    schema,
    codec: 'ZSTD',
    // The library writes a codec without its compressor uncompressed, but says that it is.
    compressors: {
      ZSTD: (bytes) =>
        zstdCompressSync(bytes, {
          params: { [constants.ZSTD_c_compressionLevel]: ZSTD_LEVEL },
        }),
    },
    statistics: false,
    createdBy: CREATED_BY,
  })
}

const TYPES: Readonly<Record<ResultColumn['type'], Partial<SchemaElement>>> = {
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  whole: { type: 'INT64' },
  number: { type: 'DOUBLE' },
}

function makeSchema(columns: readonly ResultColumn[]): SchemaElement[] {
  return [
    { name: 'results', num_children: columns.length },
    ...columns.map(
      ({ name, type }): SchemaElement => ({
        name,
        repetition_type: REQUIRED.includes(name) ? 'REQUIRED' : 'OPTIONAL',
        ...TYPES[type],
      }),
    ),
  ]
}
