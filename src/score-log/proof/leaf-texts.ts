import {
  BUCKET_AT,
  FIXED_FACTS_BYTES,
  FLAGS_AT,
  HEAD_AT,
  ID_HEADER_BYTES,
  ID_NULL,
  ID_NUMBER,
  ID_UTF16,
  IS_BATCH,
  LATENCY_AT,
  NO_BUCKET,
  NO_GRADE,
  RESULT_HEADER_BYTES,
  type RecordHead,
  type RecordModel,
  ROWS_AT,
  readHeadV4,
  SCORED,
  SCORED_AT,
  SERVED_AT,
} from '../record/record-v4.ts'

/** Version of the text of a leaf. */
const LEAF_VERSION = 1
/** The kind and a number. */
const NUMBER_ID_BYTES = 9

/** Which request the leaves are of. */
export interface LeafRequest {
  readonly requestId: string
  readonly scoredAtMs: number
  /** Number of applicants, and so of leaves. */
  readonly rows: number
}

/** The texts around the values of one model. */
interface ModelText {
  readonly beforeCells: string
  readonly beforeGrade: string
  readonly beforePd: string
  readonly beforeWarnings: string
  readonly failed: string
  readonly features: number
  readonly bytesPerCell: 1 | 2
}

/**
 * Writes what the tree holds of each applicant of a record of version 4: everything but the
 * reference and the record ids, so that these can be erased and the proofs of the others stay
 * valid. The text is JSON in the canonical form of RFC 8785. It is put together from the bytes: a
 * drain does this for every score.
 */
export class LeafTexts {
  readonly teamId: string
  private readonly afterBucket: string
  private readonly end: string
  private readonly models: readonly ModelText[]

  constructor(head: RecordHead) {
    const { cacheVersion, deploymentId, engineVersion, teamId } = head
    this.teamId = teamId
    const deployment = JSON.stringify(deploymentId)
    this.afterBucket =
      `,"cache_version":${cacheVersion},"deployment_id":${deployment}` +
      `,"engine_version":${engineVersion},"is_batch":`
    this.end = `,"team_id":${JSON.stringify(teamId)},"version":${LEAF_VERSION}}`
    this.models = head.models.map(modelText)
  }

  /** @throws Error as `readHeadV4` */
  static of(payload: Buffer): LeafTexts {
    return new LeafTexts(readHeadV4(payload.subarray(HEAD_AT, headEndOf(payload))))
  }

  /**
   * Writes the leaves of a record with this head.
   *
   * @param onLeaf called for each applicant, in their order
   * @throws Error that says what is wrong with the record, without quoting it
   */
  each(payload: Buffer, onLeaf: (leaf: string, index: number, rows: number) => void): LeafRequest {
    const facts = headEndOf(payload)
    const scoredAtMs = payload.readDoubleLE(facts + SCORED_AT)
    const bucket = payload.readInt16LE(facts + BUCKET_AT)
    const rows = payload.readUInt32LE(facts + ROWS_AT)
    let at = facts + FIXED_FACTS_BYTES
    const requestId = text8(payload, at)
    at = endOfText(payload, at)
    const keyId = text8(payload, at)
    at = endOfText(payload, endOfText(payload, at))
    const isBatch = payload.readUInt8(facts + FLAGS_AT) === IS_BATCH
    const start =
      `{"bucket":${bucket === NO_BUCKET ? 'null' : bucket}${this.afterBucket}${isBatch}` +
      `,"key_id":${JSON.stringify(keyId)}` +
      `,"latency_us":${payload.readUInt32LE(facts + LATENCY_AT)},"record_index":`
    const middle = `,"records":${rows},"request_id":${JSON.stringify(requestId)},"results":[`
    const served = payload.readUInt8(facts + SERVED_AT)
    const end = `],"scored_at_ms":${scoredAtMs},"served":${served}${this.end}`
    for (let row = 0; row < rows; row++) {
      let leaf = start + row + middle
      at = endOfId(payload, at)
      for (const [position, model] of this.models.entries()) {
        if (position > 0) leaf += ','
        if (payload.readUInt8(at) === SCORED) {
          const next = at + RESULT_HEADER_BYTES + model.features * model.bytesPerCell
          if (next > payload.length) throw new Error('the record is cut off')
          leaf += resultText(payload, at, model)
          at = next
        } else {
          leaf += model.failed
          at++
        }
      }
      onLeaf(leaf + end, row, rows)
    }
    if (at !== payload.length) throw new Error('the record is longer than its contents')
    return { requestId, scoredAtMs, rows }
  }
}

function modelText(model: RecordModel): ModelText {
  const { baselineId, challengerId, modelId, specSha256, features, bytesPerCell } = model
  const beforeCells = `{"baseline_id":${JSON.stringify(baselineId)},"cells":[`
  const beforeGrade = `],"challenger_id":${JSON.stringify(challengerId)},"grade":`
  const beforePd = `,"model_id":${JSON.stringify(modelId)},"pd":`
  const beforeWarnings = `,"spec_sha256":${JSON.stringify(specSha256)},"warnings":`
  return {
    beforeCells,
    beforeGrade,
    beforePd,
    beforeWarnings,
    failed: `${beforeCells}${beforeGrade}null${beforePd}null,"score":null${beforeWarnings}0}`,
    features,
    bytesPerCell,
  }
}

/** @param at offset of the status of the result */
function resultText(payload: Buffer, at: number, model: ModelText): string {
  const { features, bytesPerCell } = model
  const cells = at + RESULT_HEADER_BYTES
  let text = model.beforeCells
  for (let feature = 0; feature < features; feature++) {
    if (feature > 0) text += ','
    text +=
      bytesPerCell === 1
        ? payload.readUInt8(cells + feature)
        : payload.readUInt16LE(cells + 2 * feature)
  }
  const grade = payload.readUInt32LE(at + 17)
  text += model.beforeGrade + (grade === NO_GRADE ? 'null' : grade)
  text += model.beforePd + numberText(payload.readDoubleLE(at + 9))
  text += `,"score":${numberText(payload.readDoubleLE(at + 1))}`
  return `${text}${model.beforeWarnings}${payload.readUInt16LE(at + 21)}}`
}

/** As `JSON.stringify` writes a number. */
function numberText(number: number): string {
  return Number.isFinite(number) ? `${number}` : 'null'
}

function headEndOf(payload: Buffer): number {
  return HEAD_AT + payload.readUInt16LE(1)
}

/** A text with a byte of length before it. */
function text8(payload: Buffer, at: number): string {
  return payload.toString('utf8', at + 1, endOfText(payload, at))
}

function endOfText(payload: Buffer, at: number): number {
  const end = at + 1 + payload.readUInt8(at)
  if (end > payload.length) throw new Error('the record is cut off')
  return end
}

/** Offset after a record id. */
function endOfId(payload: Buffer, at: number): number {
  const kind = payload.readUInt8(at)
  if (kind === ID_NULL) return at + 1
  if (kind === ID_NUMBER) return at + NUMBER_ID_BYTES
  if (kind > ID_UTF16) throw new Error('the record has a record id of an unknown kind')
  return at + ID_HEADER_BYTES + payload.readUInt32LE(at + 1)
}
