import {
  type Applicant,
  checkSpec,
  compileModel,
  ScoreSheet,
  scoreApplicant,
} from '../../src/engine/index.ts'
import { ModelParts } from '../../src/scorelog/model-parts.ts'
import { RecordTexts, type ScoreRecord } from '../../src/scorelog/record.ts'
import type { ResultsWriter, ScoreLog } from '../../src/scorelog/score-log.ts'

/** A model that writes its results into records. */
export interface LoggedModel {
  readonly modelId: string
  readonly challengerId: string | null
  readonly sheet: ScoreSheet
  readonly parts: ModelParts
}

export function loggedModel(spec: object, name: string, isChallenger = false): LoggedModel {
  const check = checkSpec(spec)
  if (!check.ok) throw new Error(JSON.stringify(check.faults))
  const model = compileModel(check.spec)
  return {
    modelId: `mod_${name}`,
    challengerId: isChallenger ? `ch_${name}` : null,
    sheet: new ScoreSheet(model),
    parts: new ModelParts(model),
  }
}

const FACTS = {
  teamId: 'team_1',
  deploymentId: 'dep_1',
  cacheVersion: 3,
  scoredAtMs: 1_795_000_000_123,
  keyId: 'key_1',
  bucket: null,
  latencyMs: 1.234,
  isBatch: false,
  served: 0,
} as const

/** Logs a request as scoring does. */
export function logRequest(
  log: ScoreLog,
  models: readonly LoggedModel[],
  applicants: readonly Applicant[],
  facts: Partial<ScoreRecord> & Pick<ScoreRecord, 'requestId'>,
): Promise<void> | null {
  const all = { ...FACTS, ...facts }
  const texts = new RecordTexts(all, models)
  writeRows(log.begin(texts.head), models, applicants, all.isBatch)
  return log.end(all.requestId, texts.facts(all))
}

export function writeRows(
  writer: ResultsWriter,
  models: readonly LoggedModel[],
  applicants: readonly Applicant[],
  isBatch: boolean,
): void {
  for (const applicant of applicants) {
    writer.openRow(isBatch ? JSON.stringify(applicant['id'] ?? null) : 'null')
    for (const { sheet, parts } of models) {
      scoreApplicant(applicant, sheet, 'id')
      if (sheet.invalidCount > 0) writer.noResult()
      else writer.result(sheet, parts, sheet.unknownCount)
    }
    writer.closeRow()
  }
}
