import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type CompiledModel,
  checkSpec,
  compileModel,
  findCellBin,
  findCellPoints,
  ModelScore,
  readCellOutcome,
  scoreApplicant,
  scoreCells,
  toCellModel,
} from '../../../src/engine/index.ts'
import { card, categorical, numeric } from '../../support/cards/cards.ts'
import { applicantFor, validSpec } from '../../support/cards/spec-arbitraries.ts'
import { evaluateNaively } from '../../support/naive/naive-evaluator.ts'

const SPECS = 300
const APPLICANTS_PER_SPEC = 10

function findModel(spec: unknown): CompiledModel {
  const checked = checkSpec(spec)
  if (!checked.ok) throw new Error(JSON.stringify(checked.faults))
  return compileModel(checked.spec)
}

const cases = validSpec().chain((spec) =>
  fc.record({
    spec: fc.constant(spec),
    applicants: fc.array(applicantFor(spec), { maxLength: APPLICANTS_PER_SPEC, size: 'max' }),
  }),
)

/** What each cell says, in words of the decisions. */
const OUTCOMES = ['unseen_category', 'no_bin', 'not_a_number', 'missing'] as const

// Whoever reads the log years later has the cells and the spec, and must get what was answered.
test('score, probability, grade, points and bins follow from cells and spec to the bit', () => {
  fc.assert(
    fc.property(cases, ({ spec, applicants }) => {
      const model = findModel(spec)
      for (const applicant of applicants) {
        const naive = evaluateNaively(spec, applicant)
        if (naive.invalid.length > 0) continue
        const { score, pd, grade, gradeIndex } = scoreCells(model, naive.cells)
        expect([score, pd, grade]).toStrictEqual([naive.score, naive.pd, naive.riskGrade])
        const ofCopy = scoreCells(toCellModel(model), naive.cells)
        expect(ofCopy).toStrictEqual({ score, pd, grade, gradeIndex })
        expect(model.grades.names[gradeIndex] ?? null).toBe(naive.riskGrade)
        for (const [feature, cell] of naive.cells.entries()) {
          expect(findCellPoints(model, feature, cell)).toBe(naive.contributions[feature]?.[1])
          expect(findCellBin(model, feature, cell) ?? -1).toBe(naive.bins[feature])
          expect(readCellOutcome(cell)).toBe(OUTCOMES[cell] ?? 'matched')
        }
      }
    }),
    { numRuns: SPECS },
  )
})

const spec = card([
  numeric('age', [
    ['(50, 90]', 3],
    ['Missing', -1],
    ['(0, 40]', 2],
  ]),
  categorical('purpose', [
    ['car', 5],
    ['Missing', -7],
  ]),
  categorical('home', [['own%,%rent', 1]]),
  numeric('only_missing', [['Missing', 4]]),
])

describe('the cell of a value', () => {
  const model = findModel(spec)
  const modelScore = new ModelScore(model)

  test.each([
    [{ age: 51, purpose: 'car', home: 'rent' }, [4, 4, 4, 3]],
    [{ age: 1 }, [6, 3, 3, 3]],
    [{ age: 45, purpose: 'boat', home: 7, only_missing: 1 }, [1, 0, 0, 1]],
    [{ age: '51', purpose: null, home: '', only_missing: 'x' }, [2, 3, 0, 2]],
    // Text of the Missing bin: as a category it takes that bin, as a number it is a text.
    [{ age: 'Missing', purpose: 'Missing', home: 'Missing' }, [2, 3, 0, 3]],
  ])('%j', (applicant, cells) => {
    scoreApplicant(applicant, modelScore)
    const found = Array.from(modelScore.slots, (slot) => model.cellOfSlot[slot])
    expect(found).toEqual(cells)
    expect(scoreCells(model, cells).score).toBe(modelScore.score)
  })

  test('that no value of its feature can have is refused', () => {
    const good = [4, 4, 4, 3]
    const bad = [
      [0, -1],
      [0, 0],
      [0, 5],
      [0, 7],
      [0, Number.NaN],
      [0, 4.5],
      [1, -1],
      [1, 1],
      [1, 2],
      [1, 5],
      [2, 5],
      [3, 4],
    ] as const
    for (const [feature, cell] of bad) {
      expect(() => findCellPoints(model, feature, cell), `${feature} ${cell}`).toThrow('cell')
      expect(() => findCellBin(model, feature, cell)).toThrow('cell')
      expect(() => scoreCells(model, good.with(feature, cell))).toThrow('cell')
    }
    expect(() => findCellPoints(model, 4, 3)).toThrow('cell')
    expect(() => scoreCells(model, [...good, 3])).toThrow('cells')
    expect(() => scoreCells(model, good.slice(1))).toThrow('cells')
    expect(scoreCells(model, good).score).toBe(100 + 3 + 5 + 1 + 4)
  })
})

test('cells take one byte up to 252 bins, and two beyond', () => {
  const bins = (count: number) =>
    Array.from({ length: count }, (_, n) => [`(${n}, ${n + 1}]`, n] as const)
  const small = findModel(card([numeric('x', bins(252))]))
  const large = findModel(card([numeric('y', bins(1)), numeric('x', bins(253))]))
  expect([small.bytesPerCell, Math.max(...small.cellOfSlot)]).toEqual([1, 255])
  expect([large.bytesPerCell, Math.max(...large.cellOfSlot)]).toEqual([2, 256])
})
