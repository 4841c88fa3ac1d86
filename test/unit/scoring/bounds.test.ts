import fc from 'fast-check'
import { expect, test } from 'vitest'
import { PreparedHead } from '../../../src/log/record/prepared-head.ts'
import { RecordBytes } from '../../../src/log/record/record-writer.ts'
import { PAYLOAD_BYTES_MAX } from '../../../src/log/spool/frames.ts'
import { card, categorical, numeric } from '../../support/cards/cards.ts'
import { MemoryScoreLog } from '../../support/score-log/memory-score-log.ts'
import { loggedModel, logRequest } from '../../support/score-log/score-records.ts'
import { SpecScoring } from '../../support/start/spec-scoring.ts'

const wide = (features: number) =>
  card(Array.from({ length: features }, (_, n) => numeric(`f${n}`, [['(-Infinity, Infinity)', 1]])))
const copies = <T>(count: number, one: T): T[] => Array.from({ length: count }, () => one)

// 3 KB of `{}` once made a record of 306 MB, which no database takes: the answers were never in the
// log.
test('a batch whose record would exceed 32 MiB is refused, and told how many records fit', async () => {
  const served = new SpecScoring(...copies(40, wide(1_000)))
  const refusal = await served.scoreBatch(copies(1_000, {})).catch((error: unknown) => error)
  expect(refusal).toMatchObject({ code: 'payload_too_large' })
  const { message } = refusal as Error
  expect(message).toMatch(
    /\d+ MiB in the score log, above the limit of 32 MiB; send at most \d+ records/,
  )
  expect(served.log.records).toEqual([])

  const fitting = Number(/at most (\d+) records/.exec(message)?.[1])
  expect(await served.scoreBatch(copies(fitting, {}))).toMatchObject({ total: fitting })
  const logged = served.log.records[0]?.payload.length ?? 0
  expect(logged).toBeLessThanOrEqual(PAYLOAD_BYTES_MAX)
  // A bound must not refuse what would fit: most of it is used.
  expect(logged).toBeGreaterThan(PAYLOAD_BYTES_MAX / 2)
})

test('a large card without challengers takes a whole batch, with ids of any usual length', async () => {
  const served = new SpecScoring(wide(1_000))
  const records = Array.from({ length: 1_000 }, (_, n) => ({ id: `${n}`.padStart(2_000, 'é') }))
  expect(await served.scoreBatch(records)).toMatchObject({ total: 1_000 })
})

test('record ids count with the bytes that they take in the log', async () => {
  const served = new SpecScoring(wide(1))
  for (const char of ['é', '\ud800']) {
    const records = copies(2, { id: char.repeat(9_000_000) })
    await expect(served.scoreBatch(records)).rejects.toMatchObject({ code: 'payload_too_large' })
  }
  expect(await served.scoreBatch(copies(2, { id: 'a'.repeat(9_000_000) }))).toMatchObject({
    total: 2,
  })
})

// Grades were unbounded once; a spread over them threw for each score of such a card.
test('a stored card with more grades than a new one may have goes on answering', async () => {
  const risk_grades = Array.from({ length: 150_000 }, (_, n) => ({
    grade: `g${n}`,
    min_score: n,
    max_score: n + 0.5,
  }))
  const served = new SpecScoring({ ...wide(1), risk_grades })
  expect(await served.score({ f0: 1 })).toMatchObject({ score: 101, risk_grade: 'g101' })
  expect(await served.scoreBatch([{ f0: 1 }])).toMatchObject({ total: 1 })
})

const name = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 12 })
  .filter((text) => text.trim() !== '')
const feature = fc.tuple(fc.boolean(), fc.integer({ min: 1, max: 130 }))
const model = fc.record({
  features: fc.array(feature, { minLength: 1, maxLength: 12 }),
  grade: name,
  points: fc.double({ noNaN: true, min: -1e300, max: 1e300 }),
})
const id = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 150 }),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.constant(null),
)

function readSpec({
  features,
  grade,
  points,
}: typeof model extends fc.Arbitrary<infer M> ? M : never) {
  const built = features.map(([isNumeric, bins], index) =>
    isNumeric
      ? numeric(
          `f${index}`,
          Array.from(
            { length: bins },
            (_, n) => [`(${n}, ${n + 1}]`, n === 0 ? points : n] as const,
          ),
        )
      : categorical(
          `f${index}`,
          Array.from({ length: bins }, (_, n) => [`c${n}`, n / 3] as const),
        ),
  )
  return card(built, { risk_grades: [{ grade, min_score: null, max_score: null }] })
}

test('the bound of a record is never below what the record takes', async () => {
  const value = fc.oneof(
    fc.integer({ min: -1, max: 131 }),
    fc.integer({ max: 130 }).map((n) => `c${n}`),
  )
  const applicant = fc.tuple(id, fc.array(value, { maxLength: 12 }))
  const applicants = fc.array(applicant, { maxLength: 20 })
  const cards = fc.array(model, { minLength: 1, maxLength: 4 })
  await fc.assert(
    fc.asyncProperty(cards, applicants, async (specs, asked) => {
      const models = specs.map((one, index) => loggedModel(readSpec(one), `${index}`, index > 0))
      const facts = { teamId: 'team_1', deploymentId: 'dep_1', cacheVersion: 3 }
      const parts = models.map((one) => one.parts)
      const bytes = new RecordBytes(new PreparedHead(facts, models), parts)
      const records = asked.map(([recordId, values]) => ({
        id: recordId,
        ...Object.fromEntries(values.map((one, index) => [`f${index}`, one])),
      }))
      const log = new MemoryScoreLog()
      await logRequest(log, models, records, { requestId: 'req_1', isBatch: true })
      const took = log.records[0]?.payload.length ?? Number.NaN
      expect(took).toBeLessThanOrEqual(bytes.ofBatch(records.map((one) => one.id)))
      const [first] = records
      if (first === undefined) return
      const key = { keyHash: new Uint8Array(16), bodyHash: new Uint8Array(8) }
      await logRequest(log, models, [first], { requestId: 'req_2', key })
      expect(log.records[1]?.payload.length).toBeLessThanOrEqual(bytes.single)
    }),
    { numRuns: 300 },
  )
})

// The ids are nearly all of the record: the room that is spared elsewhere hides no byte too few.
test.each([
  ['of short UTF-8', 'a', 1_000],
  ['of long UTF-8', '€', 1_000],
  ['of few characters', '€', 100],
  ['with half a character', '\ud800', 1_000],
])('record ids %s are bounded by the bytes that they take', async (_, char, length) => {
  const models = [loggedModel(wide(1), 'narrow')]
  const head = new PreparedHead(
    { teamId: 'team_1', deploymentId: 'dep_1', cacheVersion: 3 },
    models,
  )
  const bytes = new RecordBytes(
    head,
    models.map(({ parts }) => parts),
  )
  const ids = copies(100, char.repeat(length))
  const log = new MemoryScoreLog()
  const records = ids.map((one) => ({ id: one }))
  await logRequest(log, models, records, { requestId: 'req_1', isBatch: true })
  const took = log.records[0]?.payload.length ?? Number.NaN
  const bound = bytes.ofBatch(ids)
  expect(took).toBeLessThanOrEqual(bound)
  expect(bound).toBeLessThan(1.2 * took)
})

// On a wide card the cells are nearly all of a record: room to spare elsewhere hides no byte too
// few.
test.each([1, 252, 253, 1_000])(
  'features of %d bins are bounded by the bytes of their cells',
  async (bins) => {
    // As many as the bound on all bins of a card leaves.
    const features = Math.min(300, Math.floor(20_000 / bins))
    const names = Array.from({ length: features }, (_, n) => `f${n}`)
    const pairs = Array.from({ length: bins }, (_, n) => [`c${n}`, 1] as const)
    const models = [loggedModel(card(names.map((one) => categorical(one, pairs))), 'wide')]
    const facts = { teamId: 'team_1', deploymentId: 'dep_1', cacheVersion: 3 }
    const head = new PreparedHead(facts, models)
    const bytes = new RecordBytes(
      head,
      models.map(({ parts }) => parts),
    )
    const log = new MemoryScoreLog()
    const all = (value: string) => Object.fromEntries(names.map((one) => [one, value]))
    const records = Array.from({ length: 20 }, () => all(`c${bins - 1}`))
    await logRequest(log, models, [...records, ...records.map(() => ({}))], {
      requestId: 'req_1',
      isBatch: true,
    })
    const took = log.records[0]?.payload.length ?? Number.NaN
    const bound = bytes.ofBatch(Array.from({ length: 40 }, () => null))
    expect(took).toBeLessThanOrEqual(bound)
    expect(bound).toBeLessThan(2 * took)
  },
)
