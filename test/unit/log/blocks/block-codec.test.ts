import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { CompiledModel } from '../../../../src/engine/index.ts'
import { openBlock } from '../../../../src/log/blocks/block-decoder.ts'
import { BlockEncoder } from '../../../../src/log/blocks/block-encoder.ts'
import { readSums } from '../../../../src/log/blocks/block-sums.ts'
import { type LoggedRequest, readLoggedRequest } from '../../../../src/log/record/logged-request.ts'
import { card, plainFeature, sampleApplicants, sampleSpec } from '../../../support/cards/cards.ts'
import {
  type PayloadModel,
  type PayloadOrder,
  recordPayload,
  testModel,
} from '../../../support/score-log/record-payloads.ts'

const CHAMPION = testModel(sampleSpec(), 'mod_1')
const CHALLENGER = testModel(card([plainFeature('age_in_years')]), 'mod_2', 'ch_2')
const APPLICANTS = sampleApplicants().map(({ applicant }) => applicant)
const KNOWN = new Map<string, CompiledModel>([
  ['mod_1', CHAMPION.model],
  ['mod_2', CHALLENGER.model],
])
const HOUR_MS = 1_795_003_200_000

function encoded(payloads: readonly Buffer[], models = KNOWN) {
  const encoder = new BlockEncoder(models)
  for (const payload of payloads) encoder.add(payload)
  const block = encoder.encode()
  if (block === null) throw new Error('nothing was encoded')
  return block
}

function restored(payloads: readonly Buffer[], models = KNOWN): Buffer[] {
  const block = openBlock(encoded(payloads, models))
  return Array.from({ length: block.count }, (_, index) => block.payload(index, models))
}

/** A single score of a sample applicant. */
function single(applicant: number, order: Partial<PayloadOrder> = {}): Buffer {
  const results = [CHAMPION.makeResult(APPLICANTS[applicant % APPLICANTS.length] ?? {})]
  return recordPayload({ models: [CHAMPION], rows: [{ id: null, results }], ...order })
}

const double = fc.oneof(
  fc.double(),
  fc.constantFrom(0, -0, 612.5, Number.MAX_VALUE, 5e-324, Number.NaN, 2 ** 53, -(2 ** 53)),
)
const makeResult = (features: number, cellMax: number) =>
  fc.record({
    score: double,
    pd: double,
    grade: fc.constantFrom(0, 1, 0xffff_ffff),
    warnings: fc.constantFrom(0, 3, 0xffff),
    cells: fc.array(fc.nat(cellMax), { minLength: features, maxLength: features }),
  })
const text = (max: number) => fc.string({ minLength: 1, maxLength: max })
const record = fc
  .record({
    models: fc.constantFrom<PayloadModel[]>(
      [CHAMPION],
      [CHAMPION, CHALLENGER],
      [{ modelId: 'mod_9', challengerId: null, features: 3, bytesPerCell: 2 as const }],
    ),
    teamId: fc.constantFrom('team_1', 'team_2'),
    deploymentId: fc.constantFrom('dep_1', 'dep_2'),
    scoredAtMs: fc.oneof(
      fc.nat(3_599_999).map((ms) => HOUR_MS + ms),
      fc.constant(HOUR_MS + 0.25),
    ),
    latencyUs: fc.oneof(fc.nat(1_000), fc.nat(0xffff_ffff)),
    bucket: fc.constantFrom(-1, 0, 9_999, 32_767),
    isBatch: fc.boolean(),
    keyId: fc.constantFrom('key_1', 'key_2', 'kéy'),
    reference: fc.oneof(fc.constant(''), text(40)),
    size: fc.nat(4),
  })
  .chain(({ models, size, ...facts }) =>
    fc.record({
      ...Object.fromEntries(
        Object.entries(facts).map(([name, value]) => [name, fc.constant(value)]),
      ),
      models: fc.constant(models),
      served: fc.constant(0),
      requestId: fc.oneof(
        { weight: 3, arbitrary: fc.constant(undefined) },
        { weight: 1, arbitrary: text(40) },
      ),
      rows: fc.array(
        fc.record({
          id: fc.oneof(fc.constant(null), double, fc.nat(9_999), fc.string({ unit: 'binary' })),
          results: fc.tuple(
            ...models.map((model, place) => {
              const some = makeResult(model.features, model.bytesPerCell === 1 ? 255 : 65_535)
              return place === 0 ? some : fc.option(some)
            }),
          ),
        }),
        { minLength: size, maxLength: size },
      ),
    }),
  )
  .map((order) => recordPayload(order as unknown as PayloadOrder))

describe('a block', () => {
  test('restores each record to the byte, whatever its fields hold', () => {
    fc.assert(
      fc.property(fc.array(record, { minLength: 1, maxLength: 12 }), (payloads) => {
        expect(restored(payloads)).toEqual(payloads)
      }),
      { numRuns: 100 },
    )
  })

  // Readers find a request by its id; the key has a table of its own.
  test('holds a request with a score key as it holds one without', () => {
    const order = { requestId: 'req_1', scoredAtMs: HOUR_MS, reference: 'loan-7' }
    const keyed = single(0, { ...order, key: new Uint8Array(24).fill(9) })
    expect(restored([keyed, single(1)])).toEqual([single(0, order), expect.anything()])
    expect(encoded([keyed])).toEqual(encoded([single(0, order)]))
  })

  // Two ways to the same request: readers take the columns, erasures and merges the record.
  test('reads a request from its columns as from its restored record', () => {
    const outcome = (read: () => LoggedRequest) => {
      try {
        return JSON.stringify(read())
      } catch (error) {
        return (error as Error).message
      }
    }
    fc.assert(
      fc.property(fc.array(record, { minLength: 1, maxLength: 12 }), (payloads) => {
        const block = openBlock(encoded(payloads))
        for (const [index, payload] of payloads.entries()) {
          expect(outcome(() => block.request(index, KNOWN))).toEqual(
            outcome(() => readLoggedRequest(payload, KNOWN)),
          )
        }
      }),
      { numRuns: 100 },
    )
  })

  test('restores the scores of a scorecard, which it does not store', () => {
    const payloads = APPLICANTS.slice(0, 200).map((_, index) => single(index))
    expect(restored(payloads)).toEqual(payloads)
    // 8 bytes of a score and 8 of a probability would be 16.
    expect(encoded(payloads).data.length / payloads.length).toBeLessThan(30)
  })

  test('stores the results of a model that it does not know', () => {
    const payloads = [single(1), single(2)]
    expect(restored(payloads, new Map())).toEqual(payloads)
  })

  test('stores a result that differs from its model in the last bit', () => {
    const result = CHAMPION.makeResult(APPLICANTS[0] ?? {})
    if (result === null) throw new Error('the applicant is not valid')
    const rows = [{ id: null, results: [{ ...result, score: result.score + 2 ** -43 }] }]
    const payloads = [single(0), recordPayload({ models: [CHAMPION], rows })]
    expect(restored(payloads)).toEqual(payloads)
  })

  test('does not restore scores from another model than that which gave them', () => {
    const block = openBlock(encoded([single(0)]))
    const points = CHAMPION.model.points.map((point) => point + 1)
    const other = new Map([['mod_1', { ...CHAMPION.model, points }]])
    expect(() => block.payload(0, other)).toThrow('do not follow from their model')
    expect(() => block.payload(0, new Map())).toThrow('is not in the database')
  })

  test('finds a request by its id, and its facts without a model', () => {
    const requestId = 'req_0VlnpQ2Kabcdefghij1234'
    const facts = { requestId, scoredAtMs: HOUR_MS, reference: 'loan-7', teamId: 'team_7' }
    const block = openBlock(encoded([single(0), single(1, facts), single(2)]))
    const index = block.find(requestId)
    expect(index).toBe(1)
    expect(block.find('req_0VlnpQ2Kabcdefghij1235')).toBe(-1)
    expect(block.reference(index)).toBe('loan-7')
    expect(block.reference(0)).toBe(null)
    expect(block.teamId(index)).toBe('team_7')
    expect(block.scoredAtMs(index)).toBe(HOUR_MS)
  })

  test('sums up what its requests served, by deployment and minute', () => {
    const at = (scoredAtMs: number, deploymentId: string) => single(0, { scoredAtMs, deploymentId })
    const block = encoded([
      at(HOUR_MS, 'dep_1'),
      at(HOUR_MS + 59_999, 'dep_1'),
      at(HOUR_MS + 60_000, 'dep_1'),
      at(HOUR_MS, 'dep_2'),
    ])
    const sums = readSums(block.sums).map(({ deploymentId, startsAtMs, rollup }) => [
      deploymentId,
      (startsAtMs - HOUR_MS) / 60_000,
      rollup.requestCount,
    ])
    expect(sums).toEqual([
      ['dep_1', 0, 2],
      ['dep_1', 1, 1],
      ['dep_2', 0, 1],
    ])
    expect(block.records).toBe(4)
    expect([block.firstAtMs, block.lastAtMs]).toEqual([HOUR_MS, HOUR_MS + 60_000])
  })

  // Some bits of a zstd frame mean nothing.
  test('gives nothing but its records once one of its bits has changed', () => {
    const payloads = [single(0), single(1)]
    const block = encoded(payloads)
    let refused = 0
    for (let at = 0; at < block.data.length; at++) {
      const data = Buffer.from(block.data)
      data[at] = (data[at] ?? 0) ^ 1
      try {
        expect(openBlock({ ...block, data }).payload(1, KNOWN)).toEqual(payloads[1])
      } catch (error) {
        if (!(error instanceof RangeError)) throw error
        refused++
      }
    }
    expect(refused).toBeGreaterThan(block.data.length - 10)
  })
})

describe('a record that is not whole', () => {
  test('is refused at each length', () => {
    const payload = single(0)
    for (let end = 0; end < payload.length; end++) {
      expect(() => new BlockEncoder(KNOWN).add(payload.subarray(0, end))).toThrow()
    }
    const longer = Buffer.concat([payload, Buffer.from([0])])
    expect(() => new BlockEncoder(KNOWN).add(longer)).toThrow('longer than its contents')
  })
})
