import { sql } from 'drizzle-orm'
import pLimit from 'p-limit'
import { momentText, queryRows, type Statements } from '../../platform/db/client.ts'
import { isObjectKey, READ_BYTES_MAX } from '../../platform/object-store/object-store.ts'
import { type BlockFactsRow, listFacts, readFacts } from '../blocks/block-rows.ts'
import { DamagedBlock } from '../blocks/damaged-block.ts'
import type { StoredBlock } from '../blocks/stored-block.ts'
import type { ArchiveBytes, LostReason } from './archive-bytes.ts'

/** A block of which only the place is known. */
export interface ArchivedBlock extends BlockFactsRow {
  readonly file_key: string
  readonly data_at: number
  readonly data_bytes: number
  readonly sources_bytes: number
}

/** A block that the archive should have and has not. */
export interface LostBlock {
  readonly blockId: string
  readonly firstAtMs: number
  readonly idFromMs: number
  readonly idToMs: number
  readonly fileKey: string
  readonly reason: LostReason
}

type BlockKey = Pick<BlockFactsRow, 'block_id' | 'first_at_ms'>

export const ARCHIVED_COLUMNS = sql`${listFacts('score_archive_blocks')}, file_key,
  data_at::float8 as data_at, data_bytes, sources_bytes`

/** Reads of a portion at a time. */
const READS_MAX = 8
/** Bytes of one read: blocks that stand one after the other in a file are read together. */
const READ_BYTES = 4 * 1024 * 1024

export class ArchivedBlocks {
  private readonly db: Statements
  private readonly files: ArchiveBytes

  constructor(db: Statements, files: ArchiveBytes) {
    this.db = db
    this.files = files
  }

  /**
   * Returns those of the blocks that the archive has, by their ids.
   *
   * @param keys at least one, of about `READ_BYTES` in all
   * @param onLost receives each block whose file is missing or too short, and the others are
   *   read; absent: the read fails
   * @throws AppError `unavailable`
   */
  async read(
    keys: readonly BlockKey[],
    onLost?: (lost: LostBlock) => void,
  ): Promise<ReadonlyMap<string, StoredBlock>> {
    const first = await this.readAll(await this.listed(keys))
    // A file that is missing has another generation by now.
    const isOutdated = first.lost.some(({ reason }) => reason === 'missing')
    const { blocks, lost } = isOutdated ? await this.readAll(await this.listed(keys)) : first
    this.note(lost, onLost)
    return blocks
  }

  /** @throws AppError `unavailable`, also if a file is missing or too short */
  async readListed(listed: readonly ArchivedBlock[]): Promise<ReadonlyMap<string, StoredBlock>> {
    const { blocks, lost } = await this.readAll(listed)
    this.note(lost)
    return blocks
  }

  private note(lost: readonly LostBlock[], onLost?: (lost: LostBlock) => void): void {
    const reasons = new Map(lost.map(({ fileKey, reason }) => [fileKey, reason]))
    for (const [fileKey, reason] of reasons) this.files.noteLost(fileKey, reason)
    const [first] = lost
    if (first === undefined) return
    if (onLost !== undefined) {
      for (const block of lost) onLost(block)
      return
    }
    throw lostBlockError(first)
  }

  private async readAll(listed: readonly ArchivedBlock[]): Promise<ReadBlocks> {
    const turns = pLimit(READS_MAX)
    const runs = await Promise.all(
      [...listRuns(listed)].map((run) => turns(() => this.readRun(run))),
    )
    return {
      blocks: new Map(runs.flatMap(({ blocks }) => [...blocks])),
      lost: runs.flatMap(({ lost }) => lost),
    }
  }

  private async readRun(run: readonly ArchivedBlock[]): Promise<ReadBlocks> {
    const blocks = new Map<string, StoredBlock>()
    const [first] = run
    if (first === undefined) return { blocks, lost: [] }
    const start = first.data_at
    const bytes = run.reduce((end, block) => Math.max(end, findEnd(block)), 0) - start
    if (!isObjectKey(first.file_key)) return { blocks, lost: run.map((one) => makeLost(one)) }
    // The row of a block that says so was changed.
    const isLegal = start >= 0 && bytes >= 0 && bytes <= READ_BYTES_MAX
    const read = isLegal ? await this.files.read(first.file_key, start, bytes) : Buffer.alloc(0)
    if (read === null) return { blocks, lost: run.map((one) => makeLost(one)) }
    const lost: LostBlock[] = []
    for (const block of run) {
      const [at, end] = [block.data_at - start, findEnd(block) - start]
      // Copied: a kept block must not keep the bytes of its neighbours.
      if (end <= read.length && end >= at) {
        blocks.set(block.block_id, makeStoredBlock(block, Buffer.from(read.subarray(at, end))))
      } else lost.push(makeLost(block, 'damaged'))
    }
    return { blocks, lost }
  }

  private listed(keys: readonly BlockKey[]): Promise<ArchivedBlock[]> {
    const wanted = sql.join(
      keys.map((key) => sql`(${momentText(key.first_at_ms)}, ${key.block_id}::bigint)`),
      sql`, `,
    )
    return queryRows<ArchivedBlock>(
      this.db,
      sql`select ${ARCHIVED_COLUMNS} from score_archive_blocks
        where (first_at, block_id) in (select at::timestamptz, id
          from (values ${wanted}) as wanted(at, id))`,
    )
  }
}

/** The error of who needs a block that the archive has not. */
export function lostBlockError({ fileKey, ...block }: LostBlock): DamagedBlock {
  return new DamagedBlock({ ...block, part: 'data', archivedIn: fileKey })
}

interface ReadBlocks {
  readonly blocks: ReadonlyMap<string, StoredBlock>
  readonly lost: readonly LostBlock[]
}

function makeLost(block: ArchivedBlock, reason: LostBlock['reason'] = 'missing'): LostBlock {
  const { block_id: blockId, first_at_ms: firstAtMs, file_key: fileKey } = block
  return {
    blockId,
    firstAtMs,
    idFromMs: block.id_from_ms,
    idToMs: block.id_to_ms,
    fileKey,
    reason,
  }
}

function makeStoredBlock(block: ArchivedBlock, bytes: Buffer): StoredBlock {
  return {
    ...readFacts(block, 'score_archive_blocks'),
    data: bytes.subarray(0, block.data_bytes),
    sources: bytes.subarray(block.data_bytes),
    archivedIn: block.file_key,
  }
}

function findEnd({ data_at, data_bytes, sources_bytes }: ArchivedBlock): number {
  return data_at + data_bytes + sources_bytes
}

/** Blocks that stand one after the other in a file, in runs of bounded length. */
function* listRuns(listed: readonly ArchivedBlock[]): Generator<ArchivedBlock[]> {
  const sorted = listed.toSorted((a, b) =>
    a.file_key === b.file_key ? a.data_at - b.data_at : a.file_key < b.file_key ? -1 : 1,
  )
  let run: ArchivedBlock[] = []
  for (const block of sorted) {
    const [first] = run
    const last = run.at(-1)
    const isNext =
      first !== undefined &&
      last !== undefined &&
      last.file_key === block.file_key &&
      findEnd(last) === block.data_at &&
      findEnd(block) - first.data_at <= READ_BYTES
    if (!isNext && run.length > 0) {
      yield run
      run = []
    }
    run.push(block)
  }
  if (run.length > 0) yield run
}
