import { PreparedFragments } from '../../platform/bytes/prepared-fragments.ts'
import { writeText } from '../../platform/bytes/utf8-writer.ts'
import type { RecordScanner } from '../record/record-scanner.ts'
import {
  HEAD_AT,
  ID_HEADER_BYTES,
  ID_NULL,
  ID_NUMBER,
  ID_UTF16,
  IS_BATCH,
  NO_BUCKET,
  NO_GRADE,
  RESULT_HEADER_BYTES,
  type RecordHead,
  type RecordModel,
  readHeadV4,
  SCORED,
} from '../record/record-v4.ts'

const BYTES_MIN = 4_096
/** Leaves of cards of usual size are shorter. */
const VIEWS_MAX = 4_096

/** Memory for one leaf after the other. */
class LeafMemory {
  bytes: Buffer = Buffer.allocUnsafeSlow(BYTES_MIN)
  view = new DataView(this.bytes.buffer)
  /**
   * The first bytes, by their number: with another object for each leaf `encodeByHour` takes 7 %
   * more (5.4 us of processor time for a score in place of 5.0, see `LeafTexts`).
   */
  private readonly views: Buffer[] = []

  /** Makes room for a leaf; what was written is lost where there is none. */
  reserve(length: number): void {
    if (length <= this.bytes.length) return
    this.bytes = Buffer.allocUnsafeSlow(2 * length)
    this.view = new DataView(this.bytes.buffer)
    this.views.length = 0
  }

  /** The first bytes, valid until they are written again. */
  written(length: number): Buffer {
    if (length >= VIEWS_MAX) return this.bytes.subarray(0, length)
    this.views[length] ??= this.bytes.subarray(0, length)
    return this.views[length]
  }
}

const LEAF_VERSION = 1
/** The byte before the data of a leaf, see `leafHash`. */
const LEAF_PREFIX = '\u0000'
/** The kind and a number. */
const NUMBER_ID_BYTES = 9
const QUOTE = 0x22
const COMMA = 0x2c
/** The digits of a number of two bytes, and a comma. */
const CELL_BYTES_MAX = 6
/** Fragments that all leaves of a head share. */
const BUCKET = 0
const ONE_TO_KEY = 1
const BATCH_TO_KEY = 2
const LATENCY = 3
const RECORD_INDEX = 4
const RECORDS = 5
const REQUEST_ID = 6
const RESULTS = 7
const SCORED_AT_MS = 8
const SERVED = 9
const END = 10
/** Fragments of the first model; those of the next follow. */
const MODELS = 11
const TO_CELLS = 0
const TO_GRADE = 1
const TO_PD = 2
const TO_SCORE = 3
const TO_WARNINGS = 4
const AFTER_RESULT = 5
const FAILED_RESULT = 6
const MODEL_FRAGMENTS = 7
/** As JSON a byte takes at most six, and quotes stand around the text. */
const TEXT8_ROOM = 2 + 6 * 255
/** More than the digits of all numbers of a leaf that are not of a model. */
const NUMBERS_ROOM = 128
/** More than the digits of a model's grade, probability, score and warnings. */
const RESULT_ROOM = 80
/** The leaf that is being written. */
const memory = new LeafMemory()

interface ModelCells {
  readonly features: number
  readonly bytesPerCell: 1 | 2
  /** Bytes of a result with these cells. */
  readonly resultBytes: number
  /** Index of the model's first fragment. */
  readonly first: number
}

/**
 * Writes what the tree holds of each applicant of a record of version 4: everything but the
 * reference and the record ids, so that these can be erased and the proofs of the others stay
 * valid. The text is JSON in the canonical form of RFC 8785.
 *
 * Bytes are put together from prepared fragments and the record. With strings, joined and given to
 * the hash, `encodeByHour` takes 18 % more processor time for a single score, and 25 % more for one
 * of a batch. Ids and keys by `JSON.stringify`: 10 % more. In process, in blocks of 1,000 scores, as
 * `npm run bench -- proof` measures them.
 */
export class LeafTexts {
  readonly teamId: string
  private readonly fragments: PreparedFragments
  private readonly models: readonly ModelCells[]
  /** The longest that a leaf can be. */
  private readonly bytesMax: number

  constructor(head: RecordHead) {
    const { cacheVersion, deploymentId, engineVersion, teamId } = head
    this.teamId = teamId
    const toBatch =
      `,"cache_version":${cacheVersion},"deployment_id":${JSON.stringify(deploymentId)}` +
      `,"engine_version":${engineVersion},"is_batch":`
    const texts = [
      `${LEAF_PREFIX}{"bucket":`,
      `${toBatch}false,"key_id":`,
      `${toBatch}true,"key_id":`,
      ',"latency_us":',
      ',"record_index":',
      ',"records":',
      ',"request_id":',
      ',"results":[',
      '],"scored_at_ms":',
      ',"served":',
      `,"team_id":${JSON.stringify(teamId)},"version":${LEAF_VERSION}}`,
      ...head.models.flatMap(textsAround),
    ]
    this.fragments = PreparedFragments.of(texts)
    this.models = head.models.map(({ features, bytesPerCell }, position) => ({
      features,
      bytesPerCell,
      resultBytes: RESULT_HEADER_BYTES + features * bytesPerCell,
      first: MODELS + position * MODEL_FRAGMENTS,
    }))
    this.bytesMax = head.models.reduce(
      (sum, { features }) => sum + RESULT_ROOM + CELL_BYTES_MAX * features,
      texts.reduce((sum, text) => sum + Buffer.byteLength(text), 2 * TEXT8_ROOM + NUMBERS_ROOM),
    )
  }

  /** @throws Error as `readHeadV4` */
  static of(payload: Buffer): LeafTexts {
    return new LeafTexts(readHeadV4(payload.subarray(HEAD_AT, findHeadEnd(payload))))
  }

  /**
   * Writes the leaves of a record with this head.
   *
   * @param onLeaf called for each applicant, in their order, with the byte 0 and the leaf's text in
   *   UTF-8: what is hashed. The bytes are valid during the call.
   * @throws Error that says what is wrong with the record, without quoting it
   */
  each(record: RecordScanner, onLeaf: (leaf: Buffer, index: number) => void): void {
    const { fragments, models } = this
    const { payload, rows, bucket, served } = record
    const scoredAtText = `${record.scoredAtMs}`
    let from = record.rowsAt
    memory.reserve(this.bytesMax)
    const { bytes, view } = memory
    // What stands before the index is the same in all leaves of a record.
    let start = fragments.write(view, 0, BUCKET)
    start = writeText(bytes, start, bucket === NO_BUCKET ? 'null' : `${bucket}`)
    start = fragments.write(view, start, record.flags === IS_BATCH ? BATCH_TO_KEY : ONE_TO_KEY)
    start = writeJsonText(bytes, start, payload, record.keyAt)
    start = fragments.write(view, start, LATENCY)
    start = writeDigits(bytes, start, record.latencyUs)
    start = fragments.write(view, start, RECORD_INDEX)
    for (let row = 0; row < rows; row++) {
      let at = writeDigits(bytes, start, row)
      at = fragments.write(view, at, RECORDS)
      at = writeDigits(bytes, at, rows)
      at = fragments.write(view, at, REQUEST_ID)
      at = writeJsonText(bytes, at, payload, record.idAt)
      at = fragments.write(view, at, RESULTS)
      from = endOfId(payload, from)
      for (let position = 0; position < models.length; position++) {
        const model = models[position]
        if (model === undefined) break
        if (payload.readUInt8(from) === SCORED) {
          if (from + model.resultBytes > payload.length) throw new Error(CUT_OFF)
          at = this.writeResult(at, record, from, model)
          from += model.resultBytes
        } else {
          at = fragments.write(view, at, model.first + FAILED_RESULT)
          from++
        }
      }
      at = fragments.write(view, at, SCORED_AT_MS)
      at = writeText(bytes, at, scoredAtText)
      at = fragments.write(view, at, SERVED)
      at = writeDigits(bytes, at, served)
      onLeaf(memory.written(fragments.write(view, at, END)), row)
    }
    if (from !== payload.length) throw new Error('the record is longer than its contents')
  }

  /** @param from offset of the status of the result, which the record has whole */
  private writeResult(
    start: number,
    record: RecordScanner,
    from: number,
    model: ModelCells,
  ): number {
    const { fragments } = this
    const { bytes, view } = memory
    const { first } = model
    const result = record.base + from
    let at = fragments.write(view, start, first + TO_CELLS)
    at = writeCells(at, record.payload, from + RESULT_HEADER_BYTES, model)
    at = fragments.write(view, at, first + TO_GRADE)
    const grade = record.view.getUint32(result + 17, true)
    at = grade === NO_GRADE ? writeText(bytes, at, 'null') : writeDigits(bytes, at, grade)
    at = fragments.write(view, at, first + TO_PD)
    at = writeText(bytes, at, numberText(record.view.getFloat64(result + 9, true)))
    at = fragments.write(view, at, first + TO_SCORE)
    at = writeText(bytes, at, numberText(record.view.getFloat64(result + 1, true)))
    at = fragments.write(view, at, first + TO_WARNINGS)
    at = writeDigits(bytes, at, record.view.getUint16(result + 21, true))
    return fragments.write(view, at, first + AFTER_RESULT)
  }
}

const CUT_OFF = 'the record is cut off'

/** The fragments of a model, in the order of their constants. */
function textsAround(model: RecordModel, position: number): string[] {
  const { baselineId, challengerId, modelId, specSha256 } = model
  const comma = position > 0 ? ',' : ''
  const toCells = `${comma}{"baseline_id":${JSON.stringify(baselineId)},"cells":[`
  const toGrade = `],"challenger_id":${JSON.stringify(challengerId)},"grade":`
  const toPd = `,"model_id":${JSON.stringify(modelId)},"pd":`
  const toScore = ',"score":'
  const toWarnings = `,"spec_sha256":${JSON.stringify(specSha256)},"warnings":`
  const failed = `${toCells}${toGrade}null${toPd}null${toScore}null${toWarnings}0}`
  return [toCells, toGrade, toPd, toScore, toWarnings, '}', failed]
}

/** Writes the cells of a result with commas between them. */
function writeCells(start: number, payload: Buffer, from: number, model: ModelCells): number {
  const { features, bytesPerCell } = model
  const { bytes } = memory
  let at = start
  for (let feature = 0; feature < features; feature++) {
    const cell =
      bytesPerCell === 1 ? (payload[from + feature] ?? 0) : payload.readUInt16LE(from + 2 * feature)
    if (feature > 0) bytes[at++] = COMMA
    at = writeDigits(bytes, at, cell)
  }
  return at
}

/** Writes a text with a byte of length before it as JSON; ids need no escapes. */
function writeJsonText(bytes: Buffer, start: number, payload: Buffer, from: number): number {
  const end = endOfText(payload, from)
  let at = start
  bytes[at++] = QUOTE
  for (let index = from + 1; index < end; index++) {
    const byte = payload[index] ?? 0
    if (!isPlain(byte)) {
      const text = JSON.stringify(text8(payload, from))
      return start + bytes.write(text, start)
    }
    bytes[at++] = byte
  }
  bytes[at++] = QUOTE
  return at
}

/** As `JSON.stringify` writes a number. */
function numberText(number: number): string {
  return Number.isFinite(number) ? `${number}` : 'null'
}

function findHeadEnd(payload: Buffer): number {
  return HEAD_AT + payload.readUInt16LE(1)
}

/** A text with a byte of length before it. */
function text8(payload: Buffer, at: number): string {
  return payload.toString('utf8', at + 1, endOfText(payload, at))
}

function endOfText(payload: Buffer, at: number): number {
  const end = at + 1 + payload.readUInt8(at)
  if (end > payload.length) throw new Error(CUT_OFF)
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

const DIGIT_0 = 0x30
const DELETE = 0x7f
/** By ASCII code: 1 where a character of a JSON text is written as it is. */
const PLAIN = Uint8Array.from({ length: 256 }, (_, code) =>
  code >= 0x20 && code < DELETE && code !== 0x22 && code !== 0x5c ? 1 : 0,
)

/** Tells whether a byte of a text is the same in JSON. */
function isPlain(byte: number): boolean {
  return PLAIN[byte] === 1
}

/**
 * Writes the digits of a whole number from 0 to 2^32 - 1.
 *
 * @returns offset at which they end
 */
function writeDigits(bytes: Uint8Array, from: number, value: number): number {
  if (value < 10) {
    bytes[from] = DIGIT_0 + value
    return from + 1
  }
  let places = 1
  for (let rest = value; rest >= 10; places++) rest = (rest / 10) >>> 0
  const end = from + places
  let rest = value
  for (let at = end - 1; at >= from; at--) {
    bytes[at] = DIGIT_0 + (rest % 10)
    rest = (rest / 10) >>> 0
  }
  return end
}
