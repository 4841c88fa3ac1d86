import { AppError } from '../../errors.ts'
import { TurnTaker } from '../../platform/turn-taker.ts'
import type { LostBlock } from '../archive/archived-blocks.ts'
import type { OpenBlock } from '../blocks/block-decoder.ts'
import { openBlock } from '../blocks/block-decoder.ts'
import type { BlockIndexReader } from '../blocks/block-index.ts'
import type { BlockReader } from '../blocks/block-store.ts'
import type { StoredBlock } from '../blocks/stored-block.ts'
import type { ModelSource } from '../record/model-source.ts'
import { leavesIn } from './block-proof.ts'
import { type BlockSources, readSources } from './block-sources.ts'
import type { Findings, FoundRoot } from './findings.ts'
import { treeOver } from './leaves.ts'
import { emptyRoot } from './merkle.ts'
import { findFault } from './row-faults.ts'

interface StoredRecordsOptions {
  readonly blocks: Pick<BlockReader, 'blocksIn'>
  readonly index: Pick<BlockIndexReader, 'findIndex'>
  readonly models: ModelSource
  readonly teamId: string
}

/** The records of a team in one row as they are stored now, by number of their drained block. */
type StoredRecords = ReadonlyMap<number, FoundRoot>

/**
 * Reads the whole log row by row, oldest first, and notes rows that can't be read or that hide or
 * forge records.
 */
export async function* readStoredRecords(
  options: StoredRecordsOptions,
  findings: Findings,
): AsyncGenerator<StoredRecords> {
  const range = { fromMs: Number.NEGATIVE_INFINITY, toMs: Number.POSITIVE_INFINITY }
  const onLost = ({ reason, ...block }: LostBlock) => {
    const where = formatWhere({ ...block, archivedIn: block.fileKey })
    findings.add('block_unreadable', null, `${where} can't be read: the file is ${reason}`)
  }
  for await (const stored of options.blocks.blocksIn({ ...range, order: 'oldest', onLost })) {
    const where = formatWhere(stored)
    yield await recordsIn({ ...stored, where }, options, findings)
  }
}

/** Tells how findings name the row of a block, and its file in the archive. */
function formatWhere({
  blockId,
  firstAtMs,
  archivedIn,
}: Pick<StoredBlock, 'blockId' | 'firstAtMs' | 'archivedIn'>): string {
  const at = new Date(firstAtMs).toISOString()
  if (archivedIn === undefined) return `block_id ${blockId} of score_blocks, first_at ${at},`
  return `block_id ${blockId} of score_archive_blocks, first_at ${at}, in the file ${archivedIn}`
}

/** A stored block, and how findings name its row. */
type NamedBlock = StoredBlock & { readonly where: string }

async function recordsIn(
  stored: NamedBlock,
  options: StoredRecordsOptions,
  findings: Findings,
): Promise<StoredRecords> {
  const { teamId, models, index } = options
  const { where } = stored
  const roots = new Map<number, FoundRoot>()
  // A block of which nothing is known can hold records of any team.
  let own: readonly (number | null)[] = [null]
  try {
    const listed = readSources(stored.sources, () => teamId).sources.flatMap((source) =>
      source.teamId === teamId ? [source.sequence] : [],
    )
    own = listed
    const block = openBlock(stored)
    const of = readSources(stored.sources, (record) => block.teamId(record))
    if ((of.records ?? block.count) !== block.count) {
      throw new RangeError('its sources are of another number of records')
    }
    const { bySource, untraced } = await ownRecords(block, of, teamId)
    if (listed.length + untraced.length === 0) return roots
    const known = await models.compiled(block.modelIds)
    const columns = await index.findIndex(stored)
    const fault = await findFault(stored, block, { index: columns, models: known })
    if (fault !== null) {
      findings.add('block_changed', listed[0] ?? null, `${where} was changed: ${fault}`)
    }
    for (const sequence of listed) {
      const requests = await leavesIn(block, bySource.get(sequence) ?? [], known)
      const ids = requests.map(({ requestId }) => requestId).sort()
      let [firstAtMs, lastAtMs] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
      for (const { scoredAtMs } of requests) {
        firstAtMs = Math.min(firstAtMs, scoredAtMs)
        lastAtMs = Math.max(lastAtMs, scoredAtMs)
      }
      const ends: [string, string] = [ids[0] ?? '', ids.at(-1) ?? '']
      const facts = { isReadable: true, firstAtMs, lastAtMs, where, requests: ends }
      roots.set(sequence, { ...treeOver(requests), ...facts })
    }
    const [first] = untraced
    if (first !== undefined) {
      const message =
        `${where} holds ${untraced.length} requests without a place in the tree, such as ` +
        block.requestId(first)
      findings.add('block_untraced', null, message)
    }
    return roots
  } catch (error) {
    // Not a fault of the block: the database is away.
    if (error instanceof AppError && error.code === 'unavailable') throw error
    const cause = error instanceof Error ? error.message : String(error)
    for (const sequence of own) {
      findings.add('block_unreadable', sequence, `${where} can't be read: ${cause}`)
      if (sequence === null) continue
      const times = {
        firstAtMs: Number.POSITIVE_INFINITY,
        lastAtMs: Number.NEGATIVE_INFINITY,
      }
      const unreadable = { root: emptyRoot(), size: 0, isReadable: false, ...times }
      roots.set(sequence, { ...unreadable, where, requests: ['', ''] })
    }
    return roots
  }
}

/** The team's requests by their drained block, and those without one of the team. */
async function ownRecords(block: OpenBlock, { sources, readSource }: BlockSources, teamId: string) {
  const bySource = new Map<number, number[]>()
  const untraced: number[] = []
  const turns = new TurnTaker()
  for (let record = 0; record < block.count; record++) {
    if (block.teamId(record) !== teamId) continue
    const source = sources[readSource(record)]
    if (source?.teamId !== teamId) untraced.push(record)
    else {
      const list = bySource.get(source.sequence)
      if (list === undefined) bySource.set(source.sequence, [record])
      else list.push(record)
    }
    await turns.giveWay()
  }
  return { bySource, untraced }
}
