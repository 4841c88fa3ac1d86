import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs'
import type { OpenBlock } from '../blocks/block-decoder.ts'
import { openBlock } from '../blocks/block-decoder.ts'
import type { StoredBlock } from '../blocks/stored-block.ts'
import type { RowTexts } from '../reading/export/columns.ts'
import { ParquetRows } from '../reading/export/parquet-rows.ts'
import { listRows } from '../reading/export/rows.ts'
import { CellModels } from '../reading/stored-models.ts'
import type { ModelsById } from '../record/model-source.ts'
import { checkPart } from './part-check.ts'
import { ResultSums } from './result-sums.ts'
import type { BlockPlace, PartTask, WrittenPart } from './written-part.ts'

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
