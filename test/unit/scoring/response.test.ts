import { expect, test } from 'vitest'
import {
  checkSpec,
  compileModel,
  finishSteps,
  ModelScore,
  scoreApplicant,
} from '../../../src/engine/index.ts'
import { ResponseParts } from '../../../src/scoring/response.ts'
import { card, plainFeature, sampleSpec } from '../../support/cards/cards.ts'

const RECORDS = 1_000
const PLAIN = { withContributions: false, withReasons: false }
const FULL = { withContributions: true, withReasons: false }

// Memory that is too small is left for larger amid the answer, each time anew, with all that was
// written copied.
test('memory for a batch is as large as the batches before took, and forgets an unusual one', () => {
  const { answer, bytes } = sampleAnswer()
  const plainBytes = answer.batchBytes(RECORDS, PLAIN)
  const tookBytes = 3 * bytes()
  answer.noteBytes(tookBytes, RECORDS, FULL)
  expect(bytes()).toBeGreaterThanOrEqual(tookBytes)
  expect(answer.batchBytes(RECORDS, PLAIN)).toBe(plainBytes)

  for (let batch = 0; batch < 50; batch++) answer.noteBytes(100 * RECORDS, RECORDS, FULL)
  expect(bytes()).toBeLessThan(110 * RECORDS)
  expect(bytes()).toBeGreaterThan(100 * RECORDS)
})

test('a batch without records tells nothing of the next', () => {
  const { answer, bytes } = sampleAnswer()
  const expectedBytes = bytes()
  answer.noteBytes(12, 0, FULL)
  expect(bytes()).toBe(expectedBytes)
})

// Those of the largest legal card would take 2.5 MB, as strings, beside their bytes.
test.each([10, 1_000])('each of %i features contributes the points of its bin', (count) => {
  const names = Array.from({ length: count }, (_, at) => `"${at}" ${'é😀'.repeat(20)}`)
  const model = compileCard(card(names.map(plainFeature)))
  const modelScore = new ModelScore(model)
  // Below 0, above 0, and missing.
  const values = names.flatMap((name, at) => (at % 3 === 2 ? [] : [[name, (at % 3) - 0.5]]))
  scoreApplicant(Object.fromEntries(values), modelScore)
  const answer = finishSteps(ResponseParts.make(model))
  const points = names.map((name, at) => `${JSON.stringify(name)}:${(at % 3) + 1}`)
  expect(answer.contributionsText(modelScore)).toBe(`{${points.join(',')}}`)
})

function sampleAnswer() {
  const answer = finishSteps(ResponseParts.make(compileCard(sampleSpec())))
  return { answer, bytes: () => answer.batchBytes(RECORDS, FULL) }
}

function compileCard(spec: object) {
  const check = checkSpec(spec)
  if (!check.ok) throw new Error('the card has faults')
  return compileModel(check.spec)
}
