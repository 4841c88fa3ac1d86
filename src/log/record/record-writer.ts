import type { ModelScore } from '../../engine/index.ts'
import { AppError } from '../../errors.ts'
import { UTF8_BYTES_MAX, writeText } from '../../platform/bytes/utf8-writer.ts'
import { FRAME_HEADER_BYTES, PAYLOAD_BYTES_MAX, sealFrame } from '../spool/frames.ts'
import type { PreparedHead } from './prepared-head.ts'
import {
  BUCKET_AT,
  FAILED,
  FIXED_FACTS_BYTES,
  FLAGS_AT,
  HAS_SCORE_KEY,
  ID_HEADER_BYTES,
  ID_NULL,
  ID_NUMBER,
  ID_UTF8,
  ID_UTF16,
  IS_BATCH,
  KEY_HASH_BYTES,
  LATENCY_AT,
  LATENCY_US_MAX,
  type ModelParts,
  NO_BUCKET,
  RESULT_HEADER_BYTES,
  ROWS_AT,
  SCORE_KEY_BYTES,
  SCORED,
  SCORED_AT,
  type ScoreKey,
  SERVED_AT,
  WARNINGS_MAX,
} from './record-v4.ts'

const BYTES_MIN = 256 * 1024
/** A buffer that a burst has made larger than this is released after it. */
const BUFFER_BYTES_MAX = 4 * 1024 * 1024
const TEXT8_BYTES_MAX = 255
const NUMBER_ID_BYTES = 9

/** The facts of a request that are known before its applicants are scored. */
export interface RequestFacts {
  readonly requestId: string
  readonly keyId: string
  /** The lender's application number; null for none. */
  readonly reference: string | null
  /** Null for none, as for each batch. */
  readonly key: ScoreKey | null
}

/** The facts of a request that are known once its response is made. */
export interface ResponseFacts {
  readonly scoredAtMs: number
  /** From the request's headers to its serialized response. */
  readonly latencyMs: number
  /** Bucket of a live split, else null. */
  readonly bucket: number | null
  /** Position of the model that answered, the champion's is 0. */
  readonly served: number
  readonly isBatch: boolean
}

/**
 * Writes records of version 4 into one buffer, frame after frame. The layout is in `record-v4.ts`.
 *
 * One record is open at a time, from `begin` to `end`, within one turn of the event loop. The next
 * `begin` drops a record that was not ended. A record above `PAYLOAD_BYTES_MAX` is refused with
 * AppError `payload_too_large`, because the drain could not read it.
 */
export class RecordWriter {
  private bytes: Buffer = Buffer.allocUnsafe(BYTES_MIN)
  private view = viewBytes(this.bytes)
  private used = 0
  /** End of the records that are ended. */
  private ended = 0
  /** Place of the facts of the open record, which `end` fills in. */
  private factsAt = 0
  /** Place of the first row of the open record. */
  private rowsAt = 0
  private rows = 0
  /** Of the open record. */
  private hasKey = false

  /** Bytes of the records that ended since the last `clear`. */
  get endedBytes(): number {
    return this.ended
  }

  begin({ bytes: head }: PreparedHead, { requestId, keyId, reference, key }: RequestFacts): void {
    const factsBytes = FIXED_FACTS_BYTES + 3 * (1 + TEXT8_BYTES_MAX) + SCORE_KEY_BYTES
    this.reserve(this.ended, FRAME_HEADER_BYTES + head.length + factsBytes)
    const { bytes } = this
    const headAt = this.ended + FRAME_HEADER_BYTES
    bytes.set(head, headAt)
    this.factsAt = headAt + head.length
    let at = this.factsAt + FIXED_FACTS_BYTES
    at = writeText8(bytes, at, requestId)
    at = writeText8(bytes, at, keyId)
    at = writeText8(bytes, at, reference ?? '')
    this.hasKey = key !== null
    if (key !== null) at = writeKey(bytes, at, key)
    this.used = at
    this.rowsAt = at
    this.rows = 0
  }

  /** A copy of the rows of the open record, which another writer can add below the same head. */
  copiedRows(): Uint8Array<ArrayBuffer> {
    return new Uint8Array(this.bytes.subarray(this.rowsAt, this.used))
  }

  /** Adds rows that another writer has written below the same head. */
  addRows(rows: Uint8Array, count: number): void {
    this.reserve(this.used, rows.length)
    this.bytes.set(rows, this.used)
    this.used += rows.length
    this.rows += count
    this.checkSize()
  }

  /** @param id the applicant's record id; null unless it is a text or a finite number */
  openRow(id: unknown): void {
    this.rows++
    if (typeof id === 'string') this.writeTextId(id)
    else if (typeof id === 'number' && Number.isFinite(id)) {
      this.reserve(this.used, NUMBER_ID_BYTES)
      this.bytes[this.used] = ID_NUMBER
      this.view.setFloat64(this.used + 1, id, true)
      this.used += NUMBER_ID_BYTES
    } else {
      this.reserve(this.used, 1)
      this.bytes[this.used++] = ID_NULL
    }
  }

  /** Writes the result of a model; models come in the order of the head. */
  result(modelScore: ModelScore, parts: ModelParts, warningCount: number): void {
    this.reserve(this.used, parts.resultBytes)
    const { bytes, view, used } = this
    bytes[used] = SCORED
    view.setFloat64(used + 1, modelScore.score, true)
    view.setFloat64(used + 9, modelScore.pd, true)
    // -1 becomes the number that stands for none.
    view.setUint32(used + 17, modelScore.gradeIndex, true)
    view.setUint16(used + 21, Math.min(warningCount, WARNINGS_MAX), true)
    const at = used + RESULT_HEADER_BYTES
    if (parts.bytesPerCell === 1) writeCells(bytes, at, modelScore.slots, parts.cellOfSlot)
    else writeLargeCells(view, at, modelScore.slots, parts.cellOfSlot)
    this.used = used + parts.resultBytes
  }

  noResult(): void {
    this.reserve(this.used, 1)
    this.bytes[this.used++] = FAILED
  }

  closeRow(): void {
    this.checkSize()
  }

  end({ scoredAtMs, latencyMs, bucket, served, isBatch }: ResponseFacts): void {
    this.checkSize()
    const { view, factsAt } = this
    const latencyUs = Math.min(Math.max(Math.round(latencyMs * 1_000), 0), LATENCY_US_MAX)
    view.setFloat64(factsAt + SCORED_AT, scoredAtMs, true)
    view.setUint32(factsAt + LATENCY_AT, latencyUs, true)
    view.setInt16(factsAt + BUCKET_AT, bucket ?? NO_BUCKET, true)
    view.setUint8(factsAt + SERVED_AT, served)
    view.setUint8(factsAt + FLAGS_AT, (isBatch ? IS_BATCH : 0) | (this.hasKey ? HAS_SCORE_KEY : 0))
    view.setUint32(factsAt + ROWS_AT, this.rows, true)
    sealFrame(this.bytes, this.ended, this.used)
    this.ended = this.used
  }

  /** The frames of the records that ended; valid until the next `begin`. */
  frames(): Buffer {
    return this.bytes.subarray(0, this.ended)
  }

  clear(): void {
    this.ended = 0
    this.used = 0
    if (this.bytes.length > BUFFER_BYTES_MAX) this.replace(Buffer.allocUnsafe(BYTES_MIN))
  }

  /** Half a character has no UTF-8. */
  private writeTextId(id: string): void {
    this.reserve(this.used, ID_HEADER_BYTES + UTF8_BYTES_MAX * id.length)
    const { bytes, view, used } = this
    const at = used + ID_HEADER_BYTES
    const isWellFormed = id.isWellFormed()
    this.used = isWellFormed ? writeText(bytes, at, id) : at + bytes.write(id, at, 'utf16le')
    bytes[used] = isWellFormed ? ID_UTF8 : ID_UTF16
    view.setUint32(used + 1, this.used - at, true)
  }

  private checkSize(): void {
    if (this.used - this.ended <= FRAME_HEADER_BYTES + PAYLOAD_BYTES_MAX) return
    throw new AppError(
      'payload_too_large',
      'the record of this request in the score log would be larger than 32 MiB: send fewer records',
    )
  }

  private reserve(from: number, bytes: number): void {
    const wanted = from + bytes
    if (wanted <= this.bytes.length) return
    const larger = Buffer.allocUnsafe(Math.max(wanted, 2 * this.bytes.length))
    this.bytes.copy(larger, 0, 0, from)
    this.replace(larger)
  }

  private replace(bytes: Buffer): void {
    this.bytes = bytes
    this.view = viewBytes(bytes)
  }
}

function viewBytes({ buffer, byteOffset, length }: Buffer): DataView {
  return new DataView(buffer, byteOffset, length)
}

/** Writes a text of at most 255 bytes, which no id and no reference exceeds. */
function writeText8(bytes: Buffer, from: number, text: string): number {
  const end = writeText(bytes, from + 1, text)
  if (end - from - 1 > TEXT8_BYTES_MAX) throw new Error('an id is too long for the score log')
  bytes[from] = end - from - 1
  return end
}

function writeKey(bytes: Buffer, from: number, { keyHash, bodyHash }: ScoreKey): number {
  bytes.set(keyHash, from)
  bytes.set(bodyHash, from + KEY_HASH_BYTES)
  return from + SCORE_KEY_BYTES
}

function writeCells(bytes: Buffer, from: number, slots: Int32Array, cellOfSlot: Uint16Array): void {
  for (let feature = 0; feature < slots.length; feature++) {
    bytes[from + feature] = cellOfSlot[slots[feature] ?? 0] ?? 0
  }
}

function writeLargeCells(
  view: DataView,
  from: number,
  slots: Int32Array,
  cellOfSlot: Uint16Array,
): void {
  for (let feature = 0; feature < slots.length; feature++) {
    view.setUint16(from + 2 * feature, cellOfSlot[slots[feature] ?? 0] ?? 0, true)
  }
}

const NO_RESULT_BYTES = 1
/** Request, key and reference, each with the byte of its length. */
const FACT_TEXTS_BYTES = 3 * 256
const NO_ID_BYTES = 1

/**
 * Upper bound of the size of a deployment's records in the log, known before an applicant is
 * scored. Its test checks that no record is larger.
 */
export class RecordBytes {
  private readonly frameBytes: number
  private readonly rowBytes: number

  /** @param models champion first; null for a challenger that could not be loaded */
  constructor({ bytes: head }: PreparedHead, models: readonly (ModelParts | null)[]) {
    this.rowBytes = models.reduce(
      (bytes, parts) => bytes + (parts?.resultBytes ?? NO_RESULT_BYTES),
      0,
    )
    this.frameBytes = FRAME_HEADER_BYTES + head.length + FIXED_FACTS_BYTES + FACT_TEXTS_BYTES
  }

  /** Most bytes of the record of one applicant without a record id. */
  get single(): number {
    return this.frameBytes + SCORE_KEY_BYTES + this.rowBytes + NO_ID_BYTES
  }

  /** Most bytes of the record of a batch with these record ids, which can have any type. */
  ofBatch(ids: readonly unknown[]): number {
    let bytes = this.frameBytes + ids.length * this.rowBytes
    for (const id of ids) bytes += idBytesMax(id)
    return bytes
  }

  /**
   * Rejects a batch whose record would be too large, before it is scored.
   *
   * @throws AppError `payload_too_large`
   */
  requireRoomFor(ids: readonly unknown[]): void {
    const bytes = this.ofBatch(ids)
    if (bytes > PAYLOAD_BYTES_MAX) throw tooLarge(bytes, ids.length)
  }

  /** @throws AppError `payload_too_large` */
  requireRoomForOne(): void {
    if (this.single > PAYLOAD_BYTES_MAX) throw tooLarge(this.single, 1)
  }
}

/** Exact for a long text, because three bytes a character would be far too many. */
function idBytesMax(id: unknown): number {
  if (typeof id === 'number') return NUMBER_ID_BYTES
  if (typeof id !== 'string') return NO_ID_BYTES
  if (id.length <= SHORT_ID_CHARS) return ID_HEADER_BYTES + UTF8_BYTES_MAX * id.length
  return ID_HEADER_BYTES + (id.isWellFormed() ? Buffer.byteLength(id) : 2 * id.length)
}

const SHORT_ID_CHARS = 100

function tooLarge(bytes: number, records: number): AppError {
  const [mebibytes, most] = [bytes, PAYLOAD_BYTES_MAX].map((size) => Math.ceil(size / 1024 / 1024))
  const what = `its results could take ${mebibytes} MiB in the score log, above the limit of ${most} MiB`
  const fitting = Math.floor((records * PAYLOAD_BYTES_MAX) / bytes)
  const advice =
    fitting > 0
      ? `send at most ${fitting} records at a time`
      : 'remove challengers from the deployment'
  return new AppError('payload_too_large', `the request is too large: ${what}; ${advice}`)
}
