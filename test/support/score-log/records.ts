import { newId } from '../../../src/platform/ids/ids.ts'
import type { ServedResults } from '../../../src/rollups/rollup.ts'
import {
  FIELD_SEPARATOR,
  type ModelResults,
  readRecordV3,
  type ScoreRecord,
} from '../../../src/score-log/record/record-v3.ts'
import { servedOf } from '../../../src/score-log/record/served.ts'
import { DeploymentTexts, type RequestFacts, ServedTexts } from './record-v3-texts.ts'

export interface RecordOrder extends Partial<RequestFacts> {
  readonly deploymentId?: string
  readonly cacheVersion?: number
  readonly recordIds?: readonly (string | number | null)[]
  readonly grade?: string
  /** One score for each applicant from each model; the champion's first. */
  readonly scores?: readonly (readonly number[])[]
}

/**
 * A record as a request leaves it: of one applicant with a score of 650, unless ordered otherwise.
 */
export function scoreRecord(order: RecordOrder = {}): ScoreRecord {
  const { scores = [[650]], grade, recordIds, ...rest } = order
  const { deploymentId = 'dep_1', cacheVersion = 1 } = rest
  const scoredAtMs = rest.scoredAtMs ?? Date.now()
  const models = scores.map((ofModel, position) => modelResults(position, ofModel, grade))
  const ids = recordIds ?? (rest.isBatch ? scores[0]?.map((_, n) => `id ${n}`) : undefined)
  const results = JSON.stringify({
    models: models.map(({ modelId, role }) => ({ model_id: modelId, role })),
    results: (scores[0] ?? []).map((_, n) => [
      ids?.[n] ?? null,
      ...models.map((model) => [
        model.scores[n],
        model.pds[n],
        model.grades[n],
        model.warningCounts[n],
        model.bins[n]?.join(','),
      ]),
    ]),
  })
  const texts = new DeploymentTexts({ teamId: 'team_1', deploymentId, cacheVersion }, models)
  const facts = {
    requestId: newId('req_', scoredAtMs),
    keyId: 'key_1',
    bucket: null,
    latencyMs: 1.5,
    isBatch: false,
    served: 0,
    ...rest,
    scoredAtMs,
  }
  const served = models[facts.served]
  const servedTexts = Object.assign(new ServedTexts(), {
    scores: served?.scores.join() ?? '',
    pds: served?.pds.join() ?? '',
    grades: served?.grades.map((one) => JSON.stringify(one)).join() ?? '',
  })
  const fields = [results, texts.facts(facts, servedTexts)]
  return readRecordV3(Buffer.from(fields.join(FIELD_SEPARATOR)))
}

/** The record with what its rollups need, as the drain gives it to the store. */
export function loggedRecord(order: RecordOrder = {}): {
  readonly record: ScoreRecord
  readonly served: ServedResults
} {
  const record = scoreRecord(order)
  return { record, served: servedOf(record) }
}

const FEATURES = 20

function modelResults(position: number, scores: readonly number[], grade = 'B'): ModelResults {
  return {
    modelId: `mod_${position}`,
    role: position === 0 ? 'champion' : 'challenger',
    challengerId: position === 0 ? null : `ch_${position}`,
    scores,
    pds: scores.map((score) => 1 / (1 + Math.exp((score - 487.123) / 28.8539))),
    grades: scores.map((score) => (score < 600 ? null : grade)),
    bins: scores.map((score) =>
      Array.from({ length: FEATURES }, (_, feature) => Math.abs(Math.floor(score) + feature) % 8),
    ),
    warningCounts: scores.map(() => 0),
  }
}
