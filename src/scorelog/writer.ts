import type { ScoreSheet } from '../engine/index.ts'
import { FRAME_HEADER_BYTES, sealFrame } from './frames.ts'
import type { ModelParts } from './model-parts.ts'

const BYTES_MIN = 256 * 1024
/** A buffer that a burst has made larger is given up after it. */
const BYTES_KEPT_MAX = 4 * 1024 * 1024
const QUOTE = 0x22
const COMMA = 0x2c
const MINUS = 0x2d
const ZERO = 0x30
const OPEN = 0x5b
const CLOSE = 0x5d
const LINE_BREAK = 0x0a
const NULL_RESULT = ',null'
const SHORT_CHARS_MAX = 40

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
    this.reserve(this.used, 3 + 3 * idText.length)
    if (this.hasRow) this.bytes[this.used++] = COMMA
    this.hasRow = true
    this.bytes[this.used++] = OPEN
    this.text(idText)
  }

  /** The result that stands in a model's sheet; models in the order of the head. */
  result(sheet: ScoreSheet, parts: ModelParts, warningCount: number): void {
    this.reserve(this.used, parts.resultBytesMax)
    const { bytes } = this
    bytes[this.used++] = COMMA
    bytes[this.used++] = OPEN
    this.number(sheet.score)
    bytes[this.used++] = COMMA
    this.number(sheet.pd)
    bytes[this.used++] = COMMA
    const grade = parts.gradeText(sheet.grade)
    this.used += grade.copy(bytes, this.used)
    bytes[this.used++] = COMMA
    this.number(warningCount)
    bytes[this.used++] = COMMA
    bytes[this.used++] = QUOTE
    this.used = writeBins(bytes, this.used, sheet.slots, parts.binOfSlot)
    bytes[this.used++] = QUOTE
    bytes[this.used++] = CLOSE
  }

  /** In place of the result of a model that has none. */
  noResult(): void {
    this.reserve(this.used, NULL_RESULT.length)
    this.text(NULL_RESULT)
  }

  closeRow(): void {
    this.reserve(this.used, 1)
    this.bytes[this.used++] = CLOSE
  }

  /** @param facts the second text of the record */
  end(facts: string): void {
    this.reserve(this.used, 3 + 3 * facts.length)
    this.text(']}')
    this.bytes[this.used++] = LINE_BREAK
    this.text(facts)
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

  /** As JSON writes it: what is not finite is null. */
  private number(value: number): void {
    if (value >= 0 && value <= 9 && Number.isInteger(value)) {
      this.bytes[this.used++] = ZERO + value
    } else {
      this.text(Number.isFinite(value) ? String(value) : 'null')
    }
  }

  private text(text: string): void {
    const { length } = text
    if (length > SHORT_CHARS_MAX) {
      this.used += this.bytes.write(text, this.used)
      return
    }
    for (let index = 0; index < length; index++) {
      const code = text.charCodeAt(index)
      if (code > 0x7f) {
        this.used += this.bytes.write(text.slice(index), this.used)
        return
      }
      this.bytes[this.used++] = code
    }
  }

  private reserve(from: number, bytes: number): void {
    const wanted = from + bytes
    if (wanted <= this.bytes.length) return
    const larger = Buffer.allocUnsafe(Math.max(wanted, 2 * this.bytes.length))
    this.bytes.copy(larger, 0, 0, from)
    this.bytes = larger
  }
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
