import { describe, expect, test } from 'vitest'
import {
  type Applicant,
  checkSpec,
  compileModel,
  ModelScore,
  scoreApplicant,
} from '../../../src/engine/index.ts'

const BINS = [
  { range: '(-Infinity, 5]', points: 1 },
  { range: '(5, Infinity)', points: 2 },
  { range: 'Missing', points: 4 },
]

/** Features that each have 1 point up to 5, 2 above, and 4 without a value. */
function scoreFor(...names: string[]): ModelScore {
  const features = names.map((name) => ({ name, type: 'numeric', bins: BINS }))
  const scaling = { base_score: 600, base_odds: 50, pdo: 20 }
  const card = { name: 'n', version: '1', target: 't', base_points: 0, features, scaling }
  const checked = checkSpec(card)
  if (!checked.ok) throw new Error(JSON.stringify(checked.faults))
  return new ModelScore(compileModel(checked.spec))
}

function scored(applicant: Applicant, ...names: string[]) {
  const modelScore = scoreFor(...names)
  scoreApplicant(applicant, modelScore)
  const { score, missingCount, unknownCount, invalidCount } = modelScore
  return { score, missingCount, unknownCount, invalidCount }
}

describe('an applicant is read the same', () => {
  // Every object lists keys that are numbers first, and V8 keeps them apart from the others.
  test('with keys that are numbers, features or not', () => {
    const applicant = JSON.parse('{"y": 9, "7": 9, "x": 1, "3": "a"}')
    const others = { missingCount: 0, invalidCount: 0 }
    expect(scored(applicant, 'x', 'y')).toEqual({ score: 3, unknownCount: 2, ...others })
    expect(scored(applicant, 'x', '7', 'y')).toEqual({ score: 5, unknownCount: 1, ...others })
  })

  // V8 keeps the keys of such an object in a hash table.
  test('with hundreds of other keys before, between and after the features', () => {
    const strangers = (from: number) =>
      Array.from({ length: 200 }, (_, n) => [`k${from + n}`, n % 2 === 0 ? n : `text ${n}`])
    const entries = [...strangers(0), ['y', 9], ...strangers(200), ['x', 1], ...strangers(400)]
    const applicant = JSON.parse(JSON.stringify(Object.fromEntries(entries)))
    expect(scored(applicant, 'x', 'y', 'z')).toEqual({
      score: 7,
      missingCount: 1,
      unknownCount: 600,
      invalidCount: 0,
    })
  })

  // A library that extends all objects may not change a score.
  test('whatever it inherits', () => {
    const applicant: Applicant = Object.assign(Object.create({ x: 9, stranger: true }), { y: 9 })
    const expected = { score: 6, missingCount: 1, unknownCount: 0, invalidCount: 0 }
    expect(scored(applicant, 'x', 'y')).toEqual(expected)
    expect(scored(Object.create({ x: 9 }), 'x')).toEqual({ ...expected, score: 4 })
  })
})
