import type { ByteText } from '../byte-text.ts'
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
  /** The same as bytes, each with a comma before it. */
  private readonly contributionPieces: readonly Uint8Array[]
  /** Bytes that a result of a batch takes, as the last ones did, without and with contributions. */
  private readonly recordBytes: { plain: number; full: number }
  /** Name, version and spec version of the model, as properties. */
  private readonly modelText: string
  private readonly versionText: string

  constructor(model: CompiledModel) {
    this.contributions = contributionTexts(model)
    this.contributionPieces = this.contributions.map((text) => Buffer.from(`,${text}`))
    const contributionsBytesMax = bytesMaxOf(model, this.contributionPieces)
    this.recordBytes = { plain: RECORD_BYTES, full: RECORD_BYTES + contributionsBytesMax }
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

  /** Bytes that a batch of so many records will probably take. */
  batchBytes(records: number, withContributions: boolean): number {
    const { plain, full } = this.recordBytes
    return FRAME_BYTES + records * (withContributions ? full : plain)
  }

  /** To be told what the results of a batch took, which may have long ids, warnings and challengers. */
  noteBytes(bytes: number, records: number, withContributions: boolean): void {
    if (records === 0) return
    const form = withContributions ? 'full' : 'plain'
    const expected = this.recordBytes[form]
    const took = bytes / records
    // Too little costs more than too much, but one unusual batch must not count for good.
    this.recordBytes[form] = Math.max(took, expected + (took - expected) / 8)
  }

  /** A batch is `openBatch`, its results one after the other, `closeBatch`. */
  openBatch(into: ByteText): void {
    into.text('{"results":[')
  }

  /** One of the results of a batch, from a sheet just filled. */
  record(
    into: ByteText,
    sheet: ScoreSheet,
    record: Applicant,
    { isFirst, idText, withContributions, shadowText }: RecordFrame,
  ): void {
    into.text(isFirst ? '{"id":' : ',{"id":')
    into.text(idText)
    into.text(',')
    writeScore(into, sheet)
    if (withContributions) {
      into.text(',"contributions":')
      const openedAt = into.length
      into.pieces(this.contributionPieces, sheet.slots)
      into.replace(openedAt, '{')
      into.text('}')
    }
    into.text(',"warnings":')
    into.text(warningsText(sheet, record, 'batch', 'id'))
    if (shadowText !== '') into.text(shadowText)
    into.text('}')
  }

  closeBatch(into: ByteText, total: number, frame: AnswerFrame): void {
    into.text(
      `],${this.versionText},${frame.deploymentText},"total":${total},"scored_at":"${frame.scoredAt}","request_id":"${frame.requestId}"}`,
    )
  }

  private contributionsText(sheet: ScoreSheet): string {
    let text = '{'
    for (const slot of sheet.slots) {
      text += text.length === 1 ? this.contributions[slot] : `,${this.contributions[slot]}`
    }
    return `${text}}`
  }
}

/** Before there was any, and without contributions. */
const RECORD_BYTES = 120
/** What stands around the results. */
const FRAME_BYTES = 1024

function bytesMaxOf({ featureNames, slotStart }: CompiledModel, pieces: readonly Uint8Array[]) {
  const ofFeature = (_: string, feature: number) =>
    Math.max(
      ...pieces.slice(slotStart[feature], slotStart[feature + 1]).map(({ length }) => length),
    )
  return featureNames.map(ofFeature).reduce((sum, bytes) => sum + bytes, 0)
}

/** What a result of a batch takes from its request. */
export interface RecordFrame {
  readonly isFirst: boolean
  /** The record's id as JSON. */
  readonly idText: string
  readonly withContributions: boolean
  /** Further properties, each with a comma before it. */
  readonly shadowText: string
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

/** Score, grade and probability of default, as properties: short texts, which are written byte by byte. */
function writeScore(into: ByteText, { score, grade, pd }: ScoreSheet): void {
  into.text('"score":')
  into.text(numberText(score))
  into.text(',"risk_grade":')
  into.text(grade === null ? 'null' : JSON.stringify(grade))
  into.text(',"pd":')
  into.text(numberText(pd))
}

/** The same as one text. */
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
