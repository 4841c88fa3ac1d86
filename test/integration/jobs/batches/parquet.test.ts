import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { WrittenCategories } from '../../../../src/engine/index.ts'
import { newReader } from '../../../../src/jobs/batches/input/new-reader.ts'
import type { FileRecord } from '../../../../src/jobs/batches/input/record.ts'
import { BatchCaller } from '../../../support/batches/batches.ts'
import { card, categorical, numeric } from '../../../support/cards/cards.ts'
import { lastBackend } from '../../../support/start/databases.ts'
import { TestService } from '../../../support/start/service.ts'
import { Team } from '../../../support/start/team.ts'

const directory = mkdtempSync(join(tmpdir(), 'scoreline-parquet-'))
let database: Awaited<ReturnType<typeof connect>>
const connect = async () => (await DuckDBInstance.create(':memory:')).connect()

beforeAll(async () => {
  database = await connect()
})
afterAll(() => {
  database.closeSync()
  rmSync(directory, { recursive: true })
})

/** A file of DuckDB with the rows of a query. */
async function makeFile(query: string, options = ''): Promise<Buffer> {
  const path = join(directory, `${Math.random()}.parquet`)
  await database.run(`copy (${query}) to '${path}' (format parquet${options})`)
  return readFileSync(path)
}

const CATEGORIES = new Map([
  ['rate', null],
  ['purpose', new WrittenCategories([])],
])

function makeReader(file: Buffer, recordsMax = 1_000, offset = 0) {
  return newReader('parquet', {
    read: async (from, bytes) => file.subarray(from, from + bytes),
    fileBytes: file.length,
    features: { categories: CATEGORIES, idField: 'id', isStrict: false },
    position: { offset, line: offset },
    recordsMax,
  })
}

async function readRecords(file: Buffer): Promise<FileRecord[]> {
  const reader = makeReader(file)
  const records: FileRecord[] = []
  for (let next = await reader.next(); next !== null; next = await reader.next()) {
    records.push(...next.records)
  }
  return records
}

test.each(['snappy', 'zstd', 'gzip', 'brotli', 'uncompressed'])(
  'a file that is compressed by %s is read',
  async (codec) => {
    const query = `select 'A-' || i as id, i + 0.5 as rate, 'car ' || i as purpose from range(99) r(i)`
    const records = await readRecords(await makeFile(query, `, codec '${codec}'`))
    expect(records).toEqual(
      Array.from({ length: 99 }, (_, row) => ({
        line: row + 1,
        id: `A-${row}`,
        applicant: { rate: row + 0.5, purpose: `car ${row}` },
        fault: null,
      })),
    )
  },
)

const UUID = '0f8fad5b-d9cb-469f-a165-70867728950e'

// Most files of a warehouse have an id of some type, whether anybody wants it or not.
test.each([
  [`'${UUID}'::uuid`, UUID],
  ["date '2026-01-01'", null],
  ['[1, 2]', null],
])('an id of %s does not fail the file', async (value, id) => {
  const [record, empty] = await readRecords(
    await makeFile(`select ${value} as id, 1.5 as rate union all select null, 2`),
  )
  expect(record).toEqual({ line: 1, id, applicant: { rate: 1.5 }, fault: null })
  expect(empty).toEqual({ line: 2, id: null, applicant: { rate: 2 }, fault: null })
})

// The library multiplies decimals by a power of ten: 57 × 0.01 is not 0.57.
test.each(['decimal(4,2)', 'decimal(12,2)', 'decimal(25,5)', 'double'])(
  'decimals of a column of %s are the doubles that JSON has',
  async (type) => {
    const texts = ['0.57', '-0.07', '1.15', '8.29', '0.00']
    const values = texts.map((text) => `(${text}::${type})`).join()
    const records = await readRecords(await makeFile(`select * from (values ${values}) t(rate)`))
    expect(records.map(({ applicant }) => applicant?.['rate'])).toEqual(texts.map(Number))
  },
)

test.each([
  ['true', 'purpose', 'true'],
  ['true', 'rate', true],
  ['null::boolean', 'purpose', null],
  // As a number it would be another category.
  ['9007199254740993::bigint', 'purpose', '9007199254740993'],
  ['9007199254740993::bigint', 'rate', 9007199254740992],
  ['7::bigint', 'purpose', 7],
  ["'car'", 'purpose', 'car'],
  ["'07'", 'rate', '07'],
  ["'nan'::double", 'rate', null],
  ["'inf'::double", 'rate', Number.POSITIVE_INFINITY],
  ['101::tinyint', 'rate', 101],
  ['18446744073709551615::ubigint', 'rate', 18446744073709552000],
  ['0.1::float', 'rate', Math.fround(0.1)],
  ['null::integer', 'rate', null],
  ['12.50::decimal(9,2)', 'purpose', 12.5],
])('%s for the feature %s is %j', async (value, name, expected) => {
  const [record] = await readRecords(await makeFile(`select 7 as id, ${value} as ${name}`))
  expect(record).toEqual({ line: 1, id: 7, applicant: { [name]: expected }, fault: null })
})

test.each([
  ['select [1, 2] as rate', 'the column "rate" has neither numbers, texts nor booleans'],
  ["select date '2026-01-01' as rate", 'the column "rate" has neither numbers, texts nor booleans'],
  ['select 1 as other', 'no column has the name of a feature of the model: check the header'],
])('the file of %s is refused with the reason', async (query, message) => {
  await expect(readRecords(await makeFile(query))).rejects.toMatchObject({
    code: 'invalid_file',
    message,
  })
})

test.each([
  ['a byte', Buffer.from('x')],
  ['a text', Buffer.from('no Parquet at all, whatever it says')],
  ['an end without a file', Buffer.from('\xff\xff\xff\x7fPAR1', 'latin1')],
  ['metadata that are none', Buffer.from('PAR1aaaaaaaaaaaaaaaaaaaaaaaaa\x10\0\0\0PAR1', 'latin1')],
])('%s in place of a Parquet file is refused', async (_, file) => {
  await expect(readRecords(file)).rejects.toMatchObject({ code: 'invalid_file' })
})

// A run that goes on after a crash must cut the file where the run before it did.
test('the rest of a file gives the same chunks from each chunk on', async () => {
  const file = await makeFile(
    'select i as id, i as rate from range(5000) r(i)',
    ', row_group_size 2048',
  )
  const reader = makeReader(file, 900)
  const ends: number[] = []
  for (let next = await reader.next(); next !== null; next = await reader.next()) {
    const { offset } = next.position
    ends.push(offset)
    const after = await makeReader(file, 900, offset).next()
    expect([...(after?.records ?? [])][0]?.id ?? null).toBe(offset === 5000 ? null : offset)
  }
  expect(ends).toEqual([900, 1800, 2048, 2948, 3848, 4096, 4996, 5000])
})

// Each chunk is a file of its own, which readers of the store can read; a download is one file.
test('the parts of the results are one file of Parquet with all rows in order', async () => {
  const service = await TestService.start(lastBackend)
  try {
    const team = await Team.of(service)
    const caller = new BatchCaller(service, team.key)
    const bins: [string, number][] = [
      ['(-Infinity, 50]', 5],
      ['(50, Infinity)', 6],
    ]
    const spec = card([
      numeric('rate', bins),
      categorical('purpose', [
        ['car', 1],
        ['Missing', 2],
      ]),
    ])
    const { slug } = await team.deploy(spec)
    const rows = 12_345
    const query = `select 'A-' || i as id, i / 100.0 as rate, 1 as extra from range(${rows}) r(i)`
    const batch = await caller.score(slug, await makeFile(query, ', row_group_size 4096'), {
      format: 'parquet',
      query: '&include_contributions=true',
    })
    expect(batch, batch.message).toMatchObject({
      status: 'done',
      counts: { scored: rows, errors: 0 },
      progress: { done: rows, total: rows },
      unknown_columns: ['extra'],
    })
    expect(batch.results.parts).toBeGreaterThan(2)
    const path = join(directory, 'results.parquet')
    writeFileSync(path, await caller.bytes(batch.id))
    const read = await database.runAndReadAll(
      `select count(*)::integer, count(*) filter (line - 1 = substr(id, 3)::integer)::integer,
         count(*) filter (score = ${spec.base_points} + points_rate + points_purpose)::integer,
         count(*) filter (points_rate = if(line - 1 <= 5000, 5, 6))::integer,
         count(distinct request_id)::integer, count(pd)::integer
       from '${path}'`,
    )
    expect(read.getRows()).toEqual([[rows, rows, rows, rows, batch.results.parts, rows]])
  } finally {
    await service.close()
  }
})
