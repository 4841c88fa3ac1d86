import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readLoggedRequest } from '../../../../src/score-log/record/logged-request.ts'
import {
  FIELD_SEPARATOR,
  RECORD_FIELDS,
  RECORD_VERSION,
  readRecordV3,
} from '../../../../src/score-log/record/record-v3.ts'
import { scanFrames } from '../../../../src/score-log/spool/frames.ts'
import { scoreRecord } from '../../../support/score-log/records.ts'

const ORDER = {
  requestId: 'req_1',
  scoredAtMs: 1_795_000_000_123,
  keyId: 'key_1',
  bucket: 17,
  latencyMs: 0.042,
  isBatch: true,
  served: 1,
  cacheVersion: 12,
  deploymentId: 'dep_1',
}

// Spools and rows of the version before stay readable until their retention ends.
test('a record of version 3 is read as a request, to the bit', () => {
  const { payload } = scoreRecord({
    ...ORDER,
    grade: 'B "ü"',
    recordIds: ['a "quoted" \\ \u0000 \ud800 Ü', -0.5],
    scores: [
      [650.1, 480],
      [0.30000000000000004, 600],
    ],
  })
  const { models, rows, ...facts } = readLoggedRequest(payload, new Map())
  expect(facts).toEqual({ ...ORDER, teamId: 'team_1', reference: null, engineVersion: null })
  const unknown = { specSha256: null, baselineId: null }
  expect(models).toEqual([
    { modelId: 'mod_0', role: 'champion', challengerId: null, ...unknown },
    { modelId: 'mod_1', role: 'challenger', challengerId: null, ...unknown },
  ])
  expect(rows).toMatchObject([
    {
      id: 'a "quoted" \\ \u0000 \ud800 Ü',
      results: [
        { score: 650.1, grade: 'B "ü"' },
        { score: 0.30000000000000004, grade: null },
      ],
    },
    {
      id: -0.5,
      results: [
        { score: 480, grade: null },
        { score: 600, grade: 'B "ü"' },
      ],
    },
  ])
  // Bin 650 mod 8, and 4 more for the cell.
  expect(rows[0]?.results[0]?.cells.slice(0, 3)).toEqual([6, 7, 8])
})

const FIXTURES = join(import.meta.dirname, '../../../fixtures/score-log')

// Written by the version before: no writer of today can hide a fault of the reader.
test('a spool of the version before is read as that version read it', () => {
  const bytes = readFileSync(join(FIXTURES, 'records-v3.bin'))
  const expected = JSON.parse(readFileSync(join(FIXTURES, 'records-v3.json'), 'utf8'))
  const { payloads, end } = scanFrames(bytes, bytes.length)
  expect(end).toBe(bytes.length)
  const found = payloads.map((range) => bytes.subarray(range.start, range.end))
  expect(found.map((payload) => readRecordV3(payload))).toMatchObject(expected)
  const requests = found.map((payload) => readLoggedRequest(payload, new Map()))
  expect(requests.map(({ rows }) => rows.length)).toEqual([1, 1, 3, 1, 0])
  expect(requests[2]?.rows.map(({ id }) => id)).toEqual(expected[2].recordIds)
  // The age of the second record was true, which the challenger does not take.
  expect(requests[2]?.rows[1]?.results[1]).toBeNull()
})

test('a record of version 3 can be read again from its payload', () => {
  const record = scoreRecord({ recordIds: ['\\"'], isBatch: true })
  expect(readRecordV3(record.payload)).toEqual(record)
})

test('a payload that is not a record is refused without being quoted', () => {
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
    const read = () => readRecordV3(Buffer.from(payload))
    expect(read).toThrow()
    expect(read).not.toThrow(/secret/)
  }
})
