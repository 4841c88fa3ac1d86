import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib'
import {
  type AsyncBuffer,
  type Compressors,
  type DecodedArray,
  type FileMetaData,
  parquetMetadata,
  parquetScan,
  type RowGroup,
} from 'hyparquet'
import { checkPages } from './parquet-pages.ts'
import { invalidFile, quoted, type ReadBytes } from './record.ts'
import { thriftEnd } from './thrift-bounds.ts'

/** Largest column of a row group, as it is in the file. */
const COLUMN_BYTES_MAX = 512 * 1024 * 1024
const FOOTER_BYTES_MAX = 64 * 1024 * 1024
/** A column of a row group has some 25. */
const FOOTER_VALUES_MAX = 10_000_000
/** Each is a part of the results at least. */
const GROUPS_MAX = 65_536
/** Values of the columns of a row group, which is decoded as a whole. */
const GROUP_VALUES_MAX = 64_000_000
const MAGIC = 'PAR1'
/** Instead of `MAGIC` where the footer itself is encrypted. */
const ENCRYPTED_MAGIC = 'PARE'
const TAIL_BYTES = 8
const NO_PARQUET = 'the file is not a Parquet file'
const ENCRYPTED = 'the Parquet file is encrypted: write it without encryption'

/** What a page declares is checked before; here, no page may become longer than that. */
const COMPRESSORS: Compressors = {
  GZIP: (bytes, outputBytes) => gunzipSync(bytes, { maxOutputLength: Math.max(outputBytes, 1) }),
  ZSTD: (bytes, outputBytes) =>
    zstdDecompressSync(bytes, { maxOutputLength: Math.max(outputBytes, 1) }),
  BROTLI: (bytes, outputBytes) =>
    brotliDecompressSync(bytes, { maxOutputLength: Math.max(outputBytes, 1) }),
}

interface FileBytes {
  readonly read: ReadBytes
  readonly fileBytes: number
}

/**
 * Reads what a Parquet file says about itself, within bounds.
 *
 * @throws AppError `invalid_file`; Error of the library
 */
export async function readMetadata({ read, fileBytes }: FileBytes): Promise<FileMetaData> {
  if (fileBytes < TAIL_BYTES) throw invalidFile(NO_PARQUET)
  const tail = await read(fileBytes - TAIL_BYTES, TAIL_BYTES)
  const magic = tail.toString('latin1', 4)
  if (magic === ENCRYPTED_MAGIC) throw invalidFile(ENCRYPTED)
  if (magic !== MAGIC) throw invalidFile(NO_PARQUET)
  const footerBytes = tail.readUInt32LE(0)
  if (footerBytes > FOOTER_BYTES_MAX) {
    throw invalidFile(`the metadata of the file have more than ${FOOTER_BYTES_MAX} bytes`)
  }
  if (footerBytes > fileBytes - TAIL_BYTES) throw invalidFile('the file is cut off')
  const footer = await read(fileBytes - TAIL_BYTES - footerBytes, footerBytes + TAIL_BYTES)
  thriftEnd(footer, 0, { end: footerBytes, valuesMax: FOOTER_VALUES_MAX })
  try {
    return parquetMetadata(footer, { geoparquet: false })
  } catch (error) {
    // The library takes required fields for granted, and fails on the first that is absent.
    if (!(error instanceof TypeError)) throw error
    throw invalidFile('the file is damaged: its metadata lack fields that Parquet requires', error)
  }
}

/**
 * Checks the rows of a file and of its groups.
 *
 * @param columns number of columns that are read
 * @throws AppError `invalid_file`
 */
export function checkGroups(
  { row_groups: groups, num_rows: total }: FileMetaData,
  columns: number,
): void {
  if (groups.length > GROUPS_MAX) {
    throw invalidFile(
      `the file has more than ${GROUPS_MAX} row groups: write it with larger row groups`,
    )
  }
  let sum = 0
  for (const [at, { num_rows: rows }] of groups.entries()) {
    sum += Number(rows)
    if (rows >= 0 && Number(rows) * columns <= GROUP_VALUES_MAX) continue
    throw invalidFile(
      `row group ${at + 1} has more than ${GROUP_VALUES_MAX} values: write the file with smaller ones`,
    )
  }
  // Else a file could have rows without an end, or rows that nobody scores.
  if (sum !== Number(total)) {
    throw invalidFile('the rows of its groups are not those of the whole file')
  }
}

/**
 * Decodes a column of a row group. Its pages are checked first.
 *
 * @throws AppError `invalid_file`; Error of the library
 */
export async function readColumn(
  { read, fileBytes }: FileBytes,
  metadata: FileMetaData,
  { group, name }: { readonly group: RowGroup; readonly name: string },
): Promise<DecodedArray> {
  const rows = Number(group.num_rows)
  if (rows === 0) return []
  const { start, bytes, type } = findPlace(group, name, fileBytes)
  const element = metadata.schema.find((one) => one.name === name && one.type !== undefined)
  const part = await read(start, bytes)
  checkPages(part, { rows, type, typeLength: element?.type_length })
  const memory = toArrayBuffer(part)
  const file: AsyncBuffer = {
    byteLength: fileBytes,
    slice: (from, to = fileBytes) => {
      if (from === start && to === start + bytes) return memory
      throw new Error('it is read outside of the column')
    },
  }
  const scan = await parquetScan({
    file,
    // The library plans for every row group in the metadata.
    metadata: { ...metadata, row_groups: [group], num_rows: group.num_rows },
    columns: [name],
    compressors: COMPRESSORS,
    utf8: false,
    useOffsetIndex: false,
  })
  const column = await scan.readColumn({ column: name, rowStart: 0, rowEnd: rows })
  if (column.length !== rows) throw invalidFile(`the column ${quoted(name)} is cut off`)
  return column
}

/** Returns where the one column of this name is, as the library finds it. */
function findPlace(group: RowGroup, name: string, fileBytes: number) {
  if (group.columns.some(({ crypto_metadata: key }) => key !== undefined)) {
    throw invalidFile(ENCRYPTED)
  }
  const found = group.columns.flatMap(({ meta_data: data }) =>
    data?.path_in_schema[0] === name ? [data] : [],
  )
  const [data] = found
  if (data === undefined || found.length > 1 || data.path_in_schema.length > 1) {
    throw invalidFile(`a row group has the column ${quoted(name)} ${found.length} times`)
  }
  const start = Number(data.dictionary_page_offset || data.data_page_offset)
  const bytes = Number(data.total_compressed_size)
  if (!(start >= 0 && bytes >= 0 && start + bytes <= fileBytes)) {
    throw invalidFile(`the column ${quoted(name)} lies outside of the file`)
  }
  if (bytes > COLUMN_BYTES_MAX) {
    throw invalidFile(
      `the column ${quoted(name)} of a row group has more than ${COLUMN_BYTES_MAX} bytes: write the file with smaller row groups`,
    )
  }
  return { start, bytes, type: data.type }
}

/** The bytes at the start of their own memory, as the library wants them. */
function toArrayBuffer(part: Buffer): ArrayBuffer {
  const { buffer, byteOffset, byteLength } = part
  const isOwn = buffer instanceof ArrayBuffer && byteOffset === 0
  if (isOwn && buffer.byteLength === byteLength) return buffer
  return new Uint8Array(part).buffer
}
