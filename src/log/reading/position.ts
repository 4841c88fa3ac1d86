import { AppError } from '../../errors.ts'
import { fromBase62, isId, toBase62 } from '../../platform/ids.ts'
import type { LogPosition } from './log-query.ts'

/** A record in the list of scores, which is newest first. */
export interface ScorePosition extends LogPosition {
  readonly recordIndex: number
}

const TIME_CHARS = 8
/** Sorts after the id of any request. */
const LAST_REQUEST = `req_${'z'.repeat(22)}`

/** The cursor of the page after this record. */
export function writePosition({ scoredAtMs, requestId, recordIndex }: ScorePosition): string {
  return `${toBase62(scoredAtMs, TIME_CHARS)}_${recordIndex}_${requestId}`
}

/** The cursor of the page with the scores of this moment and of earlier ones. */
export function writeMoment(scoredAtMs: number): string {
  return writePosition({ scoredAtMs, requestId: LAST_REQUEST, recordIndex: 0 })
}

/** @throws AppError `invalid_request` for a cursor of something else */
export function readPosition(cursor: string): ScorePosition {
  const [, time = '', index = '', requestId = ''] = /^(\w{8})_(\d{1,9})_(\w+)$/.exec(cursor) ?? []
  const scoredAtMs = fromBase62(time)
  if (scoredAtMs === null || scoredAtMs > LAST_MS || !isId(requestId, 'req_')) {
    throw new AppError('invalid_request', 'cursor is not of this list')
  }
  return { scoredAtMs, requestId, recordIndex: Number(index) }
}

/** The last moment that a database can store. */
const LAST_MS = Date.parse('9999-12-31T23:59:59.999Z')
