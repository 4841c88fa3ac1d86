import { ByteReader, ByteWriter } from '../blocks/bytes.ts'

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
  /** How many records a merged block is said to hold; null where the teams of the records tell. */
  readonly records: number | null
  /** Index in `sources` of a record; -1 for a record from before the tree. */
  sourceOf(record: number): number
}

const BY_TEAM = 0
const BY_RUNS = 1
/** Far above the records of a merged block: damaged bytes must not fill the memory. */
const RUN_RECORDS_MAX = 2 ** 20

/**
 * Writes the sources of a block whose records have one source for each team.
 *
 *     sources = varint count | each: u8 bytes of the team, team, varint sequence | u8 0
 */
export function writeDrainedSources(sources: readonly BlockSource[]): Buffer {
  const out = new ByteWriter()
  writeHead(out, sources)
  out.u8(BY_TEAM)
  return Buffer.from(out.written())
}

/**
 * Writes the sources of a merged block.
 *
 *     sources = as above, with u8 1 | varint runs | each: varint records, varint source + 1
 *
 * @param of source of each record, or null for one from before the tree
 */
export function writeMergedSources(of: readonly (BlockSource | null)[]): Buffer | null {
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
  if (sources.length === 0) return null
  const out = new ByteWriter()
  writeHead(out, sources)
  out.u8(BY_RUNS)
  out.varint(runs.length)
  for (const { records, source } of runs) {
    out.varint(records)
    out.varint(source + 1)
  }
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
 * @param bytes null for a block from before the tree
 * @param teamOf team of a record of the block
 * @throws RangeError if the bytes are damaged
 */
export function readSources(
  bytes: Buffer | null,
  teamOf: (record: number) => string,
): BlockSources {
  if (bytes === null) return { sources: [], records: null, sourceOf: () => -1 }
  const from = new ByteReader(bytes)
  const sources = Array.from({ length: from.varint() }, () => ({
    teamId: from.block().toString(),
    sequence: from.varint(),
  }))
  const kind = from.u8()
  if (kind === BY_TEAM) {
    checkEnd(from)
    const byTeam = new Map(sources.map(({ teamId }, index) => [teamId, index]))
    const sourceOf = (record: number) => byTeam.get(teamOf(record)) ?? -1
    return { sources, records: null, sourceOf }
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
  return { sources, records: ofRecord.length, sourceOf: (record) => ofRecord[record] ?? -1 }
}

function checkEnd(from: ByteReader): void {
  if (from.position === from.bytes.length) return
  throw new RangeError('the sources of the block are longer than their contents')
}
