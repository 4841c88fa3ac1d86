import { sql } from 'drizzle-orm'
import pLimit from 'p-limit'
import { AppError } from '../../errors.ts'
import { rowsOf, type Statements } from '../../platform/db/client.ts'
import { isObjectKey, READ_BYTES_MAX } from '../../platform/object-store/object-store.ts'
import { epochMs, momentText } from '../../rollups/rollup-rows.ts'
import { CODECS, type StoredBlock } from '../blocks/stored-block.ts'
import type { ArchiveBytes, LostReason } from './archive-bytes.ts'

/** A block of which only the place is known. */
export interface ArchivedBlock {
  readonly block_id: string
  readonly first_at_ms: number
  readonly last_at_ms: number
  readonly id_from_ms: number
  readonly id_to_ms: number
  readonly records: number
  readonly applicants: number
  readonly codec: number
  readonly raw_bytes: number
  readonly checksum: number
  readonly file_key: string
  readonly data_at: number
  readonly data_bytes: number
  readonly sources_bytes: number | null
}

/** A block that the archive should have and has not. */
export interface LostBlock {
  readonly blockId: string
  readonly firstAtMs: number
  readonly fileKey: string
  readonly reason: LostReason
}

/** What identifies a block. */
export interface BlockKey {
  readonly block_id: string
  readonly first_at_ms: number
}

export const ARCHIVED_COLUMNS = sql`block_id::text as block_id,
  ${epochMs(sql`first_at`)} as first_at_ms, ${epochMs(sql`last_at`)} as last_at_ms,
  ${epochMs(sql`id_from`)} as id_from_ms, ${epochMs(sql`id_to`)} as id_to_ms, records, applicants,
  codec, raw_bytes, checksum::float8 as checksum, file_key, data_at::float8 as data_at, data_bytes,
  sources_bytes`

/** Reads of a portion at a time. */
const READS_MAX = 8
/** Bytes of one read: blocks that stand one after the other in a file are read together. */
const READ_BYTES = 4 * 1024 * 1024

/** Reads blocks whose day is in the archive. */
export class ArchivedBlocks {
  private readonly db: Statements
  private readonly files: ArchiveBytes

  constructor(db: Statements, files: ArchiveBytes) {
    this.db = db
    this.files = files
  }

  /**
   * Those of the blocks that the archive has, by their ids.
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
    const message = `a file of the archive of the score log is ${first.reason}`
    throw new AppError('unavailable', message)
  }

  private async readAll(listed: readonly ArchivedBlock[]): Promise<ReadBlocks> {
    const turns = pLimit(READS_MAX)
    const runs = await Promise.all([...runsOf(listed)].map((run) => turns(() => this.readRun(run))))
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
    const bytes = run.reduce((end, block) => Math.max(end, endOf(block)), 0) - start
    if (!isObjectKey(first.file_key)) return { blocks, lost: run.map((one) => lostOf(one)) }
    // The row of a block that says so was changed.
    const isLegal = start >= 0 && bytes >= 0 && bytes <= READ_BYTES_MAX
    const read = isLegal ? await this.files.read(first.file_key, start, bytes) : Buffer.alloc(0)
    if (read === null) return { blocks, lost: run.map((one) => lostOf(one)) }
    const lost: LostBlock[] = []
    for (const block of run) {
      const [at, end] = [block.data_at - start, endOf(block) - start]
      // Copied: a kept block must not keep the bytes of its neighbours.
      if (end <= read.length && end >= at) {
        blocks.set(block.block_id, storedBlockOf(block, Buffer.from(read.subarray(at, end))))
      } else lost.push(lostOf(block, 'damaged'))
    }
    return { blocks, lost }
  }

  private listed(keys: readonly BlockKey[]): Promise<ArchivedBlock[]> {
    const wanted = sql.join(
      keys.map((key) => sql`(${momentText(key.first_at_ms)}, ${key.block_id}::bigint)`),
      sql`, `,
    )
    return rowsOf<ArchivedBlock>(
      this.db,
      sql`select ${ARCHIVED_COLUMNS} from score_archive_blocks
        where (first_at, block_id) in (select at::timestamptz, id
          from (values ${wanted}) as wanted(at, id))`,
    )
  }
}

/** What a read has found, and what it has not. */
interface ReadBlocks {
  readonly blocks: ReadonlyMap<string, StoredBlock>
  readonly lost: readonly LostBlock[]
}

function lostOf(block: ArchivedBlock, reason: LostBlock['reason'] = 'missing'): LostBlock {
  const { block_id: blockId, first_at_ms: firstAtMs, file_key: fileKey } = block
  return { blockId, firstAtMs, fileKey, reason }
}

function storedBlockOf(block: ArchivedBlock, bytes: Buffer): StoredBlock {
  return {
    blockId: block.block_id,
    firstAtMs: block.first_at_ms,
    lastAtMs: block.last_at_ms,
    idFromMs: block.id_from_ms,
    idToMs: block.id_to_ms,
    records: block.records,
    applicants: block.applicants,
    codec: CODECS[block.codec] ?? 'raw',
    rawBytes: block.raw_bytes,
    checksum: block.checksum,
    data: bytes.subarray(0, block.data_bytes),
    sources: block.sources_bytes === null ? null : bytes.subarray(block.data_bytes),
    archivedIn: block.file_key,
  }
}

function endOf({ data_at, data_bytes, sources_bytes }: ArchivedBlock): number {
  return data_at + data_bytes + (sources_bytes ?? 0)
}

/** Blocks that stand one after the other in a file, in runs of bounded length. */
function* runsOf(listed: readonly ArchivedBlock[]): Generator<ArchivedBlock[]> {
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
      endOf(last) === block.data_at &&
      endOf(block) - first.data_at <= READ_BYTES
    if (!isNext && run.length > 0) {
      yield run
      run = []
    }
    run.push(block)
  }
  if (run.length > 0) yield run
}
