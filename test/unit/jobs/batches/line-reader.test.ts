import { expect, test } from 'vitest'
import { WrittenCategories } from '../../../../src/engine/index.ts'
import type { BatchPosition } from '../../../../src/jobs/batches/batch.ts'
import { newReader } from '../../../../src/jobs/batches/input/new-reader.ts'
import type { FileRecord } from '../../../../src/jobs/batches/input/record.ts'

const START: BatchPosition = { offset: 0, line: 0 }
const LONG_LINE =
  'the line is longer than 1048576 bytes: put each applicant on a line of their own, without columns that no model uses'
const CATEGORIES = new Map([
  ['income', null],
  ['purpose', new WrittenCategories(['2', 'car', '007'])],
])

interface Order {
  readonly format?: 'csv' | 'ndjson'
  readonly position?: BatchPosition
  readonly recordsMax?: number
  readonly idField?: string
  readonly isStrict?: boolean
}

async function listPortions(file: string | Buffer, order: Order = {}) {
  const bytes = Buffer.from(file)
  const reader = newReader(order.format ?? 'csv', {
    read: async (from, length) => {
      // What is held does not grow with a line.
      expect(length).toBeLessThanOrEqual(4 * 1024 * 1024)
      return bytes.subarray(from, from + length)
    },
    fileBytes: bytes.length,
    features: {
      categories: CATEGORIES,
      idField: order.idField ?? 'id',
      isStrict: order.isStrict ?? false,
    },
    position: order.position ?? START,
    recordsMax: order.recordsMax ?? 1_000,
  })
  const portions: { records: FileRecord[]; position: BatchPosition }[] = []
  for (let next = await reader.next(); next !== null; next = await reader.next()) {
    const { records, position } = next
    const made = [...records]
    expect(made).toHaveLength(records.length)
    // A challenger that fails amid a chunk has all of it scored again.
    expect([...records]).toEqual(made)
    portions.push({ records: made, position })
  }
  return portions
}

async function readRecords(file: string | Buffer, order: Order = {}) {
  return (await listPortions(file, order)).flatMap(({ records }) => records)
}

// A library prints codes as 2.0 once a cell is empty: 4,049 of 4,454 applicants got other points.
test('a number in CSV is the category that is the same number, and other texts are themselves', async () => {
  const cells = ['2.0', '2', '2e0', '02', '7', '007', ' 2', 'car', '3.0']
  const file = `id,purpose\n${cells.map((cell, row) => `${row},${cell}`).join('\n')}`
  const purposes = (await readRecords(file)).map(({ applicant }) => applicant?.['purpose'])
  expect(purposes).toEqual(['2', '2', '2', '02', '7', '007', ' 2', 'car', '3.0'])
})

test('a cell of a numeric feature is a number where JSON would take it, else its text', async () => {
  const cells = ['1.5', '-0', '1e3', '05', '+1', '.5', '1,5', ' 1', 'NaN', '']
  const file = `income;id\n${cells.map((cell, row) => `${cell};${row}`).join('\n')}`
  const incomes = (await readRecords(file)).map(({ applicant }) => applicant?.['income'])
  expect(incomes).toEqual([1.5, -0, 1000, '05', '+1', '.5', '1,5', ' 1', 'NaN', null])
})

test('a number of a cell is the nearest double, as JSON reads it, to the bit', async () => {
  const cells = ['0', '-0', '-0.0', '00', '-', '.', '1.', '-.5', '1.2.3', '0.1', '9007199254740993']
  cells.push('999999999999999', '0.000000000000001', '-123456789.12345', '0.30000000000000004')
  let state = 20_261_123
  for (let row = 0; row < 2_000; row++) {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31
    const digits = String(state * 7_919).slice(0, 1 + (state % 16))
    const point = state % (digits.length + 1)
    cells.push(`${state % 3 === 0 ? '-' : ''}${digits.slice(0, point)}.${digits.slice(point)}`)
  }
  const records = await readRecords(`income\n${cells.join('\n')}\n`, { recordsMax: 5_000 })
  for (const [row, cell] of cells.entries()) {
    expect(records[row]?.applicant?.['income'], cell).toBe(readNumber(cell))
  }
})

function readNumber(cell: string): unknown {
  try {
    return JSON.parse(cell)
  } catch {
    return cell
  }
}

test('a cell of a categorical feature is its text, whatever it looks like', async () => {
  const [record] = await readRecords('purpose,id\n007,A-1\n')
  expect(record).toEqual({ line: 2, id: 'A-1', applicant: { purpose: '007' }, fault: null })
})

test('quotes, carriage returns, a mark and a missing last line break are read', async () => {
  const file = '\uFEFF"income",purpose\r\n1,"a ""b"", c"\r\n\r\n2,d'
  const records = await readRecords(file)
  expect(records.map(({ line, applicant }) => [line, applicant])).toEqual([
    [2, { income: 1, purpose: 'a "b", c' }],
    [4, { income: 2, purpose: 'd' }],
  ])
})

// A name from a spreadsheet may have more commas than the header has cells.
test('a delimiter within the quotes of a name does not separate cells', async () => {
  const file = '"id";"monthly, net, ""EUR""";"income"\nA-1;7;2\n'
  const [record] = await readRecords(file)
  expect(record).toEqual({ line: 2, id: 'A-1', applicant: { income: 2 }, fault: null })
})

test.each([
  ['1,2,3', 'the line has 3 cells, but the header has 2'],
  ['"1,2', 'a quote is not closed: a cell cannot contain a line break'],
])('the line %s stands apart with its fault', async (line, fault) => {
  const [bad, good] = await readRecords(`income,purpose\n${line}\n1,a\n`)
  expect(bad).toEqual({ line: 2, id: null, applicant: null, fault })
  expect(good?.applicant).toEqual({ income: 1, purpose: 'a' })
})

test('a line that is not UTF-8 or too long stands apart', async () => {
  const file = Buffer.concat([
    Buffer.from('income\n'),
    Buffer.from([0xff, 0x0a]),
    Buffer.from(`${'1'.repeat(1024 * 1024 + 1)}\n2\n`),
  ])
  const records = await readRecords(file)
  expect(records.map(({ line, fault }) => [line, fault])).toEqual([
    [2, 'the line is not UTF-8'],
    [3, LONG_LINE],
    [4, null],
  ])
})

// One line without its break, or a whole list on one line, must not cost the rest of the file.
test.each(['\n', ''])('a line beyond any chunk stands apart, with its end %j', async (end) => {
  const long = 'x'.repeat(9 * 1024 * 1024)
  const file = `income\n1\n${long}\n2\n${long}${end}`
  const whole = await listPortions(file)
  expect(whole.map(({ records }) => records.map(({ line, fault }) => [line, fault]))).toEqual([
    [[2, null]],
    [[3, LONG_LINE]],
    [[4, null]],
    [[5, LONG_LINE]],
  ])
  expect(whole.at(-1)?.position.offset).toBe(file.length)
  for (const [at, { position }] of whole.entries()) {
    expect(await listPortions(file, { position })).toEqual(whole.slice(at + 1))
  }
})

test.each([
  ['a,b\n1,2\n', 'no column has the name of a feature of the model: check the header'],
  ['income,income\n1,2\n', 'two columns have the name "income"'],
])('the header of %j is refused', async (file, message) => {
  await expect(listPortions(file)).rejects.toMatchObject({ code: 'invalid_file', message })
})

test('strict mode refuses a column that no model knows, and others leave it out', async () => {
  const file = 'income,extra\n1,2\n'
  await expect(listPortions(file, { isStrict: true })).rejects.toThrow('"extra" is not a feature')
  const [record] = await readRecords(file)
  expect(record?.applicant).toEqual({ income: 1 })
})

test('a column that id_field names must be there', async () => {
  await expect(listPortions('income\n1\n', { idField: 'number' })).rejects.toThrow(
    'no column "number"',
  )
})

test.each([
  ['[1]', 'the line is not a JSON object'],
  ['{"income":1', 'the line is not valid JSON (at line 1, column 12)'],
  ['{"__proto__":1}', 'the line has a property named __proto__, which is refused'],
])('the line of JSON %s stands apart', async (line, fault) => {
  const records = await readRecords(`${line}\n{"income":1,"id":7}\n`, { format: 'ndjson' })
  expect(records[0]).toMatchObject({ line: 1, applicant: null, fault })
  expect(records[1]).toMatchObject({ line: 2, id: 7, applicant: { income: 1 }, fault: null })
})

// A double rounds it to the reference of another applicant.
test('a reference above 2^53 - 1 is read from text alone', async () => {
  const text = '{"income":1,"id":"9007199254740993"}\n{"income":1,"id":9007199254740993}\n'
  const records = await readRecords(text, { format: 'ndjson' })
  expect(records.map(({ id }) => id)).toEqual(['9007199254740993', null])
})

// A run that goes on after a crash must cut the file where the run before it did.
test('the rest of a file gives the same chunks from each chunk on', async () => {
  const rows = Array.from({ length: 40 }, (_, row) => `${row},${'ü'.repeat(row)}\n`)
  const file = `income,purpose\n${rows.join('')}`
  const whole = await listPortions(file, { recordsMax: 7 })
  expect(whole.map(({ records }) => records.length)).toEqual([7, 7, 7, 7, 7, 5])
  for (const [at, { position }] of whole.entries()) {
    expect(await listPortions(file, { recordsMax: 7, position })).toEqual(whole.slice(at + 1))
  }
})
