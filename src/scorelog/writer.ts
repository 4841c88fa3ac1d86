import { UTF8_BYTES_MAX, writeText } from '../byte-text.ts'
import type { ScoreSheet } from '../engine/index.ts'
import { FRAME_HEADER_BYTES, sealFrame } from './frames.ts'
import type { ModelParts } from './model-parts.ts'
import { FIELD_SEPARATOR } from './record.ts'

const BYTES_MIN = 256 * 1024
/** A buffer that a burst has made larger is given up after it. */
const BYTES_KEPT_MAX = 4 * 1024 * 1024
const QUOTE = 0x22
const COMMA = 0x2c
const MINUS = 0x2d
const ZERO = 0x30
const OPEN = 0x5b
const CLOSE = 0x5d
const NULL_RESULT = ',null'
const END_OF_RESULTS = `]}${FIELD_SEPARATOR}`

/**
 * Writes records into one buffer, frame after frame, byte by byte: texts joined from twenty pieces for each
 * applicant would cost more than scoring him.
 *
 * One record is open at a time, from `begin` to `end`, within one turn of the event loop. A record that
 * was begun and not ended is gone with the next `begin`.
 */
export class RecordWriter {
  private bytes: Buffer = Buffer.allocUnsafe(BYTES_MIN)
  private used = 0
  /** Up to here records are ended. */
  private ended = 0
  private hasRow = false

  /** Bytes of the records that ended since the last `clear`. */
  get endedBytes(): number {
    return this.ended
  }

  /** @param head of the results, `{"models":[…],"results":[` */
  begin(head: Buffer): void {
    this.reserve(this.ended, FRAME_HEADER_BYTES + head.length)
    this.used = this.ended + FRAME_HEADER_BYTES
    this.used += head.copy(this.bytes, this.used)
    this.hasRow = false
  }

  /** @param idText the applicant's record id as JSON */
  openRow(idText: string): void {
    this.reserve(this.used, 2 + UTF8_BYTES_MAX * idText.length)
    const { bytes } = this
    let at = this.used
    if (this.hasRow) bytes[at++] = COMMA
    bytes[at++] = OPEN
    this.hasRow = true
    this.used = writeText(bytes, at, idText)
  }

  /** The result that stands in a model's sheet; models in the order of the head. */
  result(sheet: ScoreSheet, parts: ModelParts, warningCount: number): void {
    this.reserve(this.used, parts.resultBytesMax)
    const { bytes } = this
    let at = this.used
    bytes[at++] = COMMA
    bytes[at++] = OPEN
    at = writeNumber(bytes, at, sheet.score)
    bytes[at++] = COMMA
    at = writeNumber(bytes, at, sheet.pd)
    bytes[at++] = COMMA
    at = writeText(bytes, at, parts.gradeText(sheet.grade))
    bytes[at++] = COMMA
    at = writeNumber(bytes, at, warningCount)
    bytes[at++] = COMMA
    bytes[at++] = QUOTE
    at = writeBins(bytes, at, sheet.slots, parts.binOfSlot)
    bytes[at++] = QUOTE
    bytes[at++] = CLOSE
    this.used = at
  }

  /** In place of the result of a model that has none. */
  noResult(): void {
    this.reserve(this.used, NULL_RESULT.length)
    this.used = writeText(this.bytes, this.used, NULL_RESULT)
  }

  closeRow(): void {
    this.reserve(this.used, 1)
    this.bytes[this.used++] = CLOSE
  }

  /** @param facts the fields behind the results */
  end(facts: string): void {
    this.reserve(this.used, UTF8_BYTES_MAX * (END_OF_RESULTS.length + facts.length))
    this.used = writeText(this.bytes, this.used, END_OF_RESULTS)
    this.used = writeText(this.bytes, this.used, facts)
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
    if (this.bytes.length > BYTES_KEPT_MAX) this.bytes = Buffer.allocUnsafe(BYTES_MIN)
  }

  private reserve(from: number, bytes: number): void {
    const wanted = from + bytes
    if (wanted <= this.bytes.length) return
    const larger = Buffer.allocUnsafe(Math.max(wanted, 2 * this.bytes.length))
    this.bytes.copy(larger, 0, 0, from)
    this.bytes = larger
  }
}

/** As JSON writes it: what is not finite is null. */
function writeNumber(bytes: Buffer, from: number, value: number): number {
  if (value >= 0 && value <= 9 && Number.isInteger(value)) {
    bytes[from] = ZERO + value
    return from + 1
  }
  return writeText(bytes, from, Number.isFinite(value) ? String(value) : 'null')
}

/** @returns where the bins end */
function writeBins(bytes: Buffer, from: number, slots: Int32Array, binOfSlot: Int16Array): number {
  let at = from
  for (let feature = 0; feature < slots.length; feature++) {
    let bin = binOfSlot[slots[feature] ?? 0] ?? -1
    if (feature > 0) bytes[at++] = COMMA
    if (bin < 0) {
      bytes[at++] = MINUS
      bin = -bin
    }
    if (bin >= 100) bytes[at++] = ZERO + ((bin / 100) | 0)
    if (bin >= 10) bytes[at++] = ZERO + (((bin / 10) | 0) % 10)
    bytes[at++] = ZERO + (bin % 10)
  }
  return at
}
