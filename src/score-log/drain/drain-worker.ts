import { closeSync, openSync, readSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import { guardStore } from '../db/guard.ts'
import { connectPostgres } from '../db/postgres.ts'
import type { Carried } from './carrier.ts'
import { type CarrierOrder, END, SILENT } from './carrier-thread.ts'
import type { Appended } from './drain.ts'
import { type Stretch, scanFrames } from './frames.ts'
import type { SpoolStretch } from './reader.ts'
import { readRecord } from './record.ts'
import { RollupSums } from './rollup-sums.ts'
import { servedOf } from './served.ts'
import { type LogBatch, PostgresScoreLogStore } from './store.ts'

const DEADLINE_MS = 10_000
/** Bounds of a transaction. Nobody waits for this thread, so that it may take more at once than the other. */
const RECORDS_MAX = 8_000
const BYTES_MAX = 8 * 1024 * 1024
/** Of these bounds as much is taken as the database takes in time. */
const SHARES = 8
/** Of a statement: larger texts and their copies live where only the whole heap's collection frees them. */
const PORTION_BYTES = 100 * 1024
const LINE_BREAK = 0x0a

const { databaseUrl, writer }: CarrierOrder = workerData
const connections = connectPostgres(databaseUrl, 1)
const store = guardStore(new PostgresScoreLogStore(connections.db, writer), {
  deadlineMs: DEADLINE_MS,
  onOverdue: () => {
    connections.renew()
    parentPort?.postMessage(SILENT)
  },
})
/** Used again for each stretch: memory that the system has to clear costs more than reading into it. */
const bytes = Buffer.allocUnsafeSlow(BYTES_MAX)
let shares = SHARES

parentPort?.on('message', async (message: SpoolStretch | typeof END) => {
  if (message === END) {
    await connections.close()
    parentPort?.close()
    return
  }
  // Why not is found out by the drain, which knows what to do about it.
  parentPort?.postMessage(await carry(message).catch(() => null))
})

async function carry({ path, offset, readableBytes }: SpoolStretch): Promise<Carried | null> {
  const recordsMax = (RECORDS_MAX * shares) / SHARES
  const bytesMax = (BYTES_MAX * shares) / SHARES
  const restBytes = readableBytes - offset
  const piece = bytes.subarray(0, read(path, offset, Math.min(restBytes, bytesMax)))
  const { payloads, damaged, tornAt, end } = scanFrames(piece, restBytes, recordsMax)
  // A record may be larger than what is tried.
  if (payloads.length === 0) tryMore()
  if (damaged.length > 0 || tornAt !== null || payloads.length === 0) return null
  const { newestAtMs, ...batch } = batchOf(piece, payloads)
  const added = await append(batch)
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
 * What failed may have been more than a slow database takes in time: the next try is half as large, and what
 * succeeds makes it larger step by step. Else each would cost the drain its whole deadline.
 */
async function append(batch: LogBatch): Promise<Appended> {
  try {
    const added = await store.appendNew(batch)
    tryMore()
    return added
  } catch (error) {
    shares = Math.max(1, shares >>> 1)
    throw error
  }
}

function tryMore(): void {
  shares = Math.min(SHARES, shares + 1)
}

/**
 * Makes lines of the payloads in their own place. Nothing of a record is kept, so that the garbage collector
 * has nothing to move.
 */
function batchOf(piece: Buffer, payloads: readonly Stretch[]): LogBatch & { newestAtMs: number } {
  const sums = new RollupSums()
  const ends: number[] = []
  let newestAtMs = 0
  let from = 0
  let at = 0
  for (const { start, end } of payloads) {
    const record = readRecord(piece.subarray(start, end))
    // One of an older version, which does not stand in the piece as it is stored.
    if (record.payload.buffer !== piece.buffer) throw new Error('the record was upgraded')
    const served = servedOf(record)
    sums.add({ record, served })
    newestAtMs = served.scoredAtMs
    if (at > from) piece[at++] = LINE_BREAK
    piece.copyWithin(at, start, end)
    at += end - start
    if (at - from >= PORTION_BYTES) {
      ends.push(at)
      from = at
    }
  }
  if (at > from) ends.push(at)
  return { portions: portionsOf(piece, ends), sums, newestAtMs }
}

function* portionsOf(piece: Buffer, ends: readonly number[]): Generator<string> {
  let from = 0
  for (const end of ends) {
    yield piece.toString('utf8', from, end)
    from = end
  }
}

/**
 * Opens the file each time: one that is kept open takes its place on the disk after it was removed.
 *
 * @returns how many bytes there were
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
