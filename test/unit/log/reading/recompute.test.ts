import { describe, expect, test } from 'vitest'
import { checkSpec, compileModel } from '../../../../src/engine/index.ts'
import { unequalResult } from '../../../../src/log/reading/recompute.ts'
import { readLoggedRequest } from '../../../../src/log/record/logged-request.ts'
import { sampleApplicants, sampleSpec } from '../../../support/cards/cards.ts'
import {
  type PayloadResult,
  recordPayload,
  testModel,
} from '../../../support/score-log/record-payloads.ts'

const CARD = testModel(sampleSpec(), 'mod_1')
const check = checkSpec(sampleSpec())
if (!check.ok) throw new Error('the sample is not valid')
const STORED = {
  modelId: 'mod_1',
  name: '',
  version: '',
  specSha256: '',
  card: { spec: check.spec, model: compileModel(check.spec) },
}
const RESULTS = sampleApplicants()
  .slice(0, 20)
  .map(({ applicant }) => CARD.makeResult(applicant) as PayloadResult)

function readUnequal(results: readonly PayloadResult[], card = true) {
  const rows = results.map((result, id) => ({ id, results: [result] }))
  const payload = recordPayload({ models: [CARD], rows, isBatch: true, requestId: 'req_1' })
  const models = new Map([['mod_1', card ? STORED : { ...STORED, card: null }]])
  const request = readLoggedRequest(payload, new Map([['mod_1', CARD.model]]))
  return unequalResult({ request, models, first: 0, end: results.length })
}

describe('recomputing what is read', () => {
  test('results that follow from their bins are equal', () => {
    expect(readUnequal(RESULTS)).toBeNull()
  })

  // Points that do not add up to the score would be shown to an auditor as its reasons.
  test.each([
    ['score', { score: (RESULTS[7]?.score ?? 0) + 1e-9 }],
    ['probability', { pd: (RESULTS[7]?.pd ?? 0) / 2 }],
    ['grade', { grade: ((RESULTS[7]?.grade ?? 0) + 1) % 3 }],
    ['bin', { cells: (RESULTS[7]?.cells ?? []).map((cell, at) => (at === 0 ? cell ^ 1 : cell)) }],
    ['bin that the feature lacks', { cells: (RESULTS[7]?.cells ?? []).map(() => 250) }],
  ])('a %s that is another is reported with its record', (_name, other) => {
    const results = RESULTS.map((result, at) => (at === 7 ? { ...result, ...other } : result))
    expect(readUnequal(results)).toEqual({ requestId: 'req_1', modelId: 'mod_1', record: 7 })
    expect(readUnequal(results, false)).toBeNull()
  })
})
