import { newId } from '../../src/ids.ts'
import type { LoggedRecord } from '../../src/scorelog/drain.ts'
import type { ModelResults, ScoreRecord } from '../../src/scorelog/record.ts'
import { servedOf } from '../../src/scorelog/served.ts'

export interface RecordOrder extends Partial<Omit<ScoreRecord, 'models' | 'resultsText'>> {
  /** Of each model, one score for each applicant; the champion's first. */
  readonly scores?: readonly (readonly number[])[]
}

/** A record as a request leaves it: of one applicant with a score of 650, unless ordered otherwise. */
export function scoreRecord({ scores = [[650]], ...rest }: RecordOrder = {}): ScoreRecord {
  const scoredAtMs = rest.scoredAtMs ?? Date.now()
  const models = scores.map((ofModel, position) => modelResults(position, ofModel))
  const recordIds = rest.recordIds ?? (rest.isBatch ? scores[0]?.map((_, n) => `id ${n}`) : null)
  return {
    requestId: newId('req_', scoredAtMs),
    scoredAtMs,
    teamId: 'team_1',
    deploymentId: 'dep_1',
    keyId: 'key_1',
    cacheVersion: 1,
    bucket: null,
    latencyMs: 1.5,
    isBatch: false,
    served: 0,
    ...rest,
    recordIds: recordIds ?? null,
    models,
    resultsText: JSON.stringify({
      models: models.map(({ modelId, role }) => ({ model_id: modelId, role })),
      results: (scores[0] ?? []).map((_, n) => [
        recordIds?.[n] ?? null,
        ...models.map((model) => [
          model.scores[n],
          model.pds[n],
          model.grades[n],
          model.warningCounts[n],
          model.bins[n]?.join(','),
        ]),
      ]),
    }),
  }
}

/** The record with what its rollups need, as the drain gives it to the store. */
export function loggedRecord(order: RecordOrder = {}): LoggedRecord {
  const record = scoreRecord(order)
  return { record, served: servedOf(record) }
}

const FEATURES = 20

function modelResults(position: number, scores: readonly number[]): ModelResults {
  return {
    modelId: `mod_${position}`,
    role: position === 0 ? 'champion' : 'challenger',
    challengerId: position === 0 ? null : `ch_${position}`,
    scores,
    pds: scores.map((score) => 1 / (1 + Math.exp((score - 487.123) / 28.8539))),
    grades: scores.map((score) => (score < 600 ? null : 'B')),
    bins: scores.map((score) =>
      Array.from({ length: FEATURES }, (_, feature) => Math.abs(Math.floor(score) + feature) % 8),
    ),
    warningCounts: scores.map(() => 0),
  }
}
