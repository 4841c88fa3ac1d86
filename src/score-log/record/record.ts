import { readRecordV3, type ScoreRecord } from './record-v3.ts'
import { RECORD_V4, type RecordV4, readRecordV4 } from './record-v4.ts'

/** A record of the spool in either form; records of version 3 come from processes that ended. */
export type AnyRecord = ScoreRecord | RecordV4

/**
 * Reads a record of either form, without its results.
 *
 * @throws Error that says what is wrong with the record, without quoting it
 */
export function readRecord(payload: Buffer): AnyRecord {
  return payload[0] === RECORD_V4 ? readRecordV4(payload) : readRecordV3(payload)
}

export function isRecordV4(record: AnyRecord): record is RecordV4 {
  return record.version === RECORD_V4
}
