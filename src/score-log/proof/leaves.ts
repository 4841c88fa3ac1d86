import { HEAD_AT } from '../record/record-v4.ts'
import { LeafTexts } from './leaf-texts.ts'
import { HASH_BYTES, rootInPlace, sha256Text } from './merkle.ts'

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
  const hashes = Buffer.concat(inTreeOrder(requests).map((request) => request.hashes))
  return { size: hashes.length / HASH_BYTES, root: rootInPlace(hashes) }
}

/** The trees of the teams of a block's records, by rising team id. */
export function treesOf(payloads: readonly Buffer[]): BlockTree[] {
  const teams = new Map<string, RequestLeaves[]>()
  const heads = new Heads()
  for (const payload of payloads) {
    const texts = heads.textsOf(payload)
    const requests = teams.get(texts.teamId)
    const leaves = leavesOf(payload, texts)
    if (requests === undefined) teams.set(texts.teamId, [leaves])
    else requests.push(leaves)
  }
  return [...teams]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([teamId, requests]) => ({ teamId, ...treeOver(requests) }))
}

/** The texts of the heads of some records. */
class Heads {
  private readonly texts = new Map<string, LeafTexts>()
  private before: Buffer = Buffer.alloc(0)
  private textsBefore: LeafTexts | null = null

  textsOf(payload: Buffer): LeafTexts {
    const end = HEAD_AT + payload.readUInt16LE(1)
    const { before, textsBefore } = this
    const isBefore =
      textsBefore !== null &&
      before.length === end - HEAD_AT &&
      payload.compare(before, 0, before.length, HEAD_AT, end) === 0
    if (isBefore) return textsBefore
    const head = payload.toString('latin1', HEAD_AT, end)
    const texts = this.texts.get(head) ?? LeafTexts.of(payload)
    this.texts.set(head, texts)
    this.before = payload.subarray(HEAD_AT, end)
    this.textsBefore = texts
    return texts
  }
}

function* hashesIn(hashes: Buffer): Generator<Buffer> {
  for (let at = 0; at < hashes.length; at += HASH_BYTES) {
    yield hashes.subarray(at, at + HASH_BYTES)
  }
}
