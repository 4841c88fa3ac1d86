import { zstdCompressSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { WrittenCategories } from '../../../../src/engine/index.ts'
import { newReader } from '../../../../src/jobs/batches/input/new-reader.ts'
import type { FileRecord, Portion } from '../../../../src/jobs/batches/input/record.ts'
import {
  craftedParquet,
  DATA_PAGE_V2,
  DICTIONARY_PAGE,
  dataPage,
  formatTexts,
  numberPage,
  PLAIN,
  RLE_DICTIONARY,
  withFooter,
} from '../../../support/batches/crafted-parquet.ts'

const RATE = { name: 'rate' }
const PURPOSE = { name: 'purpose', type: 'BYTE_ARRAY', converted_type: 'UTF8' } as const
const GIB = 1024 ** 3

async function listPortions(file: Buffer): Promise<Portion[]> {
  const reader = newReader('parquet', {
    read: async (from, bytes) => file.subarray(from, from + bytes),
    fileBytes: file.length,
    features: {
      categories: new Map([
        ['rate', null],
        ['purpose', new WrittenCategories([])],
      ]),
      idField: 'id',
      isStrict: false,
    },
    position: { offset: 0, line: 0 },
    recordsMax: 1_000,
  })
  const portions: Portion[] = []
  for (let next = await reader.next(); next !== null; next = await reader.next()) {
    portions.push(next)
  }
  return portions
}

async function readRecords(file: Buffer): Promise<FileRecord[]> {
  return (await listPortions(file)).flatMap(({ records }) => [...records])
}

const rates = (values: readonly number[], lie = {}) => [numberPage(values, lie)]

test('a crafted file that tells the truth is read', async () => {
  const records = await readRecords(
    craftedParquet({ element: RATE, rows: 2, pages: rates([1, 2]) }),
  )
  expect(records.map(({ applicant }) => applicant)).toEqual([{ rate: 1 }, { rate: 2 }])
})

const page2 = (lie: object) => ({
  header: {
    field_1: DATA_PAGE_V2,
    field_2: 8,
    field_3: 8,
    field_8: { field_1: 1, field_2: 0, field_3: 1, field_4: PLAIN, field_5: 0, field_6: 0, ...lie },
  },
  body: new Uint8Array(8),
})

// A few bytes could ask for the memory of the whole service.
test.each([
  [
    'a page of two gigabytes',
    { pages: rates([1], { plain: 2 * GIB - 1 }), column: { codec: 'SNAPPY' } },
    'a page has more than 268435456 bytes when unpacked',
  ],
  [
    'a page of a negative size',
    { pages: rates([1], { plain: -1 }), column: { codec: 'SNAPPY' } },
    'a page has more than 268435456 bytes when unpacked',
  ],
  [
    'a page that is longer than the column',
    { pages: rates([1], { stored: 4_000 }) },
    'a page is longer than the column',
  ],
  [
    'a billion values in a page',
    { pages: rates([1], { count: 1_000_000_000 }) },
    'a page declares more values than the row group',
  ],
  [
    'fewer values than rows',
    { pages: rates([1]), rows: 2, file: undefined },
    'its pages end after 1 values',
  ],
  [
    'a dictionary of a billion values',
    {
      pages: [
        {
          header: {
            field_1: DICTIONARY_PAGE,
            field_2: 8,
            field_3: 8,
            field_7: { field_1: 1_000_000_000, field_2: PLAIN },
          },
          body: new Uint8Array(8),
        },
      ],
    },
    'a dictionary declares more values than its page can hold',
  ],
  [
    'more nulls than values',
    { pages: [page2({ field_2: 5 })] },
    'a page declares more nulls or levels than it has values',
  ],
  [
    'levels of a negative length',
    { pages: [page2({ field_5: -8 })] },
    'a page declares more nulls or levels than it has values',
  ],
  [
    'a page of no known type',
    { pages: [{ header: { field_1: 9, field_2: 8, field_3: 8 }, body: new Uint8Array(8) }] },
    'a page has an unknown type',
  ],
] as const)(
  '%s in a column is refused, with the place and the reason',
  async (_, order, reason) => {
    const file = craftedParquet({ rows: 1, element: RATE, ...order } as never)
    await expect(listPortions(file)).rejects.toMatchObject({
      code: 'invalid_file',
      message: `the Parquet file can't be read at row group 1, column "rate": ${reason}`,
    })
  },
)

test('a page that unpacks to more than it declares is refused', async () => {
  const body = zstdCompressSync(Buffer.alloc(64 * 1024 * 1024))
  const pages = [dataPage(body, { count: 1, plain: 8 })]
  const file = craftedParquet({ element: RATE, rows: 1, pages, column: { codec: 'ZSTD' } })
  expect(file.length).toBeLessThan(20_000)
  await expect(listPortions(file)).rejects.toMatchObject({ code: 'invalid_file' })
})

test.each([
  ['lies outside of the file', { data_page_offset: 4_000_000n }],
  ['lies outside of the file', { total_compressed_size: 2n ** 62n }],
  ['0 times', { path_in_schema: ['other'] }],
])('a column that %s is refused', async (reason, column) => {
  const file = craftedParquet({ element: RATE, rows: 1, pages: rates([1]), column })
  await expect(listPortions(file)).rejects.toThrow(reason)
})

test.each([
  ['more rows than its groups', 3n, 'the rows of its groups are not those of the whole file'],
  ['fewer rows than its groups', 1n, 'the rows of its groups are not those of the whole file'],
])('a file with %s is refused', async (_, rows, message) => {
  const file = craftedParquet({
    element: RATE,
    rows: 2,
    pages: rates([1, 2]),
    file: (metadata) => ({ ...metadata, num_rows: rows }),
  })
  await expect(listPortions(file)).rejects.toMatchObject({ code: 'invalid_file', message })
})

test.each([
  ['more values than are decoded at once', 1, 64_000_001n, 'row group 1 has more than 64000000'],
  ['too many row groups', 65_537, 0n, 'more than 65536 row groups'],
])('a file with %s is refused', async (_, groups, rows, reason) => {
  const file = craftedParquet({
    element: RATE,
    rows: 1,
    pages: rates([1]),
    file: (metadata) => {
      const [group] = metadata.row_groups
      if (group === undefined) throw new Error('there is no row group')
      const all = Array.from({ length: groups }, () => ({ ...group, num_rows: rows, columns: [] }))
      return { ...metadata, num_rows: rows * BigInt(groups), row_groups: all }
    },
  })
  await expect(listPortions(file)).rejects.toThrow(reason)
})

test.each([
  ['a list of two billion values', [0x19, 0xfc, 0xff, 0xff, 0xff, 0xff, 0x07]],
  ['a text of two gigabytes', [0x18, 0xff, 0xff, 0xff, 0xff, 0x07]],
  ['structures without an end', new Array(10_000).fill(0x1c)],
  ['lists in lists without an end', new Array(10_000).fill(0x19)],
  ['a number without an end', [0x15, ...new Array(50).fill(0xff)]],
  ['no end', [0x15, 0x02]],
])('metadata with %s are refused', async (_, footer) => {
  await expect(listPortions(withFooter(Uint8Array.from(footer)))).rejects.toMatchObject({
    code: 'invalid_file',
    message: expect.stringContaining('metadata'),
  })
})

test('a file without its end, or cut off within, is refused', async () => {
  const file = craftedParquet({ element: RATE, rows: 2, pages: rates([1, 2]) })
  for (let bytes = 0; bytes < file.length; bytes += 7) {
    const parts = [file.subarray(0, bytes), file.subarray(bytes + 7)]
    for (const part of [...parts, Buffer.concat(parts)]) {
      const error = await listPortions(part).catch((caught: unknown) => caught)
      if (!Array.isArray(error)) expect(error).toMatchObject({ code: 'invalid_file' })
    }
  }
})

/** Rows that name texts of a dictionary, each row by a byte. */
function dictionaryFile(texts: readonly Buffer[], rows: readonly number[]): Buffer {
  const body = formatTexts(texts)
  const dictionary = {
    header: {
      field_1: DICTIONARY_PAGE,
      field_2: body.length,
      field_3: body.length,
      field_7: { field_1: texts.length, field_2: PLAIN },
    },
    body,
  }
  // One run of eight values after the other, each value a byte wide.
  const groups = Array.from({ length: Math.ceil(rows.length / 8) }, (_, group) => [
    0x03,
    ...Array.from({ length: 8 }, (__, at) => rows[8 * group + at] ?? 0),
  ])
  const indexes = dataPage(Uint8Array.from([8, ...groups.flat()]), {
    count: rows.length,
    encoding: RLE_DICTIONARY,
  })
  return craftedParquet({ element: PURPOSE, rows: rows.length, pages: [dictionary, indexes] })
}

// Other bytes would become another text, and so another category: as in a line of CSV.
test('a text that is not UTF-8 is an error of its row, and a mark stays a character', async () => {
  const texts = [Buffer.from('car'), Buffer.from([0x63, 0xff]), Buffer.from('\uFEFFcar')]
  const records = await readRecords(dictionaryFile(texts, [0, 1, 2, 0]))
  expect(records.map(({ applicant, fault }) => [applicant?.['purpose'], fault])).toEqual([
    ['car', null],
    [undefined, 'the column "purpose" of row 2 is not UTF-8'],
    ['\uFEFFcar', null],
    ['car', null],
  ])
})

test('texts are cut into chunks by their length, and too long ones are errors', async () => {
  const texts = [Buffer.alloc(700_000, 'a'), Buffer.alloc(1_100_000, 'b'), Buffer.from('c')]
  const portions = await listPortions(dictionaryFile(texts, [0, 0, 0, 0, 1, 2, 2, 2]))
  expect(portions.map(({ records }) => records.length)).toEqual([3, 5])
  const faults = portions.flatMap(({ records }) => [...records].map(({ fault }) => fault))
  expect(faults[4]).toBe('the row has more than 1048576 characters of text')
  expect(faults.filter((fault) => fault === null)).toHaveLength(7)
})

// "Not a Parquet file" and the text of a JavaScript error helped nobody to write another file.
test.each([
  ['is encrypted with its footer', Buffer.from('PARE....\x04\0\0\0PARE'), /is encrypted/],
  ['has a footer of one byte', withFooter(Uint8Array.of(0)), /the file is damaged: its metadata/],
])('a file that %s is refused by that name', async (_, file, message) => {
  await expect(listPortions(file)).rejects.toMatchObject({
    code: 'invalid_file',
    message: expect.stringMatching(message),
  })
})
