import { sql } from 'drizzle-orm'
import pLimit from 'p-limit'
import { AppError } from '../../errors.ts'
import { rowsOf, type Statements } from '../../platform/db/client.ts'
import { epochMs, momentText } from '../../rollups/rollup-rows.ts'
import { CODECS, type StoredBlock } from '../blocks/stored-block.ts'
import type { ArchiveBytes } from './archive-bytes.ts'

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
   * @throws AppError `unavailable`, also if a file of the manifest is missing
   */
  async read(keys: readonly BlockKey[]): Promise<ReadonlyMap<string, StoredBlock>> {
    const found = await this.readListed(await this.listed(keys))
    // The file has another generation by now.
    const again = found ?? (await this.readListed(await this.listed(keys)))
    if (again !== null) return again
    throw new AppError('unavailable', 'a file of the archive of the score log is missing')
  }

  /** @returns null if a file has gone */
  async readListed(
    listed: readonly ArchivedBlock[],
  ): Promise<ReadonlyMap<string, StoredBlock> | null> {
    const turns = pLimit(READS_MAX)
    const runs = await Promise.all([...runsOf(listed)].map((run) => turns(() => this.readRun(run))))
    const blocks = new Map<string, StoredBlock>()
    for (const run of runs) {
      if (run === null) return null
      for (const block of run) blocks.set(block.blockId, block)
    }
    return blocks
  }

  private async readRun(run: readonly ArchivedBlock[]): Promise<StoredBlock[] | null> {
    const [first] = run
    if (first === undefined) return []
    const start = first.data_at
    const bytes = run.reduce((end, block) => Math.max(end, endOf(block)), 0) - start
    const read = await this.files.read(first.file_key, start, bytes)
    if (read === null) return null
    if (read.length !== bytes) {
      throw new AppError('unavailable', 'a file of the archive of the score log is cut off')
    }
    return run.map((block) => {
      const at = block.data_at - start
      // Copied: a kept block must not keep the bytes of its neighbours.
      return storedBlockOf(block, Buffer.from(read.subarray(at, at + endOf(block) - block.data_at)))
    })
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
