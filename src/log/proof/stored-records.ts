import { AppError } from '../errors.ts'
import type { LostBlock } from '../score-log/archive/archived-blocks.ts'
import type { OpenBlock } from '../score-log/blocks/block.ts'
import { openBlock } from '../score-log/blocks/block-decoder.ts'
import type { BlockIndexReader } from '../score-log/blocks/block-index.ts'
import type { BlockReader } from '../score-log/blocks/block-store.ts'
import type { StoredBlock } from '../score-log/blocks/stored-block.ts'
import { type BlockSources, readSources } from '../score-log/proof/block-sources.ts'
import { treeOver } from '../score-log/proof/leaves.ts'
import { emptyRoot } from '../score-log/proof/merkle.ts'
import { TurnTaker } from '../score-log/reading/turn-taker.ts'
import type { ModelSource } from '../score-log/record/model-source.ts'
import { leavesIn } from './block-proof.ts'
import type { Findings, FoundRoot } from './findings.ts'
import { faultOf } from './row-faults.ts'

interface StoredRecordsOptions {
  readonly blocks: BlockReader
  readonly index: BlockIndexReader
  readonly models: ModelSource
  readonly teamId: string
  /** Records from then on have a place in the tree. */
  readonly tracedFromMs: number
}

/** The records of a team in one row, as they are stored now. */
export interface StoredRecords {
  /** By the number of their drained block. */
  readonly roots: ReadonlyMap<number, FoundRoot>
  /** Applicants from before the tree. */
  readonly untraced: number
}

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
    const where = whereOf({ ...block, archivedIn: block.fileKey })
    findings.add('block_unreadable', null, `${where} can't be read: the file is ${reason}`)
  }
  for await (const stored of options.blocks.blocksIn({ ...range, order: 'oldest', onLost })) {
    const where = whereOf(stored)
    yield await recordsIn({ ...stored, where }, options, findings)
  }
}

/** How findings name the row of a block, and its file in the archive. */
function whereOf({
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
    if (stored.sources !== null) own = listed
    const block = openBlock(stored)
    const of = readSources(stored.sources, (record) => block.teamId(record))
    if ((of.records ?? block.count) !== block.count) {
      throw new RangeError('its sources are of another number of records')
    }
    const { bySource, untraced } = await ownRecords(block, of, teamId)
    if (listed.length + untraced.length === 0) return { roots, untraced: 0 }
    const fault = await faultOf(stored, block, await index.indexOf(stored))
    if (fault !== null) {
      findings.add('block_changed', listed[0] ?? null, `${where} was changed: ${fault}`)
    }
    const known = await models.compiled(block.modelIds)
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
    return { roots, untraced: noteUntraced({ where, block, untraced }, options, findings) }
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
    return { roots, untraced: 0 }
  }
}

/** The team's requests by their drained block, and those without one of the team. */
async function ownRecords(block: OpenBlock, { sources, sourceOf }: BlockSources, teamId: string) {
  const bySource = new Map<number, number[]>()
  const untraced: number[] = []
  const turns = new TurnTaker()
  for (let record = 0; record < block.count; record++) {
    if (block.teamId(record) !== teamId) continue
    const source = sources[sourceOf(record)]
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

interface UntracedRecords {
  readonly where: string
  readonly block: OpenBlock
  readonly untraced: readonly number[]
}

/** @returns number of applicants from before the tree; the others are findings */
function noteUntraced(
  { where, block, untraced }: UntracedRecords,
  { tracedFromMs }: StoredRecordsOptions,
  findings: Findings,
): number {
  const forged = untraced.filter((record) => block.scoredAtMs(record) >= tracedFromMs)
  const [first] = forged
  if (first !== undefined) {
    const message =
      `${where} holds ${forged.length} requests without a place in the tree, such as ` +
      `${block.requestId(first)}: the log had a tree when they say they were scored`
    findings.add('block_untraced', null, message)
  }
  const applicantsOf = (records: readonly number[]) =>
    records.reduce((sum, record) => sum + block.applicants(record), 0)
  return applicantsOf(untraced) - applicantsOf(forged)
}
