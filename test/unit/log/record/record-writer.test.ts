import { expect, test } from 'vitest'
import { type LoggedRequest, readLoggedRequest } from '../../../../src/log/record/logged-request.ts'
import { PreparedHead } from '../../../../src/log/record/prepared-head.ts'
import { RecordScanner } from '../../../../src/log/record/record-scanner.ts'
import { RecordWriter } from '../../../../src/log/record/record-writer.ts'
import { FRAME_HEADER_BYTES, scanFrames } from '../../../../src/log/spool/frames.ts'
import { card, categorical, numeric, plainFeature } from '../../../support/cards/cards.ts'
import { recordPayload, testModel } from '../../../support/score-log/record-payloads.ts'
import {
  type LoggedModel,
  loggedModel,
  writeRows,
} from '../../../support/score-log/score-records.ts'

const ODD_TEXTS = [
  '',
  'plain',
  'Ünïcödé 漢字 🏦',
  'with "quotes", \\backslashes\\ and\nline breaks\r\t',
  'NUL \u0000 and half a character \ud800',
  '\u2028\u2029\u007f',
  'x'.repeat(5_000),
]

const REQUEST = {
  requestId: 'req_000000000000000000000',
  keyId: 'key_1',
  reference: 'loan-7',
  key: null,
} as const
const DEPLOYMENT = { teamId: 'team_1', deploymentId: 'dep_1', cacheVersion: 12 } as const
const RESPONSE = {
  scoredAtMs: 1_795_000_000_123.5,
  bucket: 9_999,
  latencyMs: 0.042,
  isBatch: true,
  served: 1,
} as const

type Facts = Partial<typeof REQUEST | typeof RESPONSE> | { [name: string]: unknown }

/** Writes a record and reads it again. */
function roundTrip(
  models: readonly LoggedModel[],
  applicants: readonly Record<string, unknown>[],
  facts: Facts = {},
): LoggedRequest {
  const writer = new RecordWriter()
  const all = { ...REQUEST, ...RESPONSE, served: models.length - 1, ...facts }
  writer.begin(new PreparedHead(DEPLOYMENT, models), all)
  writeRows(writer, models, applicants, all)
  writer.end(all)
  return onlyRecordIn(writer, models)
}

function onlyRecordIn(writer: RecordWriter, models: readonly LoggedModel[]): LoggedRequest {
  const frames = writer.frames()
  const { payloads, end } = scanFrames(frames, frames.length)
  expect(end).toBe(frames.length)
  expect(payloads).toEqual([{ start: FRAME_HEADER_BYTES, end }])
  const compiled = new Map(models.map(({ modelId, modelScore }) => [modelId, modelScore.model]))
  return readLoggedRequest(frames.subarray(FRAME_HEADER_BYTES), compiled)
}

const spec = card([plainFeature('income')])
/** A single score's record as it is written, and as it is laid out. */
function writtenSingle(key: Uint8Array | null): { written: Buffer; laidOut: Buffer } {
  const model = loggedModel(spec, 'champion')
  const described = testModel(spec, model.modelId)
  const writer = new RecordWriter()
  const facts = { ...REQUEST, ...RESPONSE, isBatch: false, served: 0 }
  const scoreKey = key && { keyHash: key.subarray(0, 16), bodyHash: key.subarray(16) }
  writer.begin(new PreparedHead(DEPLOYMENT, [model]), { ...facts, key: scoreKey })
  writeRows(writer, [model], [{ income: 1 }], facts)
  writer.end(facts)
  const laidOut = recordPayload({
    ...DEPLOYMENT,
    ...facts,
    latencyUs: 42,
    models: [{ ...described, specSha256: Buffer.from(model.parts.specSha256).toString('hex') }],
    rows: [{ id: null, results: [described.makeResult({ income: 1 })] }],
    key,
  })
  return { written: Buffer.from(writer.frames().subarray(FRAME_HEADER_BYTES)), laidOut }
}

const readResults = ({ rows }: LoggedRequest, position: number) =>
  rows.map(({ results }) => results[position])

// Whoever reads the log must find what was answered, to the bit.
test('a record gives back its facts, and scores and probabilities to the bit', () => {
  const points = [0.1, -0.30000000000000004, 5e-324, 1.7976931348623157e308, -123456.789, 0]
  const odd = card([
    numeric(
      'n',
      points.map((p, b) => [`(${b}, ${b + 1}]`, p]),
    ),
  ])
  const models = [loggedModel(odd, 'champion'), loggedModel(spec, 'other', true)]
  const applicants = points.map((_, b) => ({ id: b, n: b + 1 }))
  const record = roundTrip(models, applicants)
  const { key: _, ...request } = REQUEST
  expect(record).toMatchObject({ ...request, ...DEPLOYMENT, ...RESPONSE })
  expect(record.rows.map(({ id }) => id)).toEqual(applicants.map(({ id }) => id))
  expect(
    record.models.map(({ modelId, role, challengerId }) => [modelId, role, challengerId]),
  ).toEqual([
    ['mod_champion', 'champion', null],
    ['mod_other', 'challenger', 'ch_other'],
  ])
  expect(readResults(record, 0).map((one) => one?.score)).toEqual(points.map((p) => 100 + p))
  for (const one of readResults(record, 0)) expect(one?.pd).toBeGreaterThanOrEqual(0)
  expect(readResults(record, 1)).toMatchObject(points.map(() => ({ score: 103, warningCount: 1 })))
})

test('facts at the ends of their ranges come back, and what lies beyond is cut to them', () => {
  const model = [loggedModel(spec, 'champion')]
  const facts = (order: Facts) => roundTrip(model, [{ income: 1 }], { served: 0, ...order })
  expect(facts({ bucket: 0, isBatch: false })).toMatchObject({ bucket: 0, isBatch: false })
  expect(facts({ bucket: null, reference: null })).toMatchObject({ bucket: null, reference: null })
  expect(facts({ reference: '~'.repeat(128) }).reference).toBe('~'.repeat(128))
  expect(facts({ latencyMs: 1e9 }).latencyMs).toBe(0xffff_ffff / 1_000)
  expect(facts({ latencyMs: -1 }).latencyMs).toBe(0)
  expect(facts({ latencyMs: 1.23456 }).latencyMs).toBe(1.235)
  expect(() => facts({ reference: 'x'.repeat(256) })).toThrow('too long')
  const many = { id: 1, ...Object.fromEntries(Array.from({ length: 70_000 }, (_, n) => [n, 0])) }
  expect(roundTrip(model, [many]).rows[0]?.results[0]?.warningCount).toBe(65_535)
})

test('record ids and grades come back as they were, whatever they hold', () => {
  const risk_grades = ODD_TEXTS.map((text, index) => ({
    // What a spec takes as a grade.
    grade: `${text}.`.replace(/[\0\ud800]/g, '').slice(0, 255),
    min_score: 101 + index,
    max_score: 101 + index,
  }))
  const bins = ODD_TEXTS.map((_, index) => [`(${index}, ${index + 1}]`, index + 1] as const)
  const graded = { ...card([numeric('n', bins)]), risk_grades }
  const ids = [...ODD_TEXTS, 12, -0.5, 1e300, null]
  const applicants = ids.map((id, index) => ({ id, n: index + 1 }))
  const record = roundTrip([loggedModel(graded, 'champion')], applicants)
  expect(record.rows.map(({ id }) => id)).toEqual(ids)
  const grades = [...risk_grades.map(({ grade }) => grade), null, null, null, null]
  expect(readResults(record, 0).map((one) => one?.grade)).toEqual(grades)
})

test('an id that is neither a text nor a finite number is null', () => {
  const ids = [undefined, true, {}, [], Number.NaN, Number.POSITIVE_INFINITY]
  const record = roundTrip(
    [loggedModel(spec, 'champion')],
    ids.map((id) => ({ id })),
  )
  expect(record.rows.map(({ id }) => id)).toEqual(ids.map(() => null))
})

// The log names bins by their index in the spec: an index that is off by one blames another value.
test('cells name bins of the spec, with those of many digits and the reasons for no bin', () => {
  const wide = numeric(
    'wide',
    Array.from({ length: 1_000 }, (_, b) => [`(${b}, ${b + 1}]`, b] as const),
  )
  const noMissing = categorical('no_missing', [['a', 1]])
  const missing = categorical('missing', [
    ['a', 1],
    ['Missing', 2],
  ])
  const features = [wide, noMissing, missing]
  const applicants = [
    { wide: 1, no_missing: 'a', missing: 'a' },
    { wide: 10, no_missing: 'b', missing: 'b' },
    { wide: 1_000 },
    { wide: 5_000 },
    { wide: 'x' },
    {},
  ]
  const cells = (record: LoggedRequest) => readResults(record, 0).map((one) => one?.cells)
  expect(cells(roundTrip([loggedModel(card(features), 'champion')], applicants))).toEqual([
    [4, 4, 4],
    [13, 0, 0],
    [1_003, 3, 3],
    [1, 3, 3],
    [2, 3, 3],
    [3, 3, 3],
  ])
  const small = loggedModel(card([noMissing, missing]), 'champion')
  expect(cells(roundTrip([small], applicants.slice(0, 3)))).toEqual([
    [4, 4],
    [0, 0],
    [3, 3],
  ])
})

test('a challenger without a result for an applicant has null in its place', () => {
  const models = [
    loggedModel(spec, 'champion'),
    loggedModel(card([plainFeature('age')]), 'challenger', true),
  ]
  const applicants = [
    { income: 1, age: true },
    { income: 1, age: 1 },
  ]
  const record = roundTrip(models, applicants, { served: 0 })
  expect(record.rows).toMatchObject([
    { results: [{ score: 102 }, null] },
    { results: [{ score: 102 }, { score: 102, cells: [5] }] },
  ])
})

// The version before reads records without a score key, and no others.
test.each([
  ['no score key', null],
  ['a score key', Uint8Array.from({ length: 24 }, (_, n) => 255 - n)],
])('a single score with %s is written as it is laid out', (_, key) => {
  const { written, laidOut } = writtenSingle(key)
  expect(written).toEqual(laidOut)
})

// 5,000 deployments that are ready to score have kept 312 MB that their cache does not count.
test('a prepared head keeps no memory but its own', () => {
  const { bytes } = new PreparedHead(DEPLOYMENT, [loggedModel(spec, 'champion')])
  expect(bytes.buffer.byteLength).toBe(bytes.length)
})

test('a record after one with a score key has none', () => {
  const models = [loggedModel(spec, 'champion')]
  const writer = new RecordWriter()
  const head = new PreparedHead(DEPLOYMENT, models)
  const key = { keyHash: new Uint8Array(16).fill(1), bodyHash: new Uint8Array(8).fill(2) }
  const keys = [key, null, key].map((one) => {
    writer.begin(head, { ...REQUEST, key: one })
    writeRows(writer, models, [{ income: 1 }], { isBatch: false })
    writer.end({ ...RESPONSE, isBatch: false, served: 0 })
    const payload = Buffer.from(writer.frames().subarray(FRAME_HEADER_BYTES))
    writer.clear()
    return new RecordScanner().scan(payload).readKey()
  })
  expect(keys).toEqual([key, null, key])
})

test('an empty batch has no rows', () => {
  expect(roundTrip([loggedModel(spec, 'champion')], []).rows).toEqual([])
})

// A batch that was refused half-way must not leave its rows in the next record.
test('a record that was begun and not ended leaves nothing', () => {
  const models = [loggedModel(spec, 'champion')]
  const writer = new RecordWriter()
  const head = new PreparedHead(DEPLOYMENT, models)
  writer.begin(head, REQUEST)
  writeRows(writer, models, [{ id: 1, income: 1 }], RESPONSE)
  writer.begin(head, REQUEST)
  writeRows(writer, models, [{ id: 2, income: 1 }], RESPONSE)
  writer.end({ ...RESPONSE, served: 0 })
  expect(onlyRecordIn(writer, models).rows.map(({ id }) => id)).toEqual([2])
})

test('records outgrow the memory of the writer and stay whole', () => {
  const models = [loggedModel(spec, 'champion')]
  const ids = Array.from({ length: 1_000 }, (_, n) => `${n}`.padStart(2_000, 'é'))
  const record = roundTrip(
    models,
    ids.map((id) => ({ id, income: 1 })),
  )
  expect(record.rows.map(({ id }) => id)).toEqual(ids)
})
