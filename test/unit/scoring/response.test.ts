import { expect, test } from 'vitest'
import { checkSpec, compileModel, finishSteps } from '../../../src/engine/index.ts'
import { ResponseParts } from '../../../src/scoring/response.ts'
import { sampleSpec } from '../../support/cards/cards.ts'

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

function sampleAnswer() {
  const check = checkSpec(sampleSpec())
  if (!check.ok) throw new Error('the sample has faults')
  const answer = finishSteps(ResponseParts.make(compileModel(check.spec)))
  return { answer, bytes: () => answer.batchBytes(RECORDS, FULL) }
}
