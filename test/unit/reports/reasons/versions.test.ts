import { expect, test } from 'vitest'
import { ENGINE_VERSION, ModelScore, scoreApplicant } from '../../../../src/engine/index.ts'
import { ExplanationService } from '../../../../src/reports/reasons/explanation.ts'
import { compiledCard, foundReasons, worksheetCard } from '../../../support/cards/reason-cards.ts'

const ZEROS = { tenure: 0, income: 0, util: 0, inquiries: 0 }

/** Explains one logged score of the worksheet's card that this version of the engine gave. */
function explained(engineVersion: number) {
  const card = compiledCard(worksheetCard())
  const score = new ModelScore(card.model)
  scoreApplicant(ZEROS, score)
  const cells = Array.from(score.slots, (slot) => card.model.cellOfSlot[slot] ?? 0)
  const result = { score: score.score, pd: score.pd, grade: null, warningCount: 0, cells }
  const model = { modelId: 'mod_1', role: 'champion', challengerId: null, baselineId: null }
  const request = {
    requestId: 'req_1',
    engineVersion,
    isBatch: false,
    served: 0,
    models: [model],
    rows: [{ id: null, results: [result] }],
  }
  const get = async () => ({ request, models: new Map([['mod_1', { card }]]), first: 0 })
  // The service reads these fields and no others.
  const scores = { get } as unknown as ConstructorParameters<typeof ExplanationService>[0]['scores']
  const service = new ExplanationService({
    scores,
    baseline: async () => null,
    cutoff: async () => null,
  })
  return service.explain({} as never, 'req_1', { lang: 'en' })
}

// A lender explains last year's declines with this year's release.
test('reasons of a score stay the same to the bit when the engine gets another version', async () => {
  const all = await Promise.all(
    [ENGINE_VERSION - 1, ENGINE_VERSION, ENGINE_VERSION + 1].map(explained),
  )
  for (const { reasons, counterfactuals } of all) {
    expect(
      reasons?.reasons.map(({ code, distance, features }) => ({ code, distance, features })),
    ).toEqual(foundReasons(worksheetCard(), ZEROS).reasons)
    expect(counterfactuals).toEqual(all[0]?.counterfactuals)
  }
})
