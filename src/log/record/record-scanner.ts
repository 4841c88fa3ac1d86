import {
  BUCKET_AT,
  FIXED_FACTS_BYTES,
  FLAGS_AT,
  HAS_SCORE_KEY,
  HEAD_AT,
  KEY_HASH_BYTES,
  LATENCY_AT,
  ROWS_AT,
  SCORE_KEY_BYTES,
  SCORED_AT,
  type ScoreKey,
  SERVED_AT,
} from './record-v4.ts'

const NO_MEMORY = new ArrayBuffer(0)
const ASCII_MAX = 0x7f
const CUT_OFF = 'the record is cut off'

/**
 * The facts of one record after the other, and where its texts and rows begin. It is used again for
 * each record and makes no object of one: whoever drains reads millions of them.
 */
export class RecordScanner {
  payload: Buffer = Buffer.alloc(0)
  /** Over all memory that the payload is part of, from `base` on: faster than reading a Buffer. */
  view = new DataView<ArrayBufferLike>(NO_MEMORY)
  base = 0
  scoredAtMs = 0
  latencyUs = 0
  /** -1 for none. */
  bucket = 0
  served = 0
  flags = 0
  rows = 0
  /** Offsets of texts with a byte of length before them. */
  idAt = 0
  keyAt = 0
  referenceAt = 0
  /** Offset after the texts: of the score key, if there is one, or of the first row. */
  textsEnd = 0
  /** Offset of the first row. */
  rowsAt = 0
  /** Each byte a character: an id of the service is ASCII. */
  requestId = ''
  private memory: ArrayBufferLike = NO_MEMORY

  /**
   * Reads a record of version 4 up to its rows.
   *
   * @throws Error that says what is wrong with the record, without quoting it
   */
  scan(payload: Buffer): this {
    const memory = payload.buffer
    if (memory !== this.memory) {
      this.memory = memory
      this.view = new DataView(memory)
    }
    const factsAt = HEAD_AT + payload.readUInt16LE(1)
    this.payload = payload
    this.base = payload.byteOffset
    this.idAt = factsAt + FIXED_FACTS_BYTES
    this.keyAt = endOfText(payload, this.idAt)
    this.referenceAt = endOfText(payload, this.keyAt)
    this.textsEnd = endOfText(payload, this.referenceAt)
    const { view } = this
    const facts = this.base + factsAt
    this.scoredAtMs = view.getFloat64(facts + SCORED_AT, true)
    this.latencyUs = view.getUint32(facts + LATENCY_AT, true)
    this.bucket = view.getInt16(facts + BUCKET_AT, true)
    this.served = view.getUint8(facts + SERVED_AT)
    this.flags = view.getUint8(facts + FLAGS_AT)
    this.rowsAt = this.textsEnd + (this.flags === HAS_SCORE_KEY ? SCORE_KEY_BYTES : 0)
    this.rows = view.getUint32(facts + ROWS_AT, true)
    this.requestId = payload.toString('latin1', this.idAt + 1, this.keyAt)
    // A row has at least the kind of its record id.
    if (this.rows > payload.length - this.rowsAt) throw new Error(CUT_OFF)
    return this
  }

  /** A copy; null if the record has none. */
  readKey(): ScoreKey | null {
    const { payload, textsEnd, rowsAt } = this
    if (rowsAt === textsEnd) return null
    const bytes = new Uint8Array(payload.subarray(textsEnd, rowsAt))
    return { keyHash: bytes.subarray(0, KEY_HASH_BYTES), bodyHash: bytes.subarray(KEY_HASH_BYTES) }
  }

  /** The request's id, also if it is not of the service. */
  requestIdText(): string {
    const { requestId } = this
    for (let at = 0; at < requestId.length; at++) {
      if (requestId.charCodeAt(at) > ASCII_MAX) {
        return this.payload.toString('utf8', this.idAt + 1, this.keyAt)
      }
    }
    return requestId
  }
}

/** Offset after a text with a byte of length before it. */
function endOfText(payload: Buffer, at: number): number {
  const end = at + 1 + (payload[at] ?? Number.POSITIVE_INFINITY)
  if (end > payload.length) throw new Error(CUT_OFF)
  return end
}
