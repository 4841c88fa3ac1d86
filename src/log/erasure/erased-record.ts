import {
  FIXED_FACTS_BYTES,
  FLAGS_AT,
  HEAD_AT,
  ID_HEADER_BYTES,
  ID_NULL,
  ID_NUMBER,
  ID_UTF16,
  IS_BATCH,
  RECORD_V4,
  RESULT_HEADER_BYTES,
  ROWS_AT,
  readHeadV4,
  SCORED,
  SCORED_AT,
} from '../record/record-v4.ts'

/** Which references of a team to take out of a request; null: none. */
export type Erases = (teamId: string, scoredAtMs: number) => ((reference: string) => boolean) | null

interface ErasedRecord {
  /** The given bytes if there was nothing to take out. */
  readonly payload: Buffer
  /** Number of references and record ids that were taken out. */
  readonly places: number
}

const TEAM_AT = HEAD_AT + 2
const NOTHING = Buffer.of(0)
const NULL_ID = Buffer.of(ID_NULL)

/**
 * Takes references out of a record: that of a single request, and in a batch the record ids.
 *
 * @throws Error that says what is wrong with the record, without quoting it
 */
export function withoutReferences(payload: Buffer, erases: Erases): ErasedRecord {
  if (payload[0] !== RECORD_V4) throw new Error('the record is of another version')
  const headEnd = HEAD_AT + payload.readUInt16LE(1)
  const teamId = payload.toString('utf8', TEAM_AT + 1, endOfText(payload, TEAM_AT))
  const isErased = erases(teamId, payload.readDoubleLE(headEnd + SCORED_AT))
  if (isErased === null) return { payload, places: 0 }
  const keyAt = endOfText(payload, headEnd + FIXED_FACTS_BYTES)
  const referenceAt = endOfText(payload, keyAt)
  const textsEnd = endOfText(payload, referenceAt)
  if (payload.readUInt8(headEnd + FLAGS_AT) === IS_BATCH) {
    return withoutRecordIds(payload, textsEnd, isErased)
  }
  const reference = payload.toString('utf8', referenceAt + 1, textsEnd)
  if (reference === '' || !isErased(reference)) return { payload, places: 0 }
  const parts = [payload.subarray(0, referenceAt), NOTHING, payload.subarray(textsEnd)]
  return { payload: Buffer.concat(parts), places: 1 }
}

function withoutRecordIds(
  payload: Buffer,
  rowsAt: number,
  isErased: (reference: string) => boolean,
): ErasedRecord {
  const headEnd = HEAD_AT + payload.readUInt16LE(1)
  const { models } = readHeadV4(payload.subarray(HEAD_AT, headEnd))
  const parts: Buffer[] = []
  let from = 0
  let places = 0
  let at = rowsAt
  for (let rest = payload.readUInt32LE(headEnd + ROWS_AT); rest > 0; rest--) {
    const end = endOfId(payload, at)
    const id = idText(payload, at, end)
    if (id !== null && isErased(id)) {
      parts.push(payload.subarray(from, at), NULL_ID)
      from = end
      places++
    }
    at = end
    for (const { features, bytesPerCell } of models) {
      const isScored = payload.readUInt8(at) === SCORED
      at += isScored ? RESULT_HEADER_BYTES + features * bytesPerCell : 1
    }
  }
  if (places === 0) return { payload, places }
  return { payload: Buffer.concat([...parts, payload.subarray(from)]), places }
}

/** @returns the offset after a `text8` */
function endOfText(payload: Buffer, at: number): number {
  return at + 1 + payload.readUInt8(at)
}

function endOfId(payload: Buffer, at: number): number {
  const kind = payload.readUInt8(at)
  if (kind === ID_NULL) return at + 1
  if (kind === ID_NUMBER) return at + 1 + Float64Array.BYTES_PER_ELEMENT
  return at + ID_HEADER_BYTES + payload.readUInt32LE(at + 1)
}

function idText(payload: Buffer, at: number, end: number): string | null {
  const kind = payload[at]
  if (kind === ID_NULL) return null
  if (kind === ID_NUMBER) return String(payload.readDoubleLE(at + 1))
  return payload.toString(kind === ID_UTF16 ? 'utf16le' : 'utf8', at + ID_HEADER_BYTES, end)
}
