import { expect, test } from 'vitest'
import { FRAME_HEADER_BYTES, scanFrames } from '../../../src/scorelog/frames.ts'
import {
  FIELD_SEPARATOR,
  RECORD_FIELDS,
  RECORD_VERSION,
  readRecord,
  type ScoreRecord,
} from '../../../src/scorelog/record.ts'
import { DeploymentTexts } from '../../../src/scorelog/record-texts.ts'
import { RecordWriter } from '../../../src/scorelog/writer.ts'
import { card, categorical, numeric, plainFeature } from '../../support/cards.ts'
import { type LoggedModel, loggedModel, writeRows } from '../../support/score-records.ts'

const ODD_TEXTS = [
  '',
  'plain',
  'Ünïcödé 漢字 🏦',
  'with "quotes", \\backslashes\\ and\nline breaks\r\t',
  'NUL \u0000 and half a character \ud800',
  '\u2028\u2029\u007f',
  'x'.repeat(5_000),
]

const FACTS = {
  requestId: 'req_000000000000000000000',
  scoredAtMs: 1_795_000_000_123,
  teamId: 'team_1',
  deploymentId: 'dep_1',
  keyId: 'key_1',
  cacheVersion: 12,
  bucket: 9_999,
  latencyMs: 0.042,
  isBatch: true,
  served: 1,
} as const

/** Writes a record and reads it again. */
function roundTrip(
  models: readonly LoggedModel[],
  applicants: readonly Record<string, unknown>[],
  facts: typeof FACTS | (Omit<typeof FACTS, 'isBatch'> & { isBatch: false }) = FACTS,
): ScoreRecord {
  const writer = new RecordWriter()
  const texts = new DeploymentTexts(facts, models)
  writer.begin(texts.head)
  const served = writeRows(writer, models, applicants, facts)
  writer.end(texts.facts(facts, served))
  const frames = writer.frames()
  const { payloads, end } = scanFrames(frames, frames.length)
  expect(end).toBe(frames.length)
  expect(payloads).toEqual([{ start: FRAME_HEADER_BYTES, end }])
  return readRecord(frames.subarray(FRAME_HEADER_BYTES))
}

const spec = card([plainFeature('income')])

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
  expect(record).toMatchObject(FACTS)
  expect(record.recordIds).toEqual(applicants.map(({ id }) => id))
  expect(
    record.models.map(({ modelId, role, challengerId }) => [modelId, role, challengerId]),
  ).toEqual([
    ['mod_champion', 'champion', null],
    ['mod_other', 'challenger', 'ch_other'],
  ])
  expect(record.models[0]?.scores).toEqual(points.map((p) => 100 + p))
  for (const pd of record.models[0]?.pds ?? []) expect(pd).toBeGreaterThanOrEqual(0)
  expect(record.models[1]?.scores).toEqual(points.map(() => 103))
  expect(record.models[1]?.warningCounts).toEqual(points.map(() => 1))
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
  expect(record.recordIds).toEqual(ids)
  const grades = [...risk_grades.map(({ grade }) => grade), null, null, null, null]
  expect(record.models[0]?.grades).toEqual(grades)
})

// The log names bins by their index: an index that is off by one blames another value.
test('bins are indexes in the spec, with those of many digits and those that nothing matched', () => {
  const wide = numeric(
    'wide',
    Array.from({ length: 1_000 }, (_, b) => [`(${b}, ${b + 1}]`, b] as const),
  )
  const noMissing = categorical('no_missing', [['a', 1]])
  const missing = categorical('missing', [
    ['a', 1],
    ['Missing', 2],
  ])
  const model = loggedModel(card([wide, noMissing, missing]), 'champion')
  const applicants = [
    { wide: 1, no_missing: 'a', missing: 'a' },
    { wide: 10, no_missing: 'b', missing: 'b' },
    { wide: 11 },
    { wide: 101 },
    { wide: 1_000 },
    { wide: 5_000 },
  ]
  const { models, recordIds } = roundTrip([model], applicants)
  expect(models[0]?.bins).toEqual([
    [0, 0, 0],
    [9, -1, 1],
    [10, -1, 1],
    [100, -1, 1],
    [999, -1, 1],
    [-1, -1, 1],
  ])
  expect(recordIds).toEqual(applicants.map(() => null))
})

test('a challenger without a result for an applicant has nulls in its place', () => {
  const models = [
    loggedModel(spec, 'champion'),
    loggedModel(card([plainFeature('age')]), 'challenger', true),
  ]
  const { models: read } = roundTrip(models, [
    { income: 1, age: true },
    { income: 1, age: 1 },
  ])
  expect(read[0]?.scores).toEqual([102, 102])
  expect(read[1]).toMatchObject({ scores: [null, 102], grades: [null, null], bins: [[], [1]] })
  expect(read[1]?.pds[0]).toBeNull()
})

test('a single request has no record ids, an empty batch none either', () => {
  const models = [loggedModel(spec, 'champion')]
  const single = roundTrip(models, [{ income: 1 }], { ...FACTS, isBatch: false })
  expect(single.recordIds).toBeNull()
  const empty = roundTrip(models, [])
  expect(empty.recordIds).toEqual([])
  expect(empty.models[0]?.scores).toEqual([])
})

test('a record can be written again as it was read', () => {
  const record = roundTrip([loggedModel(spec, 'champion')], [{ id: '\\"', income: 1 }])
  expect(readRecord(record.payload)).toEqual(record)
})

// A batch that was refused half-way must not leave its rows in the next record.
test('a record that was begun and not ended leaves nothing', () => {
  const models = [loggedModel(spec, 'champion')]
  const writer = new RecordWriter()
  const texts = new DeploymentTexts(FACTS, models)
  writer.begin(texts.head)
  writeRows(writer, models, [{ id: 1, income: 1 }], FACTS)
  writer.begin(texts.head)
  const served = writeRows(writer, models, [{ id: 2, income: 1 }], FACTS)
  writer.end(texts.facts(FACTS, served))
  const frames = writer.frames()
  const { payloads } = scanFrames(frames, frames.length)
  expect(payloads).toHaveLength(1)
  expect(readRecord(frames.subarray(FRAME_HEADER_BYTES)).recordIds).toEqual([2])
})

// A spool that was not empty when the service was upgraded holds answered requests.
test('a record of version 2 is read as if it had been written now', () => {
  const record = roundTrip(
    [loggedModel(spec, 'champion'), loggedModel(spec, 'other', true)],
    [{ id: 'Ü \\n', income: 1 }],
  )
  const facts = {
    ...{ f: 2, i: record.requestId, a: record.scoredAtMs, t: record.teamId },
    ...{ d: record.deploymentId, k: record.keyId, v: record.cacheVersion, b: record.bucket },
    ...{ l: record.latencyMs, m: record.isBatch, w: record.served, n: record.modelCount },
    ...{ s: record.servedModelId, c: record.servedScores, p: record.servedPds },
  }
  const fields = record.payload.toString().split(FIELD_SEPARATOR)
  const old = (more: object) =>
    Buffer.from(`${fields[0]}\n${JSON.stringify({ ...facts, ...more })}\n${fields.at(-2)}`)
  expect(readRecord(old({})).payload.toString()).toBe(record.payload.toString())
  expect(readRecord(old({ b: null })).bucket).toBe(null)
  expect(() => readRecord(old({ f: 1 }))).toThrow('this is no record')
})

test('what is no record is refused without being quoted', () => {
  const fields = RECORD_FIELDS.map(() => 'secret').with(-1, RECORD_VERSION)
  for (const payload of [
    '',
    'secret',
    ['{}', 'secret'].join(FIELD_SEPARATOR),
    fields.slice(1).join(FIELD_SEPARATOR),
    [...fields, 'secret'].join(FIELD_SEPARATOR),
    fields.with(-1, '2').join(FIELD_SEPARATOR),
    // Would be two lines of the text that the database takes apart.
    fields.with(2, 'secret\nsecret').join(FIELD_SEPARATOR),
  ]) {
    const read = () => readRecord(Buffer.from(payload))
    expect(read).toThrow()
    expect(read).not.toThrow(/secret/)
  }
})
