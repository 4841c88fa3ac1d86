import fc from 'fast-check'
import { expect, test } from 'vitest'
import { writePmml } from '../../../../src/cards/export/pmml/pmml.ts'
import { importCard } from '../../../../src/cards/import/run-import.ts'
import {
  checkSpec,
  compileModel,
  ModelScore,
  scoreApplicant,
} from '../../../../src/engine/index.ts'
import { sampleApplicants, sampleSpec } from '../../../support/cards/cards.ts'
import { applicantFor, exactly, validSpec } from '../../../support/cards/spec-arbitraries.ts'
import type { Applicant, NaiveSpec } from '../../../support/naive/naive-evaluator.ts'

const CARDS = 200
const APPLICANTS_PER_CARD = 20

/**
 * The card as PMML and back; null where one of the two ways refuses it, or tells that it reads
 * more.
 */
function throughPmml(input: NaiveSpec): { before: ModelScore; after: ModelScore } | null {
  const checked = checkSpec(input)
  if (!checked.ok) throw new Error(`no valid spec: ${JSON.stringify(checked.faults)}`)
  const model = compileModel(checked.spec)
  const written = writePmml(model, checked.spec)
  if (!written.ok) return null
  const { name, version, target } = checked.spec
  const { scaling } = input
  const imported = importCard(Buffer.from(written.text), {
    name,
    version,
    target,
    scaling: {
      pdo: scaling.pdo,
      baseScore: scaling.base_score,
      odds: String(scaling.base_odds),
      oddsDirection: 'good:bad',
    },
  })
  if (imported.spec === null) return null
  const check = checkSpec(imported.spec)
  if (!check.ok) throw new Error('the import gives no valid spec')
  return { before: new ModelScore(model), after: new ModelScore(compileModel(check.spec)) }
}

function computeScores(modelScore: ModelScore, applicant: Applicant) {
  scoreApplicant(applicant, modelScore)
  return { score: modelScore.score, pd: modelScore.pd, invalidCount: modelScore.invalidCount }
}

// A card that leaves and comes home must decide as before.
test('a card that went out as PMML and came back has the same scores, to the bit', () => {
  let compared = 0
  const cases = validSpec().chain((spec) =>
    fc.tuple(fc.constant(spec), fc.array(applicantFor(spec), exactly(APPLICANTS_PER_CARD))),
  )
  fc.assert(
    fc.property(cases, ([spec, applicants]) => {
      const modelScores = throughPmml(spec)
      if (modelScores === null) return
      compared++
      for (const applicant of applicants) {
        expect(computeScores(modelScores.after, applicant)).toEqual(
          computeScores(modelScores.before, applicant),
        )
      }
    }),
    { numRuns: CARDS },
  )
  expect(compared).toBeGreaterThan(CARDS / 4)
})

test('the sample that went out as PMML and came back scores all of its 1,000 applicants as before', () => {
  const modelScores = throughPmml(sampleSpec()) ?? expect.fail('it goes both ways')
  for (const { applicant, score } of sampleApplicants()) {
    expect(computeScores(modelScores.before, applicant).score).toBe(score)
    expect(computeScores(modelScores.after, applicant)).toEqual(
      computeScores(modelScores.before, applicant),
    )
  }
})
