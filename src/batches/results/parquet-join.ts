import { parquetMetadata, type RowGroup } from 'hyparquet'
import { ByteWriter } from 'hyparquet-writer'
import { parquetWriter } from './parquet-results.ts'

const MAGIC = Buffer.from('PAR1')
/** Length of the metadata, and the magic number. */
const TAIL_BYTES = 8

/**
 * Joins Parquet files of `ParquetResults` to one: their row groups one after the other, and new
 * metadata. No value is decoded.
 *
 * @param files whole files with one schema; without any, nothing is given
 */
export async function* joinParquet(files: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const tail = new ByteWriter()
  let joined: ReturnType<typeof parquetWriter> | null = null
  let offset = MAGIC.length
  for await (const file of files) {
    const { schema, row_groups: groups } = parquetMetadata(file)
    if (joined === null) yield MAGIC
    joined ??= parquetWriter(tail, schema)
    const metadataBytes = Buffer.from(file.buffer, file.byteOffset, file.length).readUInt32LE(
      file.length - TAIL_BYTES,
    )
    const body = file.subarray(MAGIC.length, file.length - TAIL_BYTES - metadataBytes)
    for (const group of groups) {
      joined.row_groups.push(movedBy(offset - MAGIC.length, group))
      joined.num_rows += group.num_rows
    }
    yield body
    offset += body.length
  }
  if (joined === null) return
  void joined.finish()
  // Without the magic number with which the writer began.
  yield tail.getBytes().subarray(MAGIC.length)
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
