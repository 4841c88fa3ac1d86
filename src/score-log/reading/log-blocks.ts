import { AppError } from '../../errors.ts'
import { spanStart } from '../../rollups/spans.ts'
import type { LostBlock } from '../archive/archived-blocks.ts'
import type { OpenBlock } from '../blocks/block.ts'
import { openBlock } from '../blocks/block-decoder.ts'
import type { BlockQuery, BlockReader } from '../blocks/block-store.ts'
import type { StoredBlock } from '../blocks/stored-block.ts'
import { type LoggedRequest, readLoggedRequest } from '../record/logged-request.ts'
import type { ModelSource, ModelsById } from '../record/model-source.ts'
import { type CellColumns, cellColumnsOfBlock } from './cell-columns.ts'
import { columnsOfBlock, type ScannedColumns, wantedRows } from './columns.ts'
import type { PickedRequests, ScanQuery, SearchQuery } from './log-query.ts'
import { isNewer, type LogPart } from './log-reader.ts'
import type { TimedColumns, TimeOrder } from './timed-columns.ts'
import { TurnTaker } from './turn-taker.ts'

interface LogBlocksOptions {
  readonly blocks: BlockReader
  readonly models: ModelSource
  /** Receives a file of the archive that holds a block which can't be opened. */
  readonly onDamaged?: (fileKey: string) => void
}

/** A report over a part of a day would be wrong without a sign. */
const WHOLE = { isWhole: true } as const

/** Requests of the second form: blocks. */
export class LogBlocks implements LogPart {
  private readonly options: LogBlocksOptions
  /** For as long as the reader of blocks keeps a block. */
  private readonly opened = new WeakMap<StoredBlock, OpenBlock>()

  constructor(options: LogBlocksOptions) {
    this.options = options
  }

  async find(requestId: string, idMs: number): Promise<LoggedRequest | null> {
    const { blocks } = this.options
    let damage: Error | null = null
    const onLost = ({ reason }: LostBlock) => {
      damage ??= lostFile(reason)
    }
    for await (const stored of blocks.blocksAt(idMs, onLost)) {
      const block = this.opened.get(stored) ?? this.tryOpen(stored)
      if (block instanceof Error) {
        damage ??= block
        continue
      }
      this.opened.set(stored, block)
      const index = block.find(requestId)
      if (index >= 0) return requestAt(block, index, await this.modelsOf(block))
    }
    // The request can be in the block that can't be opened.
    if (damage !== null) throw damage
    return null
  }

  async *search(query: SearchQuery): AsyncGenerator<LoggedRequest> {
    const { blocks } = this.options
    const { teamId, deploymentId, reference, fromMs, before } = query
    // The request at the position belongs to the answer: a batch can go on there.
    const toMs = before === null ? query.toMs : Math.min(query.toMs, before.scoredAtMs + 1)
    const turns = new TurnTaker()
    /** Found, and perhaps older than a request of the next block; newest last. */
    let waiting: LoggedRequest[] = []
    for await (const stored of blocks.blocksIn({
      ...(deploymentId !== null && { deploymentId }),
      reference: { teamId, reference },
      fromMs,
      toMs,
      order: 'newest',
    })) {
      while ((waiting.at(-1)?.scoredAtMs ?? Number.NEGATIVE_INFINITY) > stored.lastAtMs) {
        const next = waiting.pop()
        if (next !== undefined) yield next
      }
      const block = this.open(stored)
      const isWanted = wanted(block, { ...query, toMs })
      for (let index = 0; index < block.count; index++) {
        if (!isWanted(index)) continue
        await turns.giveWay()
        if (!holds(block, index, reference)) continue
        const request = requestAt(block, index, await this.modelsOf(block))
        if (before !== null && isNewer(request, before)) continue
        waiting.push(request)
      }
      waiting = waiting.sort((a, b) => (isNewer(a, b) ? 1 : -1))
    }
    yield* waiting.reverse()
  }

  scan(query: ScanQuery): AsyncGenerator<readonly LoggedRequest[]> {
    return this.read(query, () => true)
  }

  pick(query: ScanQuery, picked: PickedRequests): AsyncGenerator<readonly LoggedRequest[]> {
    return this.read(query, (block, index) => isPicked(block, index, picked))
  }

  private async *read(
    query: ScanQuery,
    isRead: (block: OpenBlock, index: number) => boolean,
  ): AsyncGenerator<readonly LoggedRequest[]> {
    const turns = new TurnTaker()
    for await (const block of this.openIn(query)) {
      const models = await this.modelsOf(block)
      const isWanted = wanted(block, query)
      const requests: LoggedRequest[] = []
      await turns.giveWay()
      for (let index = 0; index < block.count; index++) {
        if (!isWanted(index) || !isRead(block, index)) continue
        requests.push(requestAt(block, index, models))
        await turns.giveWay()
      }
      if (requests.length > 0) yield requests
    }
  }

  async *columns(query: ScanQuery): AsyncGenerator<readonly ScannedColumns[]> {
    for await (const stored of this.storedIn(query, WHOLE)) {
      const block = this.open(stored)
      yield columnsOfBlock(block, await this.modelsOf(block), query)
    }
  }

  async columnsByTime(query: ScanQuery, order: TimeOrder): Promise<AsyncIterable<TimedColumns>> {
    return this.timedColumns(query, order)
  }

  private async *timedColumns(query: ScanQuery, order: TimeOrder): AsyncGenerator<TimedColumns> {
    for await (const stored of this.storedIn(query, { ...WHOLE, order })) {
      const block = this.open(stored)
      const { firstAtMs, lastAtMs, blockId, rawBytes: bytes } = stored
      yield {
        hourMs: spanStart('hour', firstAtMs),
        firstAtMs,
        lastAtMs,
        blockId: Number(blockId),
        bytes,
        parts: columnsOfBlock(block, await this.modelsOf(block), query),
      }
    }
  }

  async *cells(query: ScanQuery): AsyncGenerator<readonly CellColumns[]> {
    for await (const block of this.openIn(query)) {
      const models = await this.modelsOf(block)
      yield cellColumnsOfBlock(block, models, (group) => wantedRows(block, group, query))
    }
  }

  private async *openIn(query: ScanQuery): AsyncGenerator<OpenBlock> {
    for await (const stored of this.storedIn(query)) yield this.open(stored)
  }

  private storedIn(
    { deploymentId, fromMs, toMs }: ScanQuery,
    options: Partial<Pick<BlockQuery, 'isWhole' | 'order'>> = {},
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

  /** @throws AppError `unavailable` for a damaged file of the archive; RangeError for a row */
  private open(stored: StoredBlock): OpenBlock {
    const block = this.tryOpen(stored)
    if (block instanceof Error) throw block
    return block
  }

  private tryOpen(stored: StoredBlock): OpenBlock | Error {
    try {
      return openBlock(stored)
    } catch (cause) {
      if (!(cause instanceof Error) || stored.archivedIn === undefined) throw cause
      this.options.onDamaged?.(stored.archivedIn)
      return lostFile('damaged', cause)
    }
  }

  private modelsOf({ modelIds }: OpenBlock): Promise<ModelsById> {
    return this.options.models.compiled(modelIds)
  }
}

function lostFile(reason: LostBlock['reason'], cause?: Error): AppError {
  const message = `a file of the archive of the score log is ${reason}`
  return new AppError('unavailable', message, { cause })
}

function requestAt(block: OpenBlock, index: number, models: ModelsById): LoggedRequest {
  return readLoggedRequest(block.payload(index, models), models)
}

/** Whether a request of a block is one that a query asks for. */
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
  if (references.size === 0) return false
  if (!block.isBatch(index)) return references.has(block.reference(index) ?? '')
  const applicants = block.applicants(index)
  for (let row = 0; row < applicants; row++) {
    const id = block.recordId(index, row)
    if (id !== null && references.has(String(id))) return true
  }
  return false
}

/** Whether a request has the reference, or holds a record with it. */
function holds(block: OpenBlock, index: number, reference: string): boolean {
  if (!block.isBatch(index)) return block.reference(index) === reference
  const applicants = block.applicants(index)
  for (let row = 0; row < applicants; row++) {
    const id = block.recordId(index, row)
    if (id !== null && String(id) === reference) return true
  }
  return false
}
