import fc from 'fast-check'
import { expect, test } from 'vitest'
import { EngineError, scoreCells, scoreColumns } from '../../../src/engine/index.ts'
import { card, numeric, sampleSpec } from '../../support/cards/cards.ts'
import { testModel } from '../../support/score-log/record-payloads.ts'

const NO_GRADE = 0xffff_ffff
const MODELS = [
  testModel(sampleSpec(), 'mod_1').model,
  testModel(
    card([
      numeric('income', [
        ['(-Infinity, 0]', 0.1],
        ['(0, Infinity)', 0.2],
        ['Missing', -0.3],
      ]),
      numeric('age', [['(-Infinity, Infinity)', 1e15]]),
    ]),
    'mod_2',
  ).model,
]

// A logged score is restored from its cells: one bit less would be another decision.
test('many applicants get what each of them gets alone, to the bit', () => {
  const drawn = fc.constantFrom(...MODELS).chain((model) =>
    fc.tuple(
      fc.constant(model),
      fc.array(
        fc.array(fc.nat(9), {
          minLength: model.features.length,
          maxLength: model.features.length,
        }),
        { maxLength: 20 },
      ),
    ),
  )
  fc.assert(
    fc.property(drawn, ([model, applicants]) => {
      const columns = model.features.map((_, feature) =>
        Uint8Array.from(applicants, (cells) => cells[feature] ?? 0),
      )
      const into = {
        scores: new Float64Array(applicants.length).fill(7),
        pds: new Float64Array(applicants.length).fill(7),
        grades: new Uint32Array(applicants.length).fill(7),
      }
      scoreColumns(model, columns, into)
      const alone = applicants.map((cells) => {
        try {
          const { score, pd, gradeIndex } = scoreCells(model, cells)
          return [score, pd, gradeIndex < 0 ? NO_GRADE : gradeIndex]
        } catch (error) {
          expect(error).toBeInstanceOf(EngineError)
          return [0, 0, 0]
        }
      })
      const found = applicants.map((_, at) => [into.scores[at], into.pds[at], into.grades[at]])
      expect(found).toEqual(alone)
    }),
  )
})

test('columns of another model give nothing', () => {
  const [model] = MODELS
  const into = {
    scores: Float64Array.of(7),
    pds: Float64Array.of(7),
    grades: Uint32Array.of(7),
  }
  if (model !== undefined) scoreColumns(model, [], into)
  expect([into.scores[0], into.pds[0], into.grades[0]]).toEqual([0, 0, 0])
})
