import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { zstdDecompressSync } from 'node:zlib'
import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects } from 'hyparquet'
import { type OpenBlock, openBlock } from '../blocks/block-decoder.ts'
import type { StoredBlock } from '../blocks/stored-block.ts'
import type { RowTexts } from '../reading/export/columns.ts'
import { ParquetRows } from '../reading/export/parquet-rows.ts'
import { listRows } from '../reading/export/rows.ts'
import { CellModels } from '../reading/stored-models.ts'
import type { ModelsById } from '../record/model-source.ts'
import type { BlockPlace, PartTask, RowGroupFacts, WrittenPart } from './written-part.ts'

const ROWS_AT_A_TIME = 500
const SCORED = 1

/**
 * Writes blocks as a Parquet file: the blocks themselves, where readers of Parquet do not look,
 * then a row for each applicant and model, as an export has them. Engines read the rows; this
 * service reads the blocks, from which it restores each record to the byte.
 *
 * The same blocks and models give the same bytes. The file is then read back: the rows must add up
 * to what the blocks hold.
 *
 * @throws Error that says what is wrong
 */
export async function writePart({ path, blocks, models: texts }: PartTask): Promise<WrittenPart> {
  const models = new CellModels({ modelTexts: async () => texts })
  const sums = new ResultSums()
  const file = openSync(path, 'w', 0o600)
  let places: readonly BlockPlace[] = []
  let [records, applicants] = [0, 0]
  try {
    const parquet = new ParquetRows()
    const write = (bytes: Uint8Array) => writeWhole(file, bytes)
    places = blocks.map((block) => writeBlock(block, parquet, write))
    for (const stored of blocks) {
      const block = openBlock(stored)
      const compiled = await models.compiled(block.modelIds)
      const known = await models.get(block.modelIds)
      addResults(block, compiled, sums)
      let texts: RowTexts[] = []
      for (let index = 0; index < block.count; index++) {
        for (const row of listRows(block.request(index, compiled), known)) {
          texts.push(row)
          if (texts.length < ROWS_AT_A_TIME) continue
          write(parquet.writeRows(texts))
          texts = []
        }
      }
      write(parquet.writeRows(texts))
      records += block.count
      applicants += stored.applicants
    }
    write(parquet.end())
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
  const rowGroups = await checkPart(path, { blocks, places, sums })
  return { rowCount: sums.rows, records, applicants, rowGroups, places }
}

function writeBlock(
  { firstAtMs, blockId, checksum, data, sources }: StoredBlock,
  parquet: ParquetRows,
  write: (bytes: Uint8Array) => void,
): BlockPlace {
  const dataAt = parquet.embed(data)
  parquet.embed(sources)
  write(parquet.writeRows([]))
  const [dataBytes, sourcesBytes] = [data.length, sources.length]
  return { firstAtMs, blockId, checksum, dataAt, dataBytes, sourcesBytes }
}

/** From the columns of the block, not from its records: what rows are made of is checked, too. */
function addResults(block: OpenBlock, models: ModelsById, sums: ResultSums): void {
  for (const [group, { models: columns, rows }] of block.groups.entries()) {
    for (const [position, { scored }] of columns.entries()) {
      const { scores, pds } = block.results(group, position, models)
      for (let row = 0; row < rows; row++) {
        const pd = pds[row] ?? Number.NaN
        const score = scored[row] === SCORED ? (scores[row] ?? null) : null
        sums.add(score, Number.isNaN(pd) ? null : pd)
      }
    }
  }
}

function writeWhole(file: number, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at)
}

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

const F64 = new Float64Array(1)
const WORDS = new Uint32Array(F64.buffer)

/**
 * Sums over results that do not depend on their order, and change with any bit of them: blocks and
 * Parquet have the same results in another order.
 */
export class ResultSums {
  rows = 0
  results = 0
  private low = 0
  private high = 0

  /** @param score null where the model failed */
  add(score: number | null, pd: number | null): void {
    this.rows++
    if (score === null) return
    this.results++
    this.addBits(score, 1)
    if (pd !== null) this.addBits(pd, 3)
  }

  /** Equal texts are equal sums. */
  toString(): string {
    return `${this.rows} rows, ${this.results} results, ${this.high}.${this.low}`
  }

  /** @param factor odd, tells scores from probabilities */
  private addBits(value: number, factor: number): void {
    // Parquet gets 0 for -0.
    F64[0] = value + 0
    this.low = (this.low + Math.imul(WORDS[0] ?? 0, factor)) >>> 0
    this.high = (this.high + Math.imul(WORDS[1] ?? 0, factor)) >>> 0
  }
}
