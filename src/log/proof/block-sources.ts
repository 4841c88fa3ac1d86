import { crc32 } from 'node:zlib'
import { ByteReader, ByteWriter, checkedBytes } from '../blocks/bytes.ts'

/** A drained block as a leaf of its team's tree. */
export interface BlockSource {
  readonly teamId: string
  /** Index of the leaf in the tree of the team. */
  readonly sequence: number
}

/**
 * Which drained block each record of a stored block comes from. A merged block holds the records of
 * several; each keeps its place in the tree.
 */
export interface BlockSources {
  readonly sources: readonly BlockSource[]
  /** Number of records a merged block is said to hold; null where the teams of the records tell. */
  readonly records: number | null
  /** Index in `sources` of a record; -1 for one that was added without a place in the tree. */
  readSource(record: number): number
}

const BY_TEAM = 0
const BY_RUNS = 1
/** Far above the records of a merged block: damaged bytes must not fill the memory. */
const RUN_RECORDS_MAX = 2 ** 20

/**
 * Writes the sources of a block whose records have one source for each team.
 *
 *     sources = varint count | each: u8 bytes of the team, team, varint sequence | u8 0
 *       | u32 CRC-32
 */
export function writeDrainedSources(sources: readonly BlockSource[]): Buffer {
  const out = new ByteWriter()
  writeHead(out, sources)
  out.u8(BY_TEAM)
  return checked(out)
}

/**
 * Writes the sources of a merged block.
 *
 *     sources = as above, with u8 1 | varint runs | each: varint records, varint source + 1
 *       | u32 CRC-32
 *
 * @param of source of each record, or null for one without a place in the tree
 */
export function writeMergedSources(of: readonly (BlockSource | null)[]): Buffer {
  const indexes = new Map<string, number>()
  const sources: BlockSource[] = []
  const runs: { records: number; readonly source: number }[] = []
  for (const source of of) {
    let index = -1
    if (source !== null) {
      const name = `${source.teamId} ${source.sequence}`
      index = indexes.get(name) ?? sources.push(source) - 1
      indexes.set(name, index)
    }
    const last = runs.at(-1)
    if (last?.source === index) last.records++
    else runs.push({ records: 1, source: index })
  }
  const out = new ByteWriter()
  writeHead(out, sources)
  out.u8(BY_RUNS)
  out.varint(runs.length)
  for (const { records, source } of runs) {
    out.varint(records)
    out.varint(source + 1)
  }
  return checked(out)
}

function checked(out: ByteWriter): Buffer {
  out.u32(crc32(out.written()))
  return Buffer.from(out.written())
}

function writeHead(out: ByteWriter, sources: readonly BlockSource[]): void {
  out.varint(sources.length)
  for (const { teamId, sequence } of sources) {
    out.block(Buffer.from(teamId))
    out.varint(sequence)
  }
}

/**
 * Reads what one of the functions above wrote.
 *
 * @param findTeam team of a record of the block
 * @throws RangeError if the bytes are damaged
 */
export function readSources(bytes: Buffer, findTeam: (record: number) => string): BlockSources {
  const from = new ByteReader(checkedBytes(bytes))
  const sources = Array.from({ length: from.varint() }, () => ({
    teamId: from.block().toString(),
    sequence: from.varint(),
  }))
  const kind = from.u8()
  if (kind === BY_TEAM) {
    checkEnd(from)
    const byTeam = new Map(sources.map(({ teamId }, index) => [teamId, index]))
    const readSource = (record: number) => byTeam.get(findTeam(record)) ?? -1
    return { sources, records: null, readSource }
  }
  if (kind !== BY_RUNS) throw new RangeError('the sources of the block are of another kind')
  const ofRecord: number[] = []
  for (let rest = from.varint(); rest > 0; rest--) {
    const records = from.varint()
    const source = from.varint() - 1
    if (records > RUN_RECORDS_MAX) throw new RangeError('a run of the sources is too long')
    for (let record = 0; record < records; record++) ofRecord.push(source)
  }
  checkEnd(from)
  return { sources, records: ofRecord.length, readSource: (record) => ofRecord[record] ?? -1 }
}

function checkEnd(from: ByteReader): void {
  if (from.position === from.bytes.length) return
  throw new RangeError('the sources of the block are longer than their contents')
}
