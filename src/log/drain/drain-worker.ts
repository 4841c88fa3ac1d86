import { closeSync, openSync, readSync } from 'node:fs'
import { workerData } from 'node:worker_threads'
import { openThreadDatabase } from '../../platform/db/thread-database.ts'
import { HEAD_AT, RECORD_V4, SCORED_AT } from '../record/record-v4.ts'
import { scanFrames } from '../spool/frames.ts'
import type { DrainPosition, SegmentRange } from '../spool/reader.ts'
import type { DrainedRange } from './drain-options.ts'
import type { DrainWorkerData } from './drain-thread.ts'
import { type Appended, ScoreLogStore } from './store.ts'

/**
 * Upper bounds of a batch. No request waits for this thread: its batches can be larger than the
 * drain's.
 */
const RECORDS_MAX = 8_000
const BYTES_MAX = 8 * 1024 * 1024
/** A batch uses 1 to 8 eighths of these bounds: as much as the database writes in time. */
const SHARES = 8

const { databaseUrl }: DrainWorkerData = workerData
const { db, guarded, answer } = openThreadDatabase(databaseUrl, 1)
const store = guarded(new ScoreLogStore(db))
/** Reused for each range: clearing fresh memory costs the system more than reading into it. */
const bytes = Buffer.allocUnsafeSlow(BYTES_MAX)
let shares = SHARES

// The drain finds the reason of a failure and handles it.
answer((range: SegmentRange) => drainRange(range).catch(() => null))

async function drainRange({
  path,
  spoolId,
  from,
  segment,
  offset,
  readableBytes,
}: SegmentRange): Promise<DrainedRange | null> {
  const recordsMax = (RECORDS_MAX * shares) / SHARES
  const bytesMax = (BYTES_MAX * shares) / SHARES
  const restBytes = readableBytes - offset
  const range = bytes.subarray(0, read(path, offset, Math.min(restBytes, bytesMax)))
  const { payloads, damaged, tornAt, end } = scanFrames(range, restBytes, recordsMax)
  // A record can be larger than the current bound.
  if (payloads.length === 0) tryMore()
  if (damaged.length > 0 || tornAt !== null || payloads.length === 0) return null
  const position = { spoolId, from, to: { segment, offset: offset + end } }
  // The drain sets aside anything else.
  if (payloads.some(({ start }) => range[start] !== RECORD_V4)) return null
  const records = payloads.map(({ start, end: at }) => ({ payload: range.subarray(start, at) }))
  const added = await append(records, position)
  return {
    end: offset + end,
    records: payloads.length,
    addedRecords: added.records,
    addedResults: added.results,
    newestAtMs: readTime(records.at(-1)?.payload),
    isFull: payloads.length === recordsMax || end >= bytesMax / 2,
  }
}

/**
 * Appends a batch and adapts the size of the next. After a failure the next batch is half as large,
 * because a slow database may not write a full one in time; each success makes it larger by one
 * step. Without this each batch could cost the drain its whole deadline.
 */
async function append(
  records: readonly { readonly payload: Buffer }[],
  position: DrainPosition,
): Promise<Appended> {
  try {
    const added = await store.append(records, position)
    tryMore()
    return added
  } catch (error) {
    // The drain stores this batch, and this thread the next one.
    shares = Math.max(1, shares >>> 1)
    throw error
  }
}

function tryMore(): void {
  shares = Math.min(SHARES, shares + 1)
}

function readTime(record: Buffer = Buffer.alloc(0)): number {
  return record.readDoubleLE(HEAD_AT + record.readUInt16LE(1) + SCORED_AT)
}

/**
 * Reads part of a file. It opens the file each time: an open file uses disk space after its
 * removal.
 *
 * @returns number of bytes read, fewer than `length` at the end of the file
 */
function read(path: string, offset: number, length: number): number {
  const descriptor = openSync(path, 'r')
  let taken = 0
  try {
    while (taken < length) {
      const more = readSync(descriptor, bytes, taken, length - taken, offset + taken)
      if (more === 0) break
      taken += more
    }
  } finally {
    closeSync(descriptor)
  }
  return taken
}
