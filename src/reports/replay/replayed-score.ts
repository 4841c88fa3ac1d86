import type { Static } from '@sinclair/typebox'
import type {
  ReplayedScore as ReplayedScoreSchema,
  ReplayedValue,
} from '../../../schemas/replay.ts'
import { type Applicant, ModelScore, scoreApplicant } from '../../engine/index.ts'
import { AppError } from '../../errors.ts'
import { type Card, findBin, loggedFeature, type ScorePage } from '../../log/index.ts'

/** A logged score beside the one that the features give now. */
export type ReplayedScore = Static<typeof ReplayedScoreSchema>
type ShownFeature = Static<typeof ReplayedValue>

/**
 * Scores features with the model that answered a request, and compares with the first record of the
 * page.
 *
 * @throws AppError `invalid_request` for a value that can't be scored, or where the model has gone
 */
export function replayScore(
  { request, models, first }: ScorePage,
  features: object,
): ReplayedScore {
  const result = request.rows[first]?.results[request.served] ?? null
  const model = request.models[request.served]
  const stored = model === undefined ? undefined : models.get(model.modelId)
  const card = stored?.card ?? null
  if (result === null || model === undefined || card === null) {
    throw new AppError('invalid_request', "the model of this score can't score any more")
  }
  // The schema lets objects in only.
  const now = scored(card, features as Applicant)
  const compared = card.spec.features.map(({ name }, index) => {
    const logged = shown(card, index, result.cells[index] ?? -1)
    const recomputed = shown(card, index, now.cells[index] ?? -1)
    const identical =
      logged.outcome === recomputed.outcome && logged.bin?.index === recomputed.bin?.index
    return { name, identical, logged, recomputed }
  })
  const specSha256 = {
    logged: model.specSha256,
    recomputed: stored?.specSha256 ?? null,
  }
  const isSameSpec = specSha256.logged === null || specSha256.logged === specSha256.recomputed
  return {
    request_id: request.requestId,
    record_index: first,
    model_id: model.modelId,
    identical:
      isSameSpec &&
      Object.is(result.score, now.score) &&
      result.pd === now.pd &&
      result.grade === now.grade &&
      compared.every(({ identical }) => identical),
    spec_sha256: specSha256,
    score: { logged: result.score, recomputed: now.score },
    pd: { logged: result.pd, recomputed: now.pd },
    risk_grade: { logged: result.grade, recomputed: now.grade },
    features: compared,
  }
}

/** @throws AppError `invalid_request` naming the features */
function scored({ model }: Card, applicant: Applicant) {
  const result = new ModelScore(model)
  scoreApplicant(applicant, result)
  if (result.invalidCount > 0) {
    const faulty = model.featureNames.filter((_, index) => result.readOutcome(index) === 'invalid')
    throw new AppError('invalid_request', 'a feature must be a number, a text or null', {
      details: faulty.map((name) => ({
        path: `features.${name}`,
        message: 'must be a number, a text or null',
      })),
    })
  }
  return {
    score: result.score,
    pd: Number.isNaN(result.pd) ? null : result.pd,
    grade: result.grade,
    cells: Array.from(result.slots, (slot) => model.cellOfSlot[slot] ?? -1),
  }
}

function shown(card: Card, feature: number, cell: number): ShownFeature {
  const { points, bin, outcome } = loggedFeature(card.model, feature, cell)
  const spec = card.spec.features[feature]
  return { outcome, points, bin: bin === null ? null : findBin(spec?.bins[bin], bin) }
}
