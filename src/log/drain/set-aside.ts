import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, renameSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { LogReader } from '../reading/log-reader.ts'
import { RECORD_V4, type RecordV4, readRecordV4, requireSound } from '../record/record-v4.ts'
import { scanFrames } from '../spool/frames.ts'
import { CursorMovedError } from './spool-cursors.ts'
import type { ScoreLogStore } from './store.ts'

/** A file of `DeadLetters`, as an operator examines it. */
export interface SetAside {
  readonly path: string
  readonly file: string
  /** Why it was set aside. */
  readonly reason: string
  readonly setAsideAt: Date
  readonly payload: Buffer
  /** The records that this version reads in it. */
  readonly records: readonly RecordV4[]
  /** Why it can't be put back; null if it can. */
  readonly fault: string | null
  /** Ids of requests that its bytes name, also where they are damaged. */
  readonly requestIds: readonly string[]
}

const ENDING = '.rejected'
/** The file stays under this ending once its records are in the log. */
const RESTORED = '.restored'
/** Without a frame no checksum tells which. */
const UNREADABLE = 'its bytes are damaged, or of another version'
const LINE_BREAK = 0x0a
const REQUEST_ID = /req_[0-9A-Za-z]{8,64}/g
const ID_CHARS = 32

/** Lists the files that wait for an operator, in the order of their names. */
export function listSetAside(directory: string): SetAside[] {
  return namesIn(directory).map((name) => readSetAside(join(directory, name)))
}

/** @throws Error with the code ENOENT if there is no such file */
function readSetAside(path: string): SetAside {
  const bytes = readFileSync(path)
  const end = bytes.indexOf(LINE_BREAK)
  const payload = bytes.subarray(end + 1)
  const { records, fault } = recordsIn(payload)
  return {
    path,
    file: basename(path),
    reason: reasonIn(bytes.toString('utf8', 0, Math.max(0, end))),
    setAsideAt: statSync(path).mtime,
    payload,
    records,
    fault,
    requestIds: [...new Set(payload.toString('latin1').match(REQUEST_ID) ?? [])],
  }
}

/**
 * Stores the records of a file that the log lacks, and gives the file the ending `.restored`. The log
 * has one where a spool was drained again after a failover. The database remembers the file under a
 * name that follows from its bytes, so that two calls at the same time store nothing twice.
 *
 * @returns the number of records that it stored
 */
export async function restoreSetAside(
  { path, payload, records }: SetAside,
  store: Pick<ScoreLogStore, 'append'>,
  log: Pick<LogReader, 'find'>,
): Promise<number> {
  const lacking: RecordV4[] = []
  for (const record of records) {
    if ((await log.find(record.requestId)) === null) lacking.push(record)
  }
  const stored = lacking.length > 0 && (await appendOnce(payload, lacking, store))
  renameSync(path, `${path.slice(0, -ENDING.length)}${RESTORED}`)
  return stored ? lacking.length : 0
}

/** @returns false if the database had stored the file before */
async function appendOnce(
  payload: Buffer,
  records: readonly RecordV4[],
  store: Pick<ScoreLogStore, 'append'>,
): Promise<boolean> {
  const digest = createHash('sha256').update(payload).digest('hex').slice(0, ID_CHARS)
  const from = { segment: 0, offset: 0 }
  const to = { segment: 1, offset: payload.length }
  try {
    await store.append(records, { spoolId: `restored-${digest}`, from, to })
    return true
  } catch (error) {
    if (!(error instanceof CursorMovedError)) throw error
    return false
  }
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory)
      .filter((name) => name.endsWith(ENDING))
      .sort()
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return []
    throw error
  }
}

function reasonIn(line: string): string {
  try {
    const { reason } = JSON.parse(line)
    return typeof reason === 'string' ? reason : 'unknown'
  } catch {
    return 'unknown'
  }
}

/** Reads a record without a frame, as the drain sets it aside, or whole frames, as in a segment. */
function recordsIn(payload: Buffer): Pick<SetAside, 'records' | 'fault'> {
  const { payloads, damaged, tornAt } = scanFrames(payload, payload.length)
  const isFramed = payloads.length > 0 && damaged.length === 0 && tornAt === null
  const parts = isFramed ? payloads : [{ start: 0, end: payload.length }]
  const records: RecordV4[] = []
  try {
    for (const { start, end } of parts) records.push(readRecordV4(payload.subarray(start, end)))
    for (const record of records) requireSound(record)
    return { records, fault: null }
  } catch (error) {
    if (!isFramed && payload[0] !== RECORD_V4) return { records: [], fault: UNREADABLE }
    return { records: [], fault: error instanceof Error ? error.message : UNREADABLE }
  }
}
