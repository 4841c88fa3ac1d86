import { runInTurns, TurnTaker } from '../../platform/turn-taker.ts'
import type { OpenBlock } from '../blocks/block-decoder.ts'
import type { BlockIndex } from '../blocks/block-index.ts'
import {
  type CountableGroup,
  countResults,
  HAS_REFERENCE,
  IS_SERVED,
} from '../blocks/count-results.ts'
import type { BlockGroup } from '../blocks/group-decoder.ts'
import { deploymentHash, ReferenceFilter } from '../blocks/hashes.ts'
import { timeOfRequestId } from '../blocks/request-id-column.ts'
import { matchesBlock } from '../blocks/result-counts.ts'
import type { StoredBlock } from '../blocks/stored-block.ts'
import type { ModelsById } from '../record/model-source.ts'
import { ID_NULL, SCORED } from '../record/record-v4.ts'

/**
 * Returns what the columns of a row say of its records otherwise than the records: a reader that
 * trusts such a column overlooks them.
 *
 * @returns null for nothing
 */
export async function findFault(
  stored: StoredBlock,
  block: OpenBlock,
  { index, models }: ComparedColumns,
): Promise<string | null> {
  const { at, ids, applicants, deployments, filter } = await readRowFacts(block)
  const rules: [string, boolean][] = [
    ['first_at', stored.firstAtMs === Math.floor(at.first)],
    ['last_at', stored.lastAtMs === Math.ceil(at.last)],
    ['records', stored.records === block.count],
    ['applicants', stored.applicants === applicants],
    ['id_from', stored.idFromMs === Math.floor(ids.first)],
    ['id_to', stored.idToMs === Math.ceil(ids.last)],
  ]
  if (index !== null) {
    const isListed =
      index.deployments.length === deployments.size &&
      index.deployments.every((hash) => deployments.has(hash))
    rules.push(['deployments', isListed])
    rules.push(['reference_filter', isEqual(index.referenceFilter, filter)])
    rules.push(['counts', await areCountsRight(index.counts, stored, listCountable(block, models))])
  }
  const wrong = rules.flatMap(([column, isRight]) => (isRight ? [] : [column]))
  if (wrong.length === 0 && stored.damagedIndexIn !== undefined) {
    wrong.push('superseded_at', 'filter_sum', 'index_sum')
  }
  return wrong.length === 0 ? null : `its records say otherwise than ${wrong.join(', ')}`
}

interface ComparedColumns {
  /** Null where it can't be compared. */
  readonly index: BlockIndex | null
  readonly models: ModelsById
}

async function areCountsRight(
  counts: Buffer | null,
  { checksum }: Pick<StoredBlock, 'checksum'>,
  groups: readonly CountableGroup[],
): Promise<boolean> {
  try {
    if (counts === null || !matchesBlock(counts, checksum)) return true
  } catch {
    return false
  }
  return isEqual(counts, await runInTurns(countResults(checksum, groups)))
}

function listCountable(block: OpenBlock, models: ModelsById): CountableGroup[] {
  const markOf = (group: BlockGroup, row: number, position: number) => {
    const request = group.requestOfRow[row] ?? 0
    const hasReference = block.isBatch(request)
      ? group.idKinds[row] !== ID_NULL
      : block.reference(request) !== null
    return (block.served(request) === position ? IS_SERVED : 0) | (hasReference ? HAS_REFERENCE : 0)
  }
  return block.groups.map((group, index) => ({
    teamId: group.teamId,
    deploymentId: group.deploymentId,
    rows: group.rows,
    countable: () =>
      group.models.map(({ modelId, scored, cells }, position) => {
        const isScored = (_: number, row: number) => scored[row] === SCORED
        return {
          modelId,
          features: cells.length,
          marks: scored.map((_, row) => markOf(group, row, position)).filter(isScored),
          scores: block.results(index, position, models).scores.filter(isScored),
          readCells: (feature: number) => {
            const column = (cells[feature] ?? new Uint8Array()).filter(isScored)
            const step = column.BYTES_PER_ELEMENT as 1 | 2
            return { bytes: new Uint8Array(column.buffer), at: 0, step, bytesPerCell: step }
          },
        }
      }),
  }))
}

class Span {
  first = Number.POSITIVE_INFINITY
  last = Number.NEGATIVE_INFINITY

  add(ms: number): void {
    this.first = Math.min(this.first, ms)
    this.last = Math.max(this.last, ms)
  }
}

/**
 * Returns what the encoder of a block has computed of its records. It gives way to the event loop.
 */
export async function readRowFacts(block: OpenBlock) {
  const [at, ids, filter, turns] = [new Span(), new Span(), new ReferenceFilter(), new TurnTaker()]
  let applicants = 0
  for (let record = 0; record < block.count; record++) {
    const scoredAtMs = block.scoredAtMs(record)
    at.add(scoredAtMs)
    ids.add(timeOfRequestId(block.requestId(record)) ?? scoredAtMs)
    applicants += block.applicants(record)
    addReferences(block, record, filter)
    await turns.giveWay()
  }
  const deployments = new Set(block.groups.map((group) => deploymentHash(group.deploymentId)))
  return { at, ids, records: block.count, applicants, deployments, filter: filter.bytes() }
}

/** In a batch the id of an applicant is a reference, beside that of the request. */
function addReferences(block: OpenBlock, record: number, filter: ReferenceFilter): void {
  const teamId = block.teamId(record)
  const reference = block.reference(record)
  if (reference !== null) filter.add(teamId, reference)
  if (!block.isBatch(record)) return
  for (let row = 0; row < block.applicants(record); row++) {
    const id = block.recordId(record, row)
    if (id !== null) filter.add(teamId, String(id))
  }
}

function isEqual(one: Buffer | null, other: Buffer | null): boolean {
  return one === null || other === null ? one === other : one.equals(other)
}
