import { AppError } from '../../errors.ts'
import { FRAME_HEADER_BYTES } from '../spool/frames.ts'
import type { ModelParts } from './model-parts.ts'
import type { PreparedHead } from './prepared-head.ts'
import { FIXED_FACTS_BYTES, ID_HEADER_BYTES } from './record-v4.ts'

/** Largest record in the log. The drain holds a record, and what it makes of it, in memory. */
export const RECORD_BYTES_MAX = 32 * 1024 * 1024

const NO_RESULT_BYTES = 1
/** Request, key and reference, each with the byte of its length. */
const FACT_TEXTS_BYTES = 3 * 256
const NO_ID_BYTES = 1
const NUMBER_ID_BYTES = 9
/** Longest UTF-8 of a unit of UTF-16. */
const CHAR_BYTES = 3

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
    return this.frameBytes + this.rowBytes + NO_ID_BYTES
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
    if (bytes > RECORD_BYTES_MAX) throw tooLarge(bytes, ids.length)
  }

  /** @throws AppError `payload_too_large` */
  requireRoomForOne(): void {
    if (this.single > RECORD_BYTES_MAX) throw tooLarge(this.single, 1)
  }
}

/** Exact for a long text, because three bytes a character would be far too many. */
function idBytesMax(id: unknown): number {
  if (typeof id === 'number') return NUMBER_ID_BYTES
  if (typeof id !== 'string') return NO_ID_BYTES
  if (id.length <= SHORT_ID_CHARS) return ID_HEADER_BYTES + CHAR_BYTES * id.length
  return ID_HEADER_BYTES + (id.isWellFormed() ? Buffer.byteLength(id) : 2 * id.length)
}

const SHORT_ID_CHARS = 100

function tooLarge(bytes: number, records: number): AppError {
  const [mebibytes, most] = [bytes, RECORD_BYTES_MAX].map((size) => Math.ceil(size / 1024 / 1024))
  const what = `its results could take ${mebibytes} MiB in the score log, above the limit of ${most} MiB`
  const fitting = Math.floor((records * RECORD_BYTES_MAX) / bytes)
  const advice =
    fitting > 0
      ? `send at most ${fitting} records at a time`
      : 'remove challengers from the deployment'
  return new AppError('payload_too_large', `the request is too large: ${what}; ${advice}`)
}
