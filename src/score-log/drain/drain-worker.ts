import { closeSync, openSync, readSync } from 'node:fs'
import { workerData } from 'node:worker_threads'
import { openThreadDatabase } from '../../platform/db/thread-database.ts'
import { type KeyedRollup, RollupSums } from '../../rollups/rollup-sums.ts'
import { encodeBlocks } from '../blocks/encode-blocks.ts'
import { KnownHeads } from '../blocks/known-heads.ts'
import { ErasureList, ErasuresMovedError } from '../erasure/erasure-list.ts'
import { modelsOf } from '../reading/model-text-store.ts'
import { readRecordV3 } from '../record/record-v3.ts'
import { HEAD_AT, RECORD_V4, SCORED_AT } from '../record/record-v4.ts'
import { servedOf } from '../record/served.ts'
import { type ByteRange, scanFrames } from '../spool/frames.ts'
import type { SegmentRange } from '../spool/reader.ts'
import type { Appended } from './drain.ts'
import type { DrainWorkerData } from './drain-thread.ts'
import type { DrainedRange } from './drained-range.ts'
import { type LogBatch, PostgresScoreLogStore } from './store.ts'

/**
 * Upper bounds of a batch. No request waits for this thread: its batches can be larger than the
 * drain's.
 */
const RECORDS_MAX = 8_000
const BYTES_MAX = 8 * 1024 * 1024
/** A batch uses 1 to 8 eighths of these bounds: as much as the database writes in time. */
const SHARES = 8
/** Size of a statement. Only a full garbage collection frees larger texts and their copies. */
const PORTION_BYTES = 100 * 1024
const LINE_BREAK = 0x0a

const { databaseUrl, writer }: DrainWorkerData = workerData
const { db, guarded, answer } = openThreadDatabase(databaseUrl, 1)
const models = modelsOf(db)
const store = guarded(new PostgresScoreLogStore(db, writer, models))
const erasures = new ErasureList(db)
const known = new KnownHeads()
const erasureLoads = guarded({ load: () => erasures.load() })
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
  const isFirstForm = payloads.some(({ start }) => range[start] !== RECORD_V4)
  // Rare: the last spools of the version before, after an erasure.
  if (isFirstForm && !erasures.isEmpty) return null
  const version = erasures.version
  const { newestAtMs, ...batch } = isFirstForm
    ? rowsOf(range, payloads)
    : await blocksOf(range, payloads)
  const added = await append({ ...batch, position, erasures: version })
  return {
    end: offset + end,
    records: payloads.length,
    addedRecords: added.records,
    addedResults: added.results,
    newestAtMs,
    isFull: payloads.length === recordsMax || end >= bytesMax / 2,
  }
}

/**
 * Appends a batch and adapts the size of the next. After a failure the next batch is half as large,
 * because a slow database may not write a full one in time; each success makes it larger by one
 * step. Without this each batch could cost the drain its whole deadline.
 */
async function append(batch: LogBatch): Promise<Appended> {
  try {
    const added = await store.appendNew(batch)
    tryMore()
    return added
  } catch (error) {
    // The drain stores this batch, and this thread the next one.
    if (error instanceof ErasuresMovedError) await erasureLoads.load()
    else shares = Math.max(1, shares >>> 1)
    throw error
  }
}

function tryMore(): void {
  shares = Math.min(SHARES, shares + 1)
}

type Batch = Omit<LogBatch, 'position' | 'erasures'> & { readonly newestAtMs: number }

async function blocksOf(range: Buffer, payloads: readonly ByteRange[]): Promise<Batch> {
  const records = payloads.map(({ start, end }) => erasures.applied(range.subarray(start, end)))
  const blocks = await encodeBlocks(records, models, known)
  const last = records.at(-1) ?? Buffer.alloc(0)
  const newestAtMs = last.readDoubleLE(HEAD_AT + last.readUInt16LE(1) + SCORED_AT)
  return { portions: [], sums: new RollupSums(), blocks, newestAtMs }
}

/**
 * Turns the payloads of version 3 into lines, in place. It keeps no object of a record, so that the
 * garbage collector has nothing to move.
 */
function rowsOf(range: Buffer, payloads: readonly ByteRange[]): Batch {
  const sums = new RollupSums()
  let near: KeyedRollup | null = null
  const ends: number[] = []
  let newestAtMs = 0
  let from = 0
  let at = 0
  for (const { start, end } of payloads) {
    const record = readRecordV3(range.subarray(start, end))
    const served = servedOf(record)
    near = sums.add(record, served, near)
    newestAtMs = served.scoredAtMs
    if (at > from) range[at++] = LINE_BREAK
    range.copyWithin(at, start, end)
    at += end - start
    if (at - from >= PORTION_BYTES) {
      ends.push(at)
      from = at
    }
  }
  if (at > from) ends.push(at)
  return { portions: portionsOf(range, ends), sums, blocks: [], newestAtMs }
}

function* portionsOf(range: Buffer, ends: readonly number[]): Generator<string> {
  let from = 0
  for (const end of ends) {
    yield range.toString('utf8', from, end)
    from = end
  }
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
