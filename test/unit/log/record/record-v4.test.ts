import { expect, test } from 'vitest'
import { compileModel } from '../../../../src/engine/index.ts'
import { BlockEncoder } from '../../../../src/log/blocks/block-encoder.ts'
import { readLoggedRequest } from '../../../../src/log/record/logged-request.ts'
import { RecordScanner } from '../../../../src/log/record/record-scanner.ts'
import {
  FLAGS_AT,
  readHeadV4,
  readRecordV4,
  readRowsV4,
} from '../../../../src/log/record/record-v4.ts'
import { card, plainFeature } from '../../../support/cards/cards.ts'

const u8 = (value: number) => Buffer.from([value])
const u16 = (value: number) => Buffer.from([value & 0xff, value >> 8])
const i16 = (value: number) => u16(value & 0xffff)
const u32 = (value: number) => Buffer.concat([u16(value & 0xffff), u16(value >>> 16)])
const f64 = (value: number) => Buffer.from(new Uint8Array(Float64Array.of(value).buffer))
const text8 = (text: string) => Buffer.concat([u8(Buffer.byteLength(text)), Buffer.from(text)])

const HEAD = Buffer.concat([
  u16(1),
  text8('team_1'),
  text8('dep_1'),
  u32(3_000_000_000),
  u8(2),
  ...[text8('mod_1'), text8(''), Buffer.alloc(32, 0xab), text8(''), u16(2), u8(1)],
  ...[text8('mod_2'), text8('ch_2'), Buffer.alloc(32, 1), text8('base_1'), u16(1), u8(2)],
])
const FACTS = Buffer.concat([
  f64(1_795_000_000_123),
  u32(1_234),
  i16(9_999),
  u8(0),
  u8(1),
  u32(2),
  text8('req_1'),
  text8('key_1'),
  text8('loan-7'),
])
const result = (score: number, pd: number, grade: number, cells: Buffer) =>
  Buffer.concat([u8(1), f64(score), f64(pd), u32(grade), u16(3), cells])
const ROWS = Buffer.concat([
  ...[u8(2), u32(4), Buffer.from('é-1')],
  result(612.5, 0.25, 0, Buffer.from([4, 3])),
  result(-0.1, Number.NaN, 0xffff_ffff, u16(1_003)),
  ...[u8(1), f64(12.5), result(1, 0.5, 0xffff_ffff, Buffer.from([0, 255])), u8(0)],
])
const PAYLOAD = Buffer.concat([u8(4), u16(HEAD.length), HEAD, FACTS, ROWS])

const graded = {
  ...card([plainFeature('income')]),
  risk_grades: [{ grade: 'A', min_score: null, max_score: null }],
}
const MODELS = new Map([['mod_1', compileModel(graded as Parameters<typeof compileModel>[0])]])

// Records wait in spools over an upgrade: the next version must read exactly these bytes.
test('a record of version 4 is read as it is laid out', () => {
  const { models, rows, ...facts } = readLoggedRequest(PAYLOAD, MODELS)
  expect(facts).toEqual({
    requestId: 'req_1',
    scoredAtMs: 1_795_000_000_123,
    latencyMs: 1.234,
    teamId: 'team_1',
    deploymentId: 'dep_1',
    cacheVersion: 3_000_000_000,
    keyId: 'key_1',
    bucket: 9_999,
    reference: 'loan-7',
    isBatch: true,
    served: 0,
    engineVersion: 1,
  })
  expect(models).toEqual([
    {
      modelId: 'mod_1',
      role: 'champion',
      challengerId: null,
      specSha256: 'ab'.repeat(32),
      baselineId: null,
    },
    {
      modelId: 'mod_2',
      role: 'challenger',
      challengerId: 'ch_2',
      specSha256: '01'.repeat(32),
      baselineId: 'base_1',
    },
  ])
  expect(rows).toEqual([
    {
      id: 'é-1',
      results: [
        { score: 612.5, pd: 0.25, grade: 'A', warningCount: 3, cells: [4, 3] },
        { score: -0.1, pd: null, grade: null, warningCount: 3, cells: [1_003] },
      ],
    },
    {
      id: 12.5,
      results: [{ score: 1, pd: 0.5, grade: null, warningCount: 3, cells: [0, 255] }, null],
    },
  ])
})

test('a grade of a model that is not at hand is refused, not left out', () => {
  expect(() => readLoggedRequest(PAYLOAD, new Map())).toThrow('a grade that its model lacks')
})

function readWhole(payload: Buffer): void {
  const record = readRecordV4(payload)
  readRowsV4(record, readHeadV4(record.headBytes))
}

// A record that can't be read is set aside with the reason; what it holds stays out of the reason.
test('a record that is cut off anywhere, or too long, is refused', () => {
  for (let length = 0; length < PAYLOAD.length; length++) {
    expect(() => readWhole(PAYLOAD.subarray(0, length))).toThrow(/record/)
  }
  expect(() => readWhole(Buffer.concat([PAYLOAD, u8(0)]))).toThrow('longer than its contents')
})

const KEY = Buffer.from(Array.from({ length: 24 }, (_, n) => 200 + n))
const keyedFacts = Buffer.from(FACTS)
keyedFacts.writeUInt8(2, FLAGS_AT)
const KEYED = Buffer.concat([u8(4), u16(HEAD.length), HEAD, keyedFacts, KEY, ROWS])
const SCORE_KEY = { keyHash: KEY.subarray(0, 16), bodyHash: KEY.subarray(16) }

test('a record with a score key is read as it is laid out', () => {
  const { key, isBatch, reference, rowBytes } = readRecordV4(KEYED)
  expect(key).toEqual(SCORE_KEY)
  expect({ isBatch, reference }).toEqual({ isBatch: false, reference: 'loan-7' })
  expect(rowBytes).toEqual(ROWS)
  const scanned = new RecordScanner().scan(KEYED)
  const { keyHash = [], bodyHash = [] } = scanned.readKey() ?? {}
  expect([...keyHash, ...bodyHash]).toEqual([...KEY])
  expect(KEYED.subarray(scanned.rowsAt)).toEqual(ROWS)
  expect([readRecordV4(PAYLOAD).key, new RecordScanner().scan(PAYLOAD).readKey()]).toEqual([
    null,
    null,
  ])
})

test('a record with a score key that is cut off anywhere is refused', () => {
  for (let length = 0; length < KEYED.length; length++) {
    expect(() => readWhole(KEYED.subarray(0, length))).toThrow(/record/)
  }
  for (let length = KEYED.length - ROWS.length; length > 3; length--) {
    expect(() => new RecordScanner().scan(KEYED.subarray(0, length))).toThrow()
  }
})

// A batch has no score key, and further bits are for versions to come.
test.each([3, 4, 6, 255])('a record with the flags %d is refused', (flags) => {
  const payload = Buffer.from(KEYED)
  payload.writeUInt8(flags, 3 + HEAD.length + FLAGS_AT)
  expect(() => readRecordV4(payload)).toThrow('unknown facts')
  expect(() => new BlockEncoder(new Map()).add(payload)).toThrow('unknown facts')
})

test('a record with any byte changed is read or refused, and never runs on', () => {
  for (let at = 0; at < PAYLOAD.length; at++) {
    for (const flip of [0x01, 0x02, 0x80, 0xff]) {
      const damaged = Buffer.from(PAYLOAD)
      damaged[at] = (damaged[at] ?? 0) ^ flip
      try {
        readWhole(damaged)
      } catch (error) {
        expect((error as Error).message).toMatch(/record/)
      }
    }
  }
})

test('an empty batch has no rows, whichever model answered', () => {
  const facts = Buffer.from(FACTS)
  facts.writeUInt32LE(0, 16)
  const payload = Buffer.concat([u8(4), u16(HEAD.length), HEAD, facts])
  expect(readLoggedRequest(payload, MODELS).rows).toEqual([])
})
