import { hash } from 'node:crypto'
import {
  type Applicant,
  checkSpec,
  compileModel,
  ModelScore,
  scoreApplicant,
} from '../../../src/engine/index.ts'
import { PreparedHead } from '../../../src/log/record/prepared-head.ts'
import { ModelParts } from '../../../src/log/record/record-v4.ts'
import type { RequestFacts, ResponseFacts } from '../../../src/log/record/record-writer.ts'
import type { ResultsWriter, ScoreLog } from '../../../src/log/score-log.ts'

/** A model that writes its results into records. */
export interface LoggedModel {
  readonly modelId: string
  readonly challengerId: string | null
  readonly modelScore: ModelScore
  readonly parts: ModelParts
}

export function loggedModel(spec: object, name: string, isChallenger = false): LoggedModel {
  const check = checkSpec(spec)
  if (!check.ok) throw new Error(JSON.stringify(check.faults))
  const model = compileModel(check.spec)
  return {
    modelId: `mod_${name}`,
    challengerId: isChallenger ? `ch_${name}` : null,
    modelScore: new ModelScore(model),
    parts: new ModelParts(model, hash('sha256', JSON.stringify(spec), 'buffer')),
  }
}

const DEPLOYMENT = {
  teamId: 'team_1' as string,
  deploymentId: 'dep_1' as string,
  cacheVersion: 3 as number,
}

const FACTS = {
  scoredAtMs: 1_795_000_000_123,
  keyId: 'key_1',
  reference: null,
  key: null,
  bucket: null,
  latencyMs: 1.234,
  isBatch: false,
  served: 0,
} as const

/** All facts of a record beside its results. */
export type LoggedFacts = RequestFacts & ResponseFacts & typeof DEPLOYMENT

/** Logs a request as scoring does. */
export function logRequest(
  log: ScoreLog,
  models: readonly LoggedModel[],
  applicants: readonly Applicant[],
  facts: Partial<LoggedFacts> & Pick<LoggedFacts, 'requestId'>,
): Promise<void> {
  const all = { ...DEPLOYMENT, ...FACTS, ...facts }
  return new Promise((resolve, reject) => {
    const score = (rows: ResultsWriter) => {
      writeRows(rows, models, applicants, all)
      return { facts: all, response: null }
    }
    const head = new PreparedHead(all, models)
    log.append({ ...all, head }, score, (outcome) =>
      outcome === null ? resolve() : reject(outcome),
    )
  })
}

export function writeRows(
  writer: ResultsWriter,
  models: readonly LoggedModel[],
  applicants: readonly Applicant[],
  { isBatch }: Pick<ResponseFacts, 'isBatch'>,
): void {
  for (const applicant of applicants) {
    writer.openRow(isBatch ? applicant['id'] : null)
    for (const { modelScore, parts } of models) {
      scoreApplicant(applicant, modelScore, 'id')
      if (modelScore.invalidCount > 0) writer.noResult()
      else writer.result(modelScore, parts, modelScore.unknownCount)
    }
    writer.closeRow()
  }
}
