import { ByteWriter } from '../blocks/bytes.ts'
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
/** The byte before the data of a leaf, see `leafHash`. */
const LEAF_PREFIX = 0
const BUCKET = Buffer.from('{"bucket":')
const TRUE_KEY = Buffer.from('true,"key_id":')
const FALSE_KEY = Buffer.from('false,"key_id":')
const LATENCY = Buffer.from(',"latency_us":')
const RECORD_INDEX = Buffer.from(',"record_index":')
const RECORDS = Buffer.from(',"records":')
const REQUEST_ID = Buffer.from(',"request_id":')
const RESULTS = Buffer.from(',"results":[')
const SCORED_AT_MS = Buffer.from('],"scored_at_ms":')
const SERVED = Buffer.from(',"served":')
const COMMA = 0x2c
const QUOTE = 0x22
const BACKSLASH = 0x5c
const CLOSING_BRACE = 0x7d
/** The leaf that is being written. Text that is joined from strings costs three times as much. */
const out = new ByteWriter()

/** Which request the leaves are of. */
export interface LeafRequest {
  readonly requestId: string
  readonly scoredAtMs: number
  /** Number of applicants, and so of leaves. */
  readonly rows: number
}

/** The texts around the values of one model. */
interface ModelText {
  readonly beforeCells: Buffer
  readonly beforeGrade: Buffer
  readonly beforePd: Buffer
  readonly beforeWarnings: Buffer
  readonly failed: Buffer
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
  private readonly afterBucket: Buffer
  private readonly end: Buffer
  private readonly models: readonly ModelText[]

  constructor(head: RecordHead) {
    const { cacheVersion, deploymentId, engineVersion, teamId } = head
    this.teamId = teamId
    const deployment = JSON.stringify(deploymentId)
    this.afterBucket = Buffer.from(
      `,"cache_version":${cacheVersion},"deployment_id":${deployment}` +
        `,"engine_version":${engineVersion},"is_batch":`,
    )
    this.end = Buffer.from(`,"team_id":${JSON.stringify(teamId)},"version":${LEAF_VERSION}}`)
    this.models = head.models.map(modelText)
  }

  /** @throws Error as `readHeadV4` */
  static of(payload: Buffer): LeafTexts {
    return new LeafTexts(readHeadV4(payload.subarray(HEAD_AT, headEndOf(payload))))
  }

  /**
   * Writes the leaves of a record with this head.
   *
   * @param onLeaf called for each applicant, in their order, with the byte 0 and the leaf's text in
   *   UTF-8: what is hashed. The bytes are valid during the call.
   * @throws Error that says what is wrong with the record, without quoting it
   */
  each(payload: Buffer, onLeaf: (leaf: Buffer, index: number, rows: number) => void): LeafRequest {
    const facts = headEndOf(payload)
    const scoredAtMs = payload.readDoubleLE(facts + SCORED_AT)
    const bucket = payload.readInt16LE(facts + BUCKET_AT)
    const rows = payload.readUInt32LE(facts + ROWS_AT)
    const idAt = facts + FIXED_FACTS_BYTES
    const keyAt = endOfText(payload, idAt)
    let at = endOfText(payload, endOfText(payload, keyAt))
    const isBatch = payload.readUInt8(facts + FLAGS_AT) === IS_BATCH
    const latencyUs = payload.readUInt32LE(facts + LATENCY_AT)
    const served = payload.readUInt8(facts + SERVED_AT)
    // What all leaves of a record share is written once, and then stays or is copied.
    out.clear()
    out.u8(LEAF_PREFIX)
    out.all(BUCKET)
    out.text(bucket === NO_BUCKET ? 'null' : `${bucket}`)
    out.all(this.afterBucket)
    out.all(isBatch ? TRUE_KEY : FALSE_KEY)
    writeJsonText(payload, keyAt)
    out.all(LATENCY)
    out.digits(latencyUs)
    out.all(RECORD_INDEX)
    const indexAt = out.length
    let request: Buffer | null = null
    for (let row = 0; row < rows; row++) {
      out.truncate(indexAt)
      out.digits(row)
      const requestAt = out.length
      if (request === null) {
        out.all(RECORDS)
        out.digits(rows)
        out.all(REQUEST_ID)
        writeJsonText(payload, idAt)
        out.all(RESULTS)
        if (rows > 1) request = Buffer.from(out.written().subarray(requestAt))
      } else out.all(request)
      at = endOfId(payload, at)
      for (const [position, model] of this.models.entries()) {
        if (position > 0) out.u8(COMMA)
        if (payload.readUInt8(at) === SCORED) {
          const next = at + RESULT_HEADER_BYTES + model.features * model.bytesPerCell
          if (next > payload.length) throw new Error('the record is cut off')
          writeResult(payload, at, model)
          at = next
        } else {
          out.all(model.failed)
          at++
        }
      }
      out.all(SCORED_AT_MS)
      out.text(`${scoredAtMs}`)
      out.all(SERVED)
      out.digits(served)
      out.all(this.end)
      onLeaf(out.written(), row, rows)
    }
    const requestId = text8(payload, idAt)
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
  const failed = `${beforeCells}${beforeGrade}null${beforePd}null,"score":null${beforeWarnings}0}`
  return {
    beforeCells: Buffer.from(beforeCells),
    beforeGrade: Buffer.from(beforeGrade),
    beforePd: Buffer.from(beforePd),
    beforeWarnings: Buffer.from(beforeWarnings),
    failed: Buffer.from(failed),
    features,
    bytesPerCell,
  }
}

/** @param at offset of the status of the result */
function writeResult(payload: Buffer, at: number, model: ModelText): void {
  const { features, bytesPerCell, beforeCells, beforeGrade, beforePd, beforeWarnings } = model
  const cells = at + RESULT_HEADER_BYTES
  out.all(beforeCells)
  for (let feature = 0; feature < features; feature++) {
    if (feature > 0) out.u8(COMMA)
    out.digits(
      bytesPerCell === 1
        ? payload.readUInt8(cells + feature)
        : payload.readUInt16LE(cells + 2 * feature),
    )
  }
  const grade = payload.readUInt32LE(at + 17)
  out.all(beforeGrade)
  out.text(grade === NO_GRADE ? 'null' : `${grade}`)
  out.all(beforePd)
  out.text(numberText(payload.readDoubleLE(at + 9)))
  out.text(`,"score":${numberText(payload.readDoubleLE(at + 1))}`)
  out.all(beforeWarnings)
  out.digits(payload.readUInt16LE(at + 21))
  out.u8(CLOSING_BRACE)
}

/** Writes a text with a byte of length before it as JSON; ids need no escapes. */
function writeJsonText(payload: Buffer, at: number): void {
  const start = at + 1
  const end = endOfText(payload, at)
  for (let index = start; index < end; index++) {
    const byte = payload[index] ?? 0
    if (byte < 0x20 || byte > 0x7e || byte === QUOTE || byte === BACKSLASH) {
      out.text(JSON.stringify(text8(payload, at)))
      return
    }
  }
  out.u8(QUOTE)
  out.copy(payload, start, end)
  out.u8(QUOTE)
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
