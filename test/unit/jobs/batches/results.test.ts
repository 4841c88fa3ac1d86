import { zstdDecompressSync } from 'node:zlib'
import { parquetReadObjects } from 'hyparquet'
import { ByteWriter } from 'hyparquet-writer'
import { expect, test } from 'vitest'
import { canJoin, joinParquet } from '../../../../src/jobs/batches/results/parquet-join.ts'
import { parquetWriter } from '../../../../src/jobs/batches/results/parquet-results.ts'
import { csvCell } from '../../../../src/platform/csv-cell.ts'
import { withFooter } from '../../../support/batches/crafted-parquet.ts'

/** A part of results with these lines. */
function readPart(lines: readonly bigint[]): Buffer {
  const bytes = new ByteWriter()
  const schema = [
    { name: 'results', num_children: 1 },
    { name: 'line', repetition_type: 'REQUIRED' as const, type: 'INT64' as const },
  ]
  const file = parquetWriter(bytes, schema)
  const columnData = [{ name: 'line', data: [...lines], offsetIndex: false }]
  void file.write({ columnData, rowGroupSize: lines.length })
  void file.finish()
  return Buffer.from(bytes.getBytes())
}

async function joined(parts: readonly Buffer[]): Promise<Buffer> {
  const keys = parts.map((_, part) => String(part))
  const open = async (key: string) => {
    const part = parts[Number(key)] ?? Buffer.alloc(0)
    const read = async (from: number, bytes: number) => part.subarray(from, from + bytes)
    return { bytes: part.length, read }
  }
  const chunks: Uint8Array[] = []
  for await (const chunk of joinParquet(keys, open)) chunks.push(chunk)
  return Buffer.concat(chunks)
}

test('parts of results become one file, however long they are', async () => {
  const long = Array.from({ length: 300_000 }, (_, line) => BigInt(line) ** 3n % 1_000_003n)
  const file = await joined([readPart([1n, 2n]), readPart(long), readPart([4n])])
  const compressors = { ZSTD: (bytes: Uint8Array) => new Uint8Array(zstdDecompressSync(bytes)) }
  const rows = await parquetReadObjects({ file: new Uint8Array(file).buffer, compressors })
  expect(rows.map(({ line }) => line)).toEqual([1n, 2n, ...long, 4n])
})

// The parts are in a folder into which programs of the team may write.
test.each([
  ['metadata that ask for gigabytes', withFooter(Uint8Array.of(0x19, 0xfc, 255, 255, 255, 255, 7))],
  ['metadata that are longer than the file', Buffer.from('PAR1\xff\xff\xff\x00PAR1', 'latin1')],
  ['no metadata', Buffer.from('PAR1')],
  ['metadata of something else', withFooter(Uint8Array.of(0))],
])('a part that was exchanged for one with %s is refused', async (_, part) => {
  await expect(joined([readPart([1n]), part])).rejects.toMatchObject({ code: 'batch_not_found' })
})

test('results that would have too much metadata for one file are known before', () => {
  const part = readPart([1n])
  expect(canJoin(part, 1_000)).toBe(true)
  expect(canJoin(part, 1_000_000)).toBe(false)
})

// A spreadsheet computes what begins like a formula: a reference could send away a whole table.
test.each([
  ['=1+1', "'=1+1"],
  ['+49 1', "'+49 1"],
  ['-5', "'-5"],
  ['@SUM(A1)', "'@SUM(A1)"],
  ['\tx', "'\tx"],
  ['=HYPERLINK("x","y")', '"\'=HYPERLINK(""x"",""y"")"'],
  ['A-1', 'A-1'],
  ['a,b', '"a,b"'],
  [-5, '-5'],
  [1e21, '1e+21'],
  [null, ''],
])('the cell of %j is %s', (value, cell) => {
  expect(csvCell(value)).toBe(cell)
})
