import type { FileMetaData, RowGroup } from 'hyparquet'
import { AppError } from '../../../errors.ts'
import type { ReadBytes } from '../input/record.ts'
import { thriftEnd } from '../input/thrift-bounds.ts'
import type { parquetWriter } from './parquet-results.ts'

const MAGIC = Buffer.from('PAR1')
/** Length of the metadata, and the magic number. */
const TAIL_BYTES = 8
/** Metadata of a part: of 3,000 columns with long names, half of it. */
const PART_METADATA_BYTES_MAX = 2 * 1024 * 1024
const PART_VALUES_MAX = 200_000
/** Metadata of the joined file, which take ten times that in memory. */
const METADATA_BYTES_MAX = 16 * 1024 * 1024
const PORTION_BYTES = 1024 * 1024

/** A file, and the place of its metadata. */
interface Part {
  readonly bytes: number
  readonly read: ReadBytes
}

/**
 * Joins Parquet files of `ParquetResults` to one: their row groups one after the other, and new
 * metadata. No value is decoded, and a file passes in portions.
 *
 * The files are in a folder into which the team's own programs write: their metadata are checked
 * before the library reads them. It is loaded with the first such file.
 *
 * @param parts whole files with one schema; without any, nothing is given
 * @throws AppError `batch_not_found` for one that is no longer a part of results
 */
export async function* joinParquet<Named>(
  parts: readonly Named[],
  open: (part: Named) => Promise<Part>,
): AsyncGenerator<Uint8Array> {
  const { ByteWriter } = await import('hyparquet-writer')
  const results = await import('./parquet-results.ts')
  const tail = new ByteWriter()
  let joined: ReturnType<typeof parquetWriter> | null = null
  let offset = MAGIC.length
  let metadataBytes = 0
  for (const named of parts) {
    const part = await open(named)
    const found = await readMetadata(part)
    metadataBytes += found.bytes
    if (joined === null) {
      joined = results.parquetWriter(tail, found.metadata.schema)
      yield MAGIC
    }
    checkSize(metadataBytes)
    for (const group of found.metadata.row_groups) {
      joined.row_groups.push(movedBy(offset - MAGIC.length, group))
      joined.num_rows += group.num_rows
    }
    const end = part.bytes - TAIL_BYTES - found.bytes
    for (let at = MAGIC.length; at < end; at += PORTION_BYTES) {
      yield await part.read(at, Math.min(PORTION_BYTES, end - at))
    }
    offset += end - MAGIC.length
  }
  if (joined === null) return
  void joined.finish()
  // Without the magic number with which the writer began.
  yield tail.getBytes().subarray(MAGIC.length)
}

async function readMetadata({
  bytes: fileBytes,
  read,
}: Part): Promise<{ readonly bytes: number; readonly metadata: FileMetaData }> {
  const { parquetMetadata } = await import('hyparquet')
  try {
    if (fileBytes < TAIL_BYTES) throw new Error('it is too short')
    const tail = await read(fileBytes - TAIL_BYTES, TAIL_BYTES)
    const length = tail.readUInt32LE(0)
    const bytesMax = Math.min(PART_METADATA_BYTES_MAX, fileBytes - TAIL_BYTES)
    if (length > bytesMax) throw new Error('its metadata are too long')
    const footer = await read(fileBytes - TAIL_BYTES - length, length + TAIL_BYTES)
    thriftEnd(footer, 0, { end: length, valuesMax: PART_VALUES_MAX })
    return { bytes: length, metadata: parquetMetadata(footer, { geoparquet: false }) }
  } catch (cause) {
    if (cause instanceof AppError) throw cause
    throw changedPart(cause)
  }
}

/** A run stops before its results have so many. */
function checkSize(metadataBytes: number): void {
  if (metadataBytes > METADATA_BYTES_MAX) throw changedPart()
}

function changedPart(cause?: unknown): AppError {
  const message = 'a part of the results in the store is no longer that of the batch'
  return new AppError('batch_not_found', `${message}: score the file again`, { cause })
}

/**
 * Tells whether a file of results with its like can be joined to one.
 *
 * @param parts how many of them there will be
 */
export function canJoin(file: Uint8Array, parts: number): boolean {
  const length = Buffer.from(file.buffer, file.byteOffset, file.length).readUInt32LE(
    file.length - TAIL_BYTES,
  )
  return length <= PART_METADATA_BYTES_MAX && length * parts <= METADATA_BYTES_MAX
}

/** A row group whose bytes lie later in the file. */
function movedBy(bytes: number, group: RowGroup): RowGroup {
  const by = BigInt(bytes)
  const columns = group.columns.map((column) => {
    const { meta_data: data, ...rest } = column
    if (data === undefined) throw new Error('a column of the results has no metadata')
    return {
      ...rest,
      file_offset: column.file_offset + by,
      meta_data: {
        ...data,
        data_page_offset: data.data_page_offset + by,
        ...(data.dictionary_page_offset !== undefined && {
          dictionary_page_offset: data.dictionary_page_offset + by,
        }),
      },
    }
  })
  const { file_offset: fileOffset, ...others } = group
  return {
    ...others,
    columns,
    ...(fileOffset !== undefined && { file_offset: fileOffset + by }),
  }
}
