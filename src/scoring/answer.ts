import type { Applicant, CompiledModel, ScoreSheet } from '../engine/index.ts'
import { listWarnings, type WarningForm } from './warnings.ts'

/**
 * Writes scoring results as JSON text.
 *
 * Not through `JSON.stringify` of an object, for two reasons: an object would move a feature whose
 * name looks like an integer in front of the others, and the pairs of name and points are the same
 * for everyone in a bin, so that they can be written once, when the model is compiled.
 */
export class AnswerParts {
  /** Text of `"feature":points` for each slot of the model. */
  private readonly contributions: readonly string[]
  /** Name, version and spec version of the model, as properties. */
  private readonly modelText: string
  private readonly versionText: string

  constructor(model: CompiledModel) {
    this.contributions = contributionTexts(model)
    this.versionText = `"model_version":${JSON.stringify(model.version)}`
    const name = JSON.stringify(model.name)
    const specVersion = JSON.stringify(model.specVersion)
    this.modelText = `${this.versionText},"model_name":${name},"spec_version":${specVersion}`
  }

  /** A single result, from a sheet just filled. */
  single(sheet: ScoreSheet, applicant: Applicant, frame: AnswerFrame): string {
    const warnings = warningsText(sheet, applicant, 'single', frame.reservedName)
    return `{${scoreText(sheet)},${this.modelText},${frame.deploymentText},"contributions":${this.contributionsText(sheet)},"request_id":"${frame.requestId}","scored_at":"${frame.scoredAt}","warnings":${warnings}${frame.shadowText}}`
  }

  /**
   * One of the results of a batch, from a sheet just filled.
   *
   * @param idText the record's id as JSON
   * @param shadowText further properties, each with a comma before it
   */
  record(
    sheet: ScoreSheet,
    record: Applicant,
    idText: string,
    withContributions: boolean,
    shadowText: string,
  ): string {
    const contributions = withContributions
      ? `,"contributions":${this.contributionsText(sheet)}`
      : ''
    const warnings = warningsText(sheet, record, 'batch', 'id')
    return `{"id":${idText},${scoreText(sheet)}${contributions},"warnings":${warnings}${shadowText}}`
  }

  /** @param results texts made by `record`, joined by commas */
  batch(results: string, total: number, frame: AnswerFrame): string {
    return `{"results":[${results}],${this.versionText},${frame.deploymentText},"total":${total},"scored_at":"${frame.scoredAt}","request_id":"${frame.requestId}"}`
  }

  private contributionsText(sheet: ScoreSheet): string {
    let text = '{'
    for (const slot of sheet.slots) {
      text += text.length === 1 ? this.contributions[slot] : `,${this.contributions[slot]}`
    }
    return `${text}}`
  }
}

/** What stands around the results. */
export interface AnswerFrame {
  readonly requestId: string
  readonly scoredAt: string
  /** The deployment's id, as one or more properties. */
  readonly deploymentText: string
  /** The key of a single request's body that is no variable. */
  readonly reservedName: string | undefined
  /** Further properties behind a single result, each with a comma before it. */
  readonly shadowText: string
}

function contributionTexts(model: CompiledModel): string[] {
  const texts: string[] = []
  for (const [feature, name] of model.featureNames.entries()) {
    const end = model.slotStart[feature + 1] ?? 0
    for (let slot = model.slotStart[feature] ?? 0; slot < end; slot++) {
      texts.push(`${JSON.stringify(name)}:${JSON.stringify(model.points[slot])}`)
    }
  }
  return texts
}

/** Score, grade and probability of default, as properties. */
export function scoreText(sheet: ScoreSheet): string {
  const grade = sheet.grade === null ? 'null' : JSON.stringify(sheet.grade)
  return `"score":${numberText(sheet.score)},"risk_grade":${grade},"pd":${numberText(sheet.pd)}`
}

/**
 * As JSON writes it: what is not finite is null. V8 remembers the text of a number it has written this way,
 * and the score log writes the same numbers again.
 */
function numberText(value: number): string {
  return Number.isFinite(value) ? String(value) : 'null'
}

function warningsText(
  sheet: ScoreSheet,
  applicant: Applicant,
  form: WarningForm,
  reservedName: string | undefined,
): string {
  const isClean =
    sheet.unmatchedCount === 0 &&
    sheet.unknownCount === 0 &&
    (sheet.missingCount === 0 || form === 'single')
  return isClean ? '[]' : JSON.stringify(listWarnings(sheet, applicant, form, reservedName))
}

/** Echoed when it can tell records apart, else null. */
export function recordIdText(id: unknown): string {
  return typeof id === 'string' || typeof id === 'number' ? JSON.stringify(id) : 'null'
}
