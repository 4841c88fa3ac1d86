import { setTimeout as sleep } from 'node:timers/promises'
import { isId, timeOfId } from '../../platform/ids.ts'
import { TurnTaker, takeTurn } from '../../platform/turn-taker.ts'
import { type LostBlock, lostBlockError } from '../archive/archived-blocks.ts'
import type { OpenBlock } from '../blocks/block-decoder.ts'
import type { BlockQuery } from '../blocks/block-reader.ts'
import type { BlockReader } from '../blocks/block-store.ts'
import { DamagedBlock } from '../blocks/damaged-block.ts'
import type { StoredBlock } from '../blocks/stored-block.ts'
import type { LoggedRequest } from '../record/logged-request.ts'
import type { ModelSource, ModelsById } from '../record/model-source.ts'
import { spanStart } from '../rollups/spans.ts'
import { type CellColumns, cellColumnsOfBlock } from './cell-columns.ts'
import {
  columnsOfBlock,
  type ScannedColumns,
  type TimedColumns,
  type TimeOrder,
  wantedRows,
} from './columns.ts'
import type {
  LogPosition,
  PartBound,
  PickedRequests,
  ScanQuery,
  SearchQuery,
  UnreadBlock,
} from './log-query.ts'
import type { SpoolTail, WantedReferences } from './spool-tail.ts'

interface LogReaderOptions {
  readonly blocks: BlockReader
  readonly models: ModelSource
  /** Absent in a process that does not score. */
  readonly tail?: SpoolTail
}

/** A report over a part of a day would be wrong without a sign. */
const WHOLE = { isWhole: true } as const

/** A search of the spool takes less, but while gigabytes wait there. */
const SPOOL_WAIT_MS = 20

/** A request of which only the place is known. */
interface LocatedRequest {
  read(): Promise<LoggedRequest>
}

type OpenCounts = NonNullable<BlockQuery['counts']>['open']
const NO_COUNTS: OpenCounts = () => null

/**
 * Reads the score log: the blocks of the database and of the archive, and the records in the spool
 * of this process.
 *
 * Callers check that a request belongs to the team and the environment of who asks.
 */
export class LogReader {
  private readonly options: LogReaderOptions
  /** For as long as the reader of blocks keeps a block. */
  private readonly opened = new WeakMap<StoredBlock, OpenBlock>()

  constructor(options: LogReaderOptions) {
    this.options = options
  }

  async find(requestId: string): Promise<LoggedRequest | null> {
    const found = await this.locate(requestId)
    return found === null ? null : found.read()
  }

  /** Tells whether the log has a request, without reading it. */
  async has(requestId: string): Promise<boolean> {
    return (await this.locate(requestId)) !== null
  }

  private async locate(requestId: string): Promise<LocatedRequest | null> {
    const idMs = isId(requestId, 'req_') ? timeOfId(requestId) : null
    if (idMs === null) return null
    // The spool first: a record that is drained meanwhile is then found in the database.
    const waiting = this.options.tail?.find(requestId, idMs)
    if (waiting !== undefined && (await takesLong(waiting))) {
      // What the database has waits for no search of a long spool.
      const stored = await this.findInBlocks(requestId, idMs).catch(() => null)
      if (stored !== null) return stored
    }
    return (await waiting) ?? this.findInBlocks(requestId, idMs)
  }

  /**
   * Requests of a team with one of the references that are still in the spool of this process. Ask
   * before the database is searched: what is drained meanwhile is then found there.
   *
   * @throws AppError `unavailable` where too much waits to look through it
   */
  async waiting(teamId: string, wanted: WantedReferences): Promise<readonly LoggedRequest[]> {
    return this.options.tail?.waiting(teamId, wanted) ?? []
  }

  private async findInBlocks(requestId: string, idMs: number): Promise<LocatedRequest | null> {
    const { blocks } = this.options
    let damage: Error | null = null
    const onLost = (lost: LostBlock) => {
      damage ??= lostBlockError(lost)
    }
    for await (const stored of blocks.blocksAt(idMs, onLost)) {
      // A block takes milliseconds to open, and a statement can bring many.
      if (!this.opened.has(stored)) await takeTurn()
      const block = this.opened.get(stored) ?? blocks.tryOpen(stored)
      if (block instanceof DamagedBlock) {
        damage ??= block
        continue
      }
      this.opened.set(stored, block)
      const index = block.find(requestId)
      if (index >= 0) {
        return { read: async () => block.request(index, await this.listModels(block)) }
      }
    }
    // The request can be in the block that can't be opened.
    if (damage !== null) throw damage
    return null
  }

  /** Requests that have the reference or hold a record with it, newest first. */
  search(query: SearchQuery): AsyncGenerator<LoggedRequest> {
    const { teamId, reference } = query
    return this.findNewest(query, (own) => own === reference, { reference: { teamId, reference } })
  }

  /** The same for a part of a reference, in any case; it opens every block. */
  searchPart(query: SearchQuery, bound: PartBound): AsyncGenerator<LoggedRequest> {
    const isSought = containing(query.reference)
    return this.findNewest(query, isSought, { hasSources: false }, bound)
  }

  private async *findNewest(
    query: SearchQuery,
    isSought: (reference: string) => boolean,
    picked: Pick<BlockQuery, 'reference' | 'hasSources'>,
    bound?: PartBound,
  ): AsyncGenerator<LoggedRequest> {
    const { blocks } = this.options
    const { deploymentId, fromMs, before } = query
    // The request at the position belongs to the answer: a batch can go on there.
    const toMs = before === null ? query.toMs : Math.min(query.toMs, before.scoredAtMs + 1)
    const turns = new TurnTaker()
    /** Found, and perhaps older than a request of the next block; newest last. */
    let waiting: LoggedRequest[] = []
    let passed = 0
    // A search that goes on from here must come further than this one's beginning.
    let newestMs = toMs - 1
    for await (const stored of blocks.blocksIn({
      ...(deploymentId !== null && { deploymentId }),
      ...picked,
      fromMs,
      toMs,
      order: 'newest',
    })) {
      while ((waiting.at(-1)?.scoredAtMs ?? Number.NEGATIVE_INFINITY) > stored.lastAtMs) {
        const next = waiting.pop()
        if (next !== undefined) yield next
      }
      if (bound && passed >= bound.applicantsMax && stored.lastAtMs < newestMs) {
        // What waits is not after the moment: the next search finds it again.
        bound.searchedAfterMs = stored.lastAtMs
        return
      }
      newestMs = Math.min(newestMs, stored.lastAtMs)
      // Those of other teams count, too: a block costs as much whoever asks.
      passed += stored.applicants
      await turns.giveWay()
      const block = blocks.open(stored)
      const isWanted = wanted(block, { ...query, toMs })
      for (let index = 0; index < block.count; index++) {
        if (!isWanted(index)) continue
        await turns.giveWay()
        if (!holds(block, index, isSought)) continue
        const request = block.request(index, await this.listModels(block))
        if (before !== null && isNewer(request, before)) continue
        waiting.push(request)
      }
      waiting = waiting.sort((a, b) => (isNewer(a, b) ? 1 : -1))
    }
    yield* waiting.reverse()
  }

  /** All requests of a time range, in portions, from the oldest hour of UTC to the newest. */
  scan(query: ScanQuery): AsyncGenerator<readonly LoggedRequest[]> {
    return this.read(query, () => true)
  }

  /**
   * Reads those of the same requests that have one of the ids or references; it opens every
   * block.
   */
  pick(query: ScanQuery, picked: PickedRequests): AsyncGenerator<readonly LoggedRequest[]> {
    return this.read(query, (block, index) => isPicked(block, index, picked), picked.onUnread)
  }

  private async *read(
    query: ScanQuery,
    isRead: (block: OpenBlock, index: number) => boolean,
    onUnread?: (block: UnreadBlock) => void,
  ): AsyncGenerator<readonly LoggedRequest[]> {
    const turns = new TurnTaker()
    for await (const block of this.openIn(query, onUnread)) {
      const models = await this.listModels(block)
      const isWanted = wanted(block, query)
      const requests: LoggedRequest[] = []
      await turns.giveWay()
      for (let index = 0; index < block.count; index++) {
        if (!isWanted(index) || !isRead(block, index)) continue
        requests.push(block.request(index, models))
        await turns.giveWay()
      }
      if (requests.length > 0) yield requests
    }
  }

  /**
   * The results of the same requests as columns, which is faster.
   *
   * @param open see `counts` of `BlockQuery`
   */
  async *columns(
    query: ScanQuery,
    open: OpenCounts = NO_COUNTS,
  ): AsyncGenerator<readonly ScannedColumns[]> {
    for await (const stored of this.storedIn(query, {
      ...WHOLE,
      counts: { teamId: query.teamId, open },
    })) {
      const block = this.options.blocks.open(stored)
      yield columnsOfBlock(block, await this.listModels(block), query)
    }
  }

  /** The same by blocks in the order of time. */
  async *columnsByTime(
    query: ScanQuery,
    order: TimeOrder,
    open: OpenCounts = NO_COUNTS,
  ): AsyncGenerator<TimedColumns> {
    for await (const stored of this.storedIn(query, {
      ...WHOLE,
      order,
      counts: { teamId: query.teamId, open },
    })) {
      const block = this.options.blocks.open(stored)
      const { firstAtMs, lastAtMs, blockId, rawBytes: bytes } = stored
      yield {
        hourMs: spanStart('hour', firstAtMs),
        firstAtMs,
        lastAtMs,
        blockId: Number(blockId),
        bytes,
        parts: columnsOfBlock(block, await this.listModels(block), query),
      }
    }
  }

  /** The cells and the results of the same requests as columns. */
  async *cells(query: ScanQuery): AsyncGenerator<readonly CellColumns[]> {
    for await (const block of this.openIn(query)) {
      const models = await this.listModels(block)
      yield cellColumnsOfBlock(block, models, (group) => wantedRows(block, group, query))
    }
  }

  /** @param onUnread receives the blocks that can't be read; absent: the first one is thrown */
  private async *openIn(
    query: ScanQuery,
    onUnread?: (block: UnreadBlock) => void,
  ): AsyncGenerator<OpenBlock> {
    if (onUnread === undefined) {
      for await (const stored of this.storedIn(query)) yield this.options.blocks.open(stored)
      return
    }
    const onLost = (lost: LostBlock) => onUnread(this.unread(lost, lostBlockError(lost)))
    for await (const stored of this.storedIn(query, { onLost })) {
      const block = this.options.blocks.tryOpen(stored)
      if (block instanceof DamagedBlock) onUnread(this.unread(stored, block))
      else yield block
    }
  }

  private unread(
    place: Pick<StoredBlock, 'blockId' | 'firstAtMs' | 'idFromMs' | 'idToMs'>,
    error: DamagedBlock,
  ): UnreadBlock {
    const { idFromMs, idToMs } = place
    const { blocks } = this.options
    const referencesIn: UnreadBlock['referencesIn'] = (teamId, references) =>
      blocks.referencesIn(place, teamId, references)
    return { error, idFromMs, idToMs, referencesIn }
  }

  private storedIn(
    { deploymentId, fromMs, toMs }: ScanQuery,
    options: Partial<Pick<BlockQuery, 'isWhole' | 'order' | 'onLost' | 'counts'>> = {},
  ): AsyncIterable<StoredBlock> {
    return this.options.blocks.blocksIn({
      ...(deploymentId !== null && { deploymentId }),
      fromMs,
      toMs,
      order: 'oldest',
      hasSources: false,
      ...options,
    })
  }

  private listModels({ modelIds }: OpenBlock): Promise<ModelsById> {
    return this.options.models.compiled(modelIds)
  }
}

async function takesLong(search: Promise<unknown>): Promise<boolean> {
  const ended = search.then(
    () => false,
    () => false,
  )
  return Promise.race([ended, sleep(SPOOL_WAIT_MS, true, { ref: false })])
}

/** Tells whether a request of a block is one that a query asks for. */
function wanted(block: OpenBlock, { teamId, deploymentId, fromMs, toMs }: ScanQuery) {
  return (index: number) => {
    const atMs = block.scoredAtMs(index)
    return (
      atMs >= fromMs &&
      atMs < toMs &&
      block.teamId(index) === teamId &&
      (deploymentId === null || block.deploymentId(index) === deploymentId)
    )
  }
}

function isPicked(
  block: OpenBlock,
  index: number,
  { requestIds, references }: PickedRequests,
): boolean {
  if (requestIds.has(block.requestId(index))) return true
  return references.size > 0 && holds(block, index, (own) => references.has(own))
}

/** Tells whether a request has a wanted reference, or holds a record with it. */
function holds(block: OpenBlock, index: number, isWanted: (reference: string) => boolean): boolean {
  if (!block.isBatch(index)) {
    const reference = block.reference(index)
    return reference !== null && isWanted(reference)
  }
  const applicants = block.applicants(index)
  for (let row = 0; row < applicants; row++) {
    const id = block.recordId(index, row)
    if (id !== null && isWanted(String(id))) return true
  }
  return false
}

function isNewer(one: LogPosition, other: LogPosition): boolean {
  if (one.scoredAtMs !== other.scoredAtMs) return one.scoredAtMs > other.scoredAtMs
  return one.requestId > other.requestId
}

/** Matches references that contain a text, in any case. */
export function containing(part: string): (reference: string) => boolean {
  const sought = part.toLowerCase()
  return (reference) => reference.toLowerCase().includes(sought)
}

/** The reference of a row of a request: in a batch the id of its record. */
export function readReference(
  { isBatch, reference }: Pick<LoggedRequest, 'isBatch' | 'reference'>,
  id: string | number | null,
): string | null {
  if (!isBatch) return reference
  return id === null ? null : String(id)
}

/** Tells whether a row of a request has the reference. */
export function hasReference(
  request: Pick<LoggedRequest, 'isBatch' | 'reference'>,
  id: string | number | null,
  reference: string,
): boolean {
  return readReference(request, id) === reference
}
