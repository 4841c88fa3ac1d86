import type { PageHeader, ParquetType } from 'hyparquet'
import { parquetHeader } from 'hyparquet/src/column.js'
import { thriftEnd } from './thrift-bounds.ts'

/** Facts that the metadata of the file have about a column of a row group. */
interface ColumnFacts {
  readonly rows: number
  readonly type: ParquetType
  /** Bytes of each value of a type of fixed length. */
  readonly typeLength: number | undefined
}

/** Largest page, as it is when it is not compressed; writers make pages of a few MiB. */
const PAGE_BYTES_MAX = 256 * 1024 * 1024
/** All pages of a column of a row group, when they are not compressed. */
const COLUMN_BYTES_MAX = 1024 * 1024 * 1024
const HEADER_BYTES_MAX = 1024 * 1024
const HEADER_VALUES_MAX = 10_000

/**
 * Checks the pages of a column of a row group before the library decodes them: what they declare
 * must fit their bytes, the rows of the group, and bounds. The library allocates by these numbers.
 *
 * What is compressed can still say anything. The process that decodes it is bounded for that.
 *
 * @throws Error that says which number is wrong
 */
export function checkPages(bytes: Uint8Array, facts: ColumnFacts): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let values = 0
  let total = 0
  // As the library reads: it ignores what follows the last row.
  for (let offset = 0; values < facts.rows; ) {
    if (offset >= bytes.length) throw new Error(`its pages end after ${values} values`)
    const end = thriftEnd(bytes, offset, {
      end: Math.min(bytes.length, offset + HEADER_BYTES_MAX),
      valuesMax: HEADER_VALUES_MAX,
    })
    const header = parquetHeader({ view, offset })
    const sizes = checkSizes(header, bytes.length - end)
    total += sizes.plainBytes
    if (total > COLUMN_BYTES_MAX) {
      throw new Error(`its pages have more than ${COLUMN_BYTES_MAX} bytes when unpacked`)
    }
    values += readValues(header, facts, facts.rows - values)
    offset = end + sizes.storedBytes
  }
}

function checkSizes(
  { compressed_page_size: stored, uncompressed_page_size: plain }: PageHeader,
  left: number,
): { readonly storedBytes: number; readonly plainBytes: number } {
  if (!isCount(stored, left)) throw new Error('a page is longer than the column')
  if (!isCount(plain, PAGE_BYTES_MAX)) {
    throw new Error(`a page has more than ${PAGE_BYTES_MAX} bytes when unpacked`)
  }
  return { storedBytes: stored, plainBytes: plain }
}

/** @returns rows of a page; 0 for a dictionary */
function readValues(header: PageHeader, facts: ColumnFacts, left: number): number {
  const { uncompressed_page_size: bytes } = header
  if (header.type === 'DICTIONARY_PAGE') {
    const most = Math.floor((8 * bytes) / countBits(facts))
    if (!isCount(header.dictionary_page_header?.num_values, most)) {
      throw new Error('a dictionary declares more values than its page can hold')
    }
    return 0
  }
  if (header.type === 'DATA_PAGE') {
    const rows = header.data_page_header?.num_values
    if (!isCount(rows, left)) throw new Error('a page declares more values than the row group')
    return rows
  }
  if (header.type !== 'DATA_PAGE_V2') throw new Error('a page has an unknown type')
  const page = header.data_page_header_v2
  const rows = page?.num_values
  if (page === undefined || !isCount(rows, left) || page.num_rows !== rows) {
    throw new Error('a page declares more values than the row group')
  }
  const { num_nulls: nulls, definition_levels_byte_length: definitions } = page
  const { repetition_levels_byte_length: repetitions } = page
  const most = Math.min(bytes, header.compressed_page_size)
  const areLevels = isCount(definitions, most) && isCount(repetitions, most - definitions)
  if (!isCount(nulls, rows) || !areLevels) {
    throw new Error('a page declares more nulls or levels than it has values')
  }
  return rows
}

/** Least bits of a value that is written plainly. */
function countBits({ type, typeLength }: ColumnFacts): number {
  switch (type) {
    case 'BOOLEAN':
      return 1
    case 'INT64':
    case 'DOUBLE':
      return 64
    case 'INT96':
      return 96
    case 'FIXED_LEN_BYTE_ARRAY':
      return 8 * Math.max(1, typeLength ?? 1)
    default:
      // A number of four bytes, or the length of a text.
      return 32
  }
}

function isCount(value: unknown, most: number): value is number {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= most
}
