import { open } from 'node:fs/promises'
import pLimit from 'p-limit'
import { AppError, serviceBusy } from '../../errors.ts'
import { CallGroups } from '../../platform/db/call-groups.ts'
import { TurnTaker } from '../../platform/turn-taker.ts'
import { type LoggedRequest, readLoggedRequest } from '../record/logged-request.ts'
import type { ModelSource } from '../record/model-source.ts'
import { readHeadV4, readRecordV4 } from '../record/record-v4.ts'
import { scanFrames } from '../spool/frames.ts'
import type { SegmentRange } from '../spool/reader.ts'

/** References of single requests, or ids of records as text, by deployment. */
export type WantedReferences = ReadonlyMap<string, ReadonlySet<string>>

/** Parts of segments that are not drained. */
export interface UndrainedSpool {
  /** Oldest first. */
  undrained(): readonly SegmentRange[]
}

/** A record of the spool, before it is read. */
interface WaitingRecord {
  read(): Promise<LoggedRequest>
}

interface WantedRequest {
  readonly id: Buffer
  /** The time in its id. */
  readonly idMs: number
}

const PART_BYTES = 512 * 1024
/** A request's time lies at most so much after the time in its id. */
const SCORED_WITHIN_MS = 120_000
/** Searches that read files at a time: further ones wait. */
const SEARCHES_MAX = 2
/** Requests that one search looks for, and its longest time. */
const SEARCHED_MAX = 16
const SEARCH_MS_MAX = 60_000
/** Beyond so much that waits nobody looks for references: it takes the drain some seconds. */
const WAITING_BYTES_MAX = 64 * 1024 * 1024

/**
 * Finds a record that the database does not have yet in the spool of this process.
 *
 * Usually the drain is less than a second behind, and there is little to read. After an outage of
 * the database gigabytes can wait: then only segments are read whose first records show that the
 * request can be among them, and of these the bytes are searched for the id before any is parsed.
 */
export class SpoolTail {
  private readonly spool: UndrainedSpool
  private readonly models: ModelSource
  private readonly erased: (payload: Buffer) => Promise<Buffer>
  private readonly limit = pLimit(SEARCHES_MAX)
  /** Who looks for single requests at the same time shares a search. */
  private readonly searches = new CallGroups({
    run: (wanted: readonly WantedRequest[]) => this.limit(() => this.findPayloads(wanted)),
    weightMax: SEARCHED_MAX,
    deadlineMs: SEARCH_MS_MAX,
    groupsAtOnce: SEARCHES_MAX,
    makeOverdueError: serviceBusy,
  })

  /** @param erased takes the references out of a record that are erased by now */
  constructor(
    spool: UndrainedSpool,
    models: ModelSource,
    erased: (payload: Buffer) => Promise<Buffer>,
  ) {
    this.spool = spool
    this.models = models
    this.erased = erased
  }

  async find(requestId: string, idMs: number): Promise<WaitingRecord | null> {
    if (this.spool.undrained().length === 0) return null
    const payload = await this.searches.call({ id: Buffer.from(requestId), idMs })
    if (payload === null) return null
    return { read: async () => this.readRequest(await this.erased(payload)) }
  }

  /**
   * Requests with one of the references.
   *
   * @throws AppError `unavailable` where too much waits to look through it
   */
  async waiting(teamId: string, wanted: WantedReferences): Promise<LoggedRequest[]> {
    const ranges = this.spool.undrained()
    let bytes = 0
    for (const { offset, readableBytes } of ranges) bytes += readableBytes - offset
    if (bytes === 0) return []
    if (bytes > WAITING_BYTES_MAX) throw serviceBusy()
    return this.limit(() => this.with(teamId, wanted, ranges))
  }

  private async with(
    teamId: string,
    wanted: WantedReferences,
    ranges: readonly SegmentRange[],
  ): Promise<LoggedRequest[]> {
    const team = Buffer.from(teamId)
    const turns = new TurnTaker()
    const found: LoggedRequest[] = []
    for (const range of ranges) {
      for await (const { bytes, payloads } of listParts(range)) {
        if (!bytes.includes(team)) continue
        for (const { start, end } of payloads) {
          if (turns.isOver) await turns.giveWay()
          const payload = bytes.subarray(start, end)
          if (!payload.includes(team) || !(await this.has(payload, teamId, wanted))) continue
          found.push(await this.readRequest(await this.erased(payload)))
        }
      }
    }
    return found
  }

  /** Tells whether a record is a request of the team with one of the references. */
  private async has(payload: Buffer, teamId: string, wanted: WantedReferences): Promise<boolean> {
    try {
      const record = readRecordV4(payload)
      const head = readHeadV4(record.headBytes)
      const references = head.teamId === teamId ? wanted.get(head.deploymentId) : undefined
      if (references === undefined) return false
      if (!record.isBatch) return references.has(record.reference ?? '')
      const { rows } = await this.readRequest(payload)
      return rows.some(({ id }) => id !== null && references.has(String(id)))
    } catch (error) {
      if (error instanceof AppError) throw error
      // The drain sets it aside.
      return false
    }
  }

  private async readRequest(payload: Buffer): Promise<LoggedRequest> {
    const { models } = readHeadV4(readRecordV4(payload).headBytes)
    const modelIds = models.map(({ modelId }) => modelId)
    return readLoggedRequest(payload, await this.models.compiled(modelIds))
  }

  /** @returns in the same order; null for a request that the spool does not have */
  private async findPayloads(wanted: readonly WantedRequest[]): Promise<(Buffer | null)[]> {
    const found = new Map<WantedRequest, Buffer>()
    /** The range that follows in the same directory, and when its first record was scored. */
    let behind: { readonly directory: string; readonly firstAtMs: number | null } | null = null
    // From the newest range on, because each says when the one before it ends.
    for (const range of this.spool.undrained().toReversed()) {
      if (found.size === wanted.length) break
      const { directory } = range
      const firstAtMs = await findStart(range)
      const endsAtMs = behind?.directory === directory ? behind.firstAtMs : null
      behind = { directory, firstAtMs }
      const sought = wanted.filter((one) => {
        if (found.has(one)) return false
        if (firstAtMs !== null && firstAtMs > one.idMs + SCORED_WITHIN_MS) return false
        return endsAtMs === null || endsAtMs >= one.idMs - SCORED_WITHIN_MS
      })
      await findIn(range, sought, found)
    }
    return wanted.map((one) => found.get(one) ?? null)
  }
}

/** When the first record of a range was scored; null if that can't be read. */
async function findStart(range: SegmentRange): Promise<number | null> {
  for await (const { bytes, payloads } of listParts(range)) {
    const [first] = payloads
    if (first === undefined) continue
    try {
      return readRecordV4(bytes.subarray(first.start, first.end)).scoredAtMs
    } catch {
      // The drain sets it aside.
      return null
    }
  }
  return null
}

/** Adds the records that contain a wanted id as their own. */
async function findIn(
  range: SegmentRange,
  wanted: readonly WantedRequest[],
  found: Map<WantedRequest, Buffer>,
): Promise<void> {
  let left = wanted
  if (left.length === 0) return
  for await (const { bytes, payloads } of listParts(range)) {
    for (const one of left) {
      const payload = bytes.includes(one.id) ? payloadIn(bytes, payloads, one.id) : null
      if (payload !== null) found.set(one, payload)
    }
    left = left.filter((one) => !found.has(one))
    if (left.length === 0) return
  }
}

function payloadIn(
  bytes: Buffer,
  payloads: readonly { readonly start: number; readonly end: number }[],
  id: Buffer,
): Buffer | null {
  for (const { start, end } of payloads) {
    const payload = bytes.subarray(start, end)
    // A batch can contain the id as the id of a record.
    if (payload.includes(id) && readRequestId(payload) === id.toString()) return payload
  }
  return null
}

function readRequestId(payload: Buffer): string | null {
  try {
    return readRecordV4(payload).requestId
  } catch {
    return null
  }
}

/** Whole frames of a range, part by part; a part is as large as its largest frame at least. */
export async function* listParts({ path, offset, readableBytes }: SegmentRange) {
  const file = await open(path, 'r').catch((error: NodeJS.ErrnoException) => {
    // The drain has removed it: the database has its records.
    if (error.code === 'ENOENT') return null
    throw error
  })
  if (file === null) return
  try {
    let at = offset
    let wantedBytes = PART_BYTES
    while (at < readableBytes) {
      const restBytes = readableBytes - at
      const room = Buffer.allocUnsafe(Math.min(wantedBytes, restBytes))
      const { bytesRead } = await file.read(room, 0, room.length, at)
      if (bytesRead === 0) return
      const bytes = room.subarray(0, bytesRead)
      const scan = scanFrames(bytes, restBytes)
      const passed = scan.end + (scan.end === 0 ? scan.oversizedBytes : 0)
      if (passed === 0 && scan.wantedBytes <= bytesRead) return
      yield { bytes, payloads: scan.payloads }
      at += passed
      wantedBytes = passed === 0 ? scan.wantedBytes : PART_BYTES
    }
  } finally {
    await file.close()
  }
}

/** The end of all records that waited at a moment. */
type SpoolMark = readonly Pick<SegmentRange, 'path' | 'readableBytes'>[]

/** Scores in the spool that wait for the database. No clock says which they are. */
export class WaitingScores {
  private readonly spool: UndrainedSpool

  constructor(spool: UndrainedSpool) {
    this.spool = spool
  }

  /** Names all that wait now. */
  mark(): SpoolMark {
    return this.spool.undrained().map(({ path, readableBytes }) => ({ path, readableBytes }))
  }

  /** Tells whether the database has what waited then. */
  isDrainedTo(mark: SpoolMark): boolean {
    if (mark.length === 0) return true
    const left = new Map(this.spool.undrained().map(({ path, offset }) => [path, offset]))
    return mark.every(
      ({ path, readableBytes }) => (left.get(path) ?? readableBytes) >= readableBytes,
    )
  }

  /** Reads the hashes of the keys of those that wait at the call, but for what is drained meanwhile. */
  async *readKeys(): AsyncGenerator<Uint8Array> {
    const turns = new TurnTaker()
    for (const range of this.spool.undrained()) {
      for await (const { bytes, payloads } of listParts(range)) {
        for (const { start, end } of payloads) {
          if (turns.isOver) await turns.giveWay()
          const keyHash = readKeyHash(bytes.subarray(start, end))
          if (keyHash !== null) yield keyHash
        }
      }
    }
  }
}

function readKeyHash(payload: Buffer): Uint8Array | null {
  try {
    return readRecordV4(payload).key?.keyHash ?? null
  } catch {
    // The drain sets it aside.
    return null
  }
}
