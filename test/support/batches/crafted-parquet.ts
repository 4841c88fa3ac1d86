import type { FileMetaData, RowGroup, SchemaElement } from 'hyparquet'
import { ByteWriter } from 'hyparquet-writer'
import { writeMetadata } from 'hyparquet-writer/src/metadata.js'
import { serializeTCompactProtocol } from 'hyparquet-writer/src/thrift.js'

type Column = NonNullable<RowGroup['columns'][number]['meta_data']>

export interface CraftedPage {
  /** Fields of the header by the numbers that the format gives them. */
  readonly header: Readonly<Record<`field_${number}`, unknown>>
  readonly body: Uint8Array
}

interface CraftedOrder {
  readonly pages: readonly CraftedPage[]
  readonly rows: number
  readonly element: Partial<SchemaElement> & { readonly name: string }
  /** What the metadata say of the column, in place of the truth. */
  readonly column?: Partial<Column>
  /** What the metadata say of the file. */
  readonly file?: (metadata: FileMetaData) => FileMetaData
}

const MAGIC = 0x31524150
export const DATA_PAGE = 0
export const DICTIONARY_PAGE = 2
export const DATA_PAGE_V2 = 3
/** Encodings. */
export const PLAIN = 0
export const RLE = 3
export const RLE_DICTIONARY = 8

/** A file of Parquet with one column, whose pages and metadata say whatever is wanted. */
export function craftedParquet({ pages, rows, element, column, file }: CraftedOrder): Buffer {
  const writer = new ByteWriter()
  writer.appendUint32(MAGIC)
  for (const { header, body } of pages) {
    serializeTCompactProtocol(writer, header)
    writer.appendBytes(body)
  }
  const bytes = BigInt(writer.offset - 4)
  const metadata: FileMetaData = {
    version: 2,
    schema: [
      { name: 'root', num_children: 1 },
      { type: 'DOUBLE', repetition_type: 'REQUIRED', ...element },
    ],
    num_rows: BigInt(rows),
    row_groups: [
      {
        columns: [
          {
            file_offset: 4n,
            meta_data: {
              type: element.type ?? 'DOUBLE',
              encodings: ['PLAIN'],
              path_in_schema: [element.name],
              codec: 'UNCOMPRESSED',
              num_values: BigInt(rows),
              total_uncompressed_size: bytes,
              total_compressed_size: bytes,
              data_page_offset: 4n,
              ...column,
            },
          },
        ],
        total_byte_size: bytes,
        num_rows: BigInt(rows),
      },
    ],
    metadata_length: 0,
  }
  writeMetadata(writer, file?.(metadata) ?? metadata)
  writer.appendUint32(MAGIC)
  return Buffer.from(writer.getBytes())
}

/** A file whose metadata are these bytes. */
export function withFooter(footer: Uint8Array): Buffer {
  const tail = Buffer.alloc(8, 'PAR1')
  tail.writeUInt32LE(footer.length)
  tail.write('PAR1', 4)
  return Buffer.concat([Buffer.from('PAR1'), footer, tail])
}

/** A page of numbers, whose header may lie. */
export function numberPage(
  values: readonly number[],
  lie: { readonly stored?: number; readonly plain?: number; readonly count?: number } = {},
): CraftedPage {
  const body = new Uint8Array(new Float64Array(values).buffer)
  return dataPage(body, { count: values.length, ...lie })
}

/** A page of the first form. */
export function dataPage(
  body: Uint8Array,
  {
    count,
    stored = body.length,
    plain = body.length,
    encoding = PLAIN,
  }: {
    readonly count: number
    readonly stored?: number
    readonly plain?: number
    readonly encoding?: number
  },
): CraftedPage {
  const field_5 = { field_1: count, field_2: encoding, field_3: RLE, field_4: RLE }
  return { header: { field_1: DATA_PAGE, field_2: plain, field_3: stored, field_5 }, body }
}

/** A page of texts, as a dictionary has them. */
export function formatTexts(texts: readonly Uint8Array[]): Uint8Array {
  return Buffer.concat(
    texts.flatMap((text) => {
      const length = Buffer.alloc(4)
      length.writeUInt32LE(text.length)
      return [length, text]
    }),
  )
}
