import { open } from 'node:fs/promises'
import { zstdDecompressSync } from 'node:zlib'
import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects } from 'hyparquet'
import type { StoredBlock } from '../blocks/stored-block.ts'
import { ResultSums } from './result-sums.ts'
import type { BlockPlace, RowGroupFacts } from './written-part.ts'

/** The content that a file must have. */
interface ExpectedPart {
  readonly blocks: readonly StoredBlock[]
  readonly places: readonly BlockPlace[]
  readonly sums: ResultSums
}

const COLUMNS = ['request_id', 'score', 'pd']
const COMPRESSORS = { ZSTD: (bytes: Uint8Array) => zstdDecompressSync(bytes) }

/**
 * Reads a file back with another program than the one that wrote it.
 *
 * @returns its row groups
 * @throws Error if a block or the results are not those that were written
 */
export async function checkPart(
  path: string,
  { blocks, places, sums }: ExpectedPart,
): Promise<RowGroupFacts[]> {
  await checkBlocks(path, blocks, places)
  const file = await asyncBufferFromFile(path)
  const metadata = await parquetMetadataAsync(file)
  const found = new ResultSums()
  const groups: RowGroupFacts[] = []
  let rowStart = 0
  for (const { num_rows } of metadata.row_groups) {
    const rowEnd = rowStart + Number(num_rows)
    const rows = await parquetReadObjects({
      file,
      metadata,
      columns: COLUMNS,
      rowStart,
      rowEnd,
      compressors: COMPRESSORS,
    })
    const ids: string[] = []
    for (const { request_id, score, pd } of rows) {
      ids.push(request_id)
      found.add(score, pd)
    }
    groups.push({ rows: rows.length, ...readEnds(ids) })
    rowStart = rowEnd
  }
  if (Number(metadata.num_rows) !== found.rows || String(found) !== String(sums)) {
    throw new Error(`a file of the archive reads back as ${found}, and its blocks hold ${sums}`)
  }
  return groups
}

async function checkBlocks(
  path: string,
  blocks: readonly StoredBlock[],
  places: readonly BlockPlace[],
): Promise<void> {
  const file = await open(path, 'r')
  try {
    for (const [index, { data, sources }] of blocks.entries()) {
      const expected = Buffer.concat([data, sources])
      const bytes = Buffer.alloc(expected.length)
      await file.read(bytes, 0, bytes.length, places[index]?.dataAt ?? -1)
      if (!bytes.equals(expected)) throw new Error('a file of the archive has another block')
    }
  } finally {
    await file.close()
  }
}

function readEnds(ids: readonly string[]): Pick<RowGroupFacts, 'firstRequestId' | 'lastRequestId'> {
  let first = ids[0] ?? ''
  let last = first
  for (const id of ids) {
    if (id < first) first = id
    if (id > last) last = id
  }
  return { firstRequestId: first, lastRequestId: last }
}
