import {
  type Applicant,
  checkSpec,
  compileModel,
  ScoreSheet,
  scoreApplicant,
} from '../../src/engine/index.ts'
import { ModelParts } from '../../src/scorelog/model-parts.ts'
import type { ScoreRecord } from '../../src/scorelog/record.ts'
import { DeploymentTexts, ServedTexts } from '../../src/scorelog/record-texts.ts'
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
): Promise<void> {
  const all = { ...FACTS, ...facts }
  const texts = new DeploymentTexts(all, models)
  const served = writeRows(log.begin(texts.head), models, applicants, all)
  return new Promise((resolve, reject) => {
    const told = (failure: Error | null) => (failure === null ? resolve() : reject(failure))
    log.end(all.requestId, texts.facts(all, served), told)
  })
}

/** @returns what the model that answers says */
export function writeRows(
  writer: ResultsWriter,
  models: readonly LoggedModel[],
  applicants: readonly Applicant[],
  { isBatch, served }: Pick<ScoreRecord, 'isBatch' | 'served'>,
): ServedTexts {
  const servedTexts = new ServedTexts()
  for (const applicant of applicants) {
    writer.openRow(isBatch ? JSON.stringify(applicant['id'] ?? null) : 'null')
    for (const [position, { sheet, parts }] of models.entries()) {
      scoreApplicant(applicant, sheet, 'id')
      if (sheet.invalidCount > 0) writer.noResult()
      else writer.result(sheet, parts, sheet.unknownCount)
      if (position === served) servedTexts.add(sheet, parts)
    }
    writer.closeRow()
  }
  return servedTexts
}
