import { RecordScanner } from '../record/record-scanner.ts'
import type { BlockTree } from './block-trees.ts'
import { LeafTexts } from './leaf-texts.ts'
import { HASH_BYTES, rootInPlace, sha256Text } from './merkle.ts'

/** The request of a record, with the hashes of its leaves. */
export interface RequestLeaves {
  readonly requestId: string
  readonly scoredAtMs: number
  /** `HASH_BYTES` for each applicant: a batch to be drained has hundreds of thousands. */
  readonly hashes: Buffer
}

/**
 * The hashes of what the tree holds of a record of version 4.
 *
 * @throws Error that says what is wrong with the record, without quoting it
 */
export function readLeaves(payload: Buffer): RequestLeaves {
  const record = new RecordScanner().scan(payload)
  const { scoredAtMs, rows } = record
  const hashes = Buffer.allocUnsafe(rows * HASH_BYTES)
  LeafTexts.of(payload).each(record, (leaf, index) => {
    hashes.write(sha256Text(leaf), index * HASH_BYTES, 'latin1')
  })
  return { requestId: record.requestIdText(), scoredAtMs, hashes }
}

/** Returns what the tree holds of one applicant of a record; empty if the record has fewer. */
export function formatLeafText(payload: Buffer, applicant: number): string {
  let text = ''
  LeafTexts.of(payload).each(new RecordScanner().scan(payload), (leaf, index) => {
    if (index === applicant) text = leaf.toString('utf8', 1)
  })
  return text
}

/** The order of leaves in a block's tree: it does not depend on how records are stored. */
export function inTreeOrder<Request extends Pick<RequestLeaves, 'requestId' | 'scoredAtMs'>>(
  requests: readonly Request[],
): Request[] {
  return [...requests].sort(
    (one, other) => one.scoredAtMs - other.scoredAtMs || (one.requestId < other.requestId ? -1 : 1),
  )
}

export function hashLeaves(requests: readonly RequestLeaves[]): Buffer[] {
  return inTreeOrder(requests).flatMap(({ hashes }) => [...hashesIn(hashes)])
}

/** Size and root of the tree over the leaves of these requests. */
export function treeOver(requests: readonly RequestLeaves[]): Omit<BlockTree, 'teamId'> {
  const hashes = Buffer.concat(inTreeOrder(requests).map((request) => request.hashes))
  return { size: hashes.length / HASH_BYTES, root: rootInPlace(hashes) }
}

function* hashesIn(hashes: Buffer): Generator<Buffer> {
  for (let at = 0; at < hashes.length; at += HASH_BYTES) {
    yield hashes.subarray(at, at + HASH_BYTES)
  }
}
