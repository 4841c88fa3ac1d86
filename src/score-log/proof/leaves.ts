import { HEAD_AT } from '../record/record-v4.ts'
import { LeafTexts } from './leaf-texts.ts'
import { HASH_BYTES, sha256Text, TreeEdge } from './merkle.ts'

/** The request of a record, with the hashes of its leaves. */
export interface RequestLeaves {
  readonly requestId: string
  readonly scoredAtMs: number
  /** `HASH_BYTES` for each applicant: a batch to be drained has hundreds of thousands. */
  readonly hashes: Buffer
}

/** A tree over the records of one team in one drained block. */
export interface BlockTree {
  readonly teamId: string
  /** Number of applicants. */
  readonly size: number
  readonly root: Buffer
}

/**
 * The hashes of what the tree holds of a record of version 4.
 *
 * @param texts those of the record's head
 * @throws Error that says what is wrong with the record, without quoting it
 */
export function leavesOf(payload: Buffer, texts = LeafTexts.of(payload)): RequestLeaves {
  let hashes: Buffer = Buffer.alloc(0)
  const { requestId, scoredAtMs } = texts.each(payload, (leaf, index, rows) => {
    if (index === 0) hashes = Buffer.allocUnsafe(rows * HASH_BYTES)
    hashes.write(sha256Text(leaf), index * HASH_BYTES, 'latin1')
  })
  return { requestId, scoredAtMs, hashes }
}

/** What the tree holds of one applicant of a record; empty if the record has fewer. */
export function leafTextOf(payload: Buffer, applicant: number): string {
  let text = ''
  LeafTexts.of(payload).each(payload, (leaf, index) => {
    if (index === applicant) text = leaf.toString('utf8', 1)
  })
  return text
}

/** The order of leaves in a block's tree: it does not depend on how records are stored. */
export function inTreeOrder(requests: readonly RequestLeaves[]): RequestLeaves[] {
  return [...requests].sort(
    (one, other) => one.scoredAtMs - other.scoredAtMs || (one.requestId < other.requestId ? -1 : 1),
  )
}

/** Hashes of the leaves of these requests, in the order of the tree. */
export function leafHashesOf(requests: readonly RequestLeaves[]): Buffer[] {
  return inTreeOrder(requests).flatMap(({ hashes }) => [...hashesIn(hashes)])
}

/** Size and root of the tree over the leaves of these requests. */
export function treeOver(requests: readonly RequestLeaves[]): Omit<BlockTree, 'teamId'> {
  const edge = new TreeEdge()
  for (const { hashes } of inTreeOrder(requests)) {
    for (const leaf of hashesIn(hashes)) edge.add(leaf)
  }
  return { size: edge.size, root: edge.root }
}

/** The trees of the teams of a block's records, by rising team id. */
export function treesOf(payloads: readonly Buffer[]): BlockTree[] {
  const teams = new Map<string, RequestLeaves[]>()
  let texts: LeafTexts | null = null
  let before: Buffer = Buffer.alloc(0)
  for (const payload of payloads) {
    const bytes = payload.subarray(HEAD_AT, HEAD_AT + payload.readUInt16LE(1))
    if (texts === null || !bytes.equals(before)) texts = LeafTexts.of(payload)
    before = bytes
    const requests = teams.get(texts.teamId)
    const leaves = leavesOf(payload, texts)
    if (requests === undefined) teams.set(texts.teamId, [leaves])
    else requests.push(leaves)
  }
  return [...teams]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([teamId, requests]) => ({ teamId, ...treeOver(requests) }))
}

function* hashesIn(hashes: Buffer): Generator<Buffer> {
  for (let at = 0; at < hashes.length; at += HASH_BYTES) {
    yield hashes.subarray(at, at + HASH_BYTES)
  }
}
