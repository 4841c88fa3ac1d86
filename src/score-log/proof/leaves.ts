import {
  cellsOf,
  HEAD_AT,
  type RecordHead,
  type RecordResult,
  type RecordV4,
  readHeadV4,
  readRecordV4,
  readRowsV4,
} from '../record/record-v4.ts'
import { leafHash, rootOf } from './merkle.ts'

/** Version of the text of a leaf. */
const LEAF_VERSION = 1

/** The request of a record, with what the tree holds of each of its applicants. */
export interface RequestLeaves {
  readonly requestId: string
  readonly scoredAtMs: number
  /** One for each applicant: JSON in the canonical form of RFC 8785. */
  readonly leaves: readonly string[]
}

/** A tree over the records of one team in one drained block. */
export interface BlockTree {
  readonly teamId: string
  /** Number of applicants. */
  readonly size: number
  readonly root: Buffer
}

/**
 * What the tree holds of a record of version 4: everything but the reference and the record ids, so
 * that these can be erased and the proofs of the others stay valid.
 *
 * @throws Error that says what is wrong with the record, without quoting it
 */
export function leavesOf(payload: Buffer, head = headOf(payload)): RequestLeaves {
  const record = readRecordV4(payload)
  return {
    requestId: record.requestId,
    scoredAtMs: record.scoredAtMs,
    leaves: readRowsV4(record, head).map(({ results }, index) =>
      leafText(record, head, results, index),
    ),
  }
}

/** The names are in the order of RFC 8785, which `JSON.stringify` keeps. */
function leafText(
  record: RecordV4,
  head: RecordHead,
  results: readonly (RecordResult | null)[],
  index: number,
): string {
  return JSON.stringify({
    bucket: record.bucket,
    cache_version: head.cacheVersion,
    deployment_id: head.deploymentId,
    engine_version: head.engineVersion,
    is_batch: record.isBatch,
    key_id: record.keyId,
    latency_us: record.latencyUs,
    record_index: index,
    records: record.rowCount,
    request_id: record.requestId,
    results: head.models.map((model, position) => {
      const result = results[position] ?? null
      return {
        baseline_id: model.baselineId,
        cells: result === null ? [] : cellsOf(result.cellBytes, model.bytesPerCell),
        challenger_id: model.challengerId,
        grade: result?.grade ?? null,
        model_id: model.modelId,
        pd: result === null || Number.isNaN(result.pd) ? null : result.pd,
        score: result?.score ?? null,
        spec_sha256: model.specSha256,
        warnings: result?.warningCount ?? 0,
      }
    }),
    scored_at_ms: record.scoredAtMs,
    served: record.served,
    team_id: head.teamId,
    version: LEAF_VERSION,
  })
}

function headOf(payload: Buffer): RecordHead {
  return readHeadV4(payload.subarray(HEAD_AT, HEAD_AT + payload.readUInt16LE(1)))
}

/** The order of leaves in a block's tree: it does not depend on how records are stored. */
export function inTreeOrder(requests: readonly RequestLeaves[]): RequestLeaves[] {
  return [...requests].sort(
    (one, other) => one.scoredAtMs - other.scoredAtMs || (one.requestId < other.requestId ? -1 : 1),
  )
}

/** Hashes of the leaves of these requests, in the order of the tree. */
export function leafHashesOf(requests: readonly RequestLeaves[]): Buffer[] {
  return inTreeOrder(requests).flatMap(({ leaves }) =>
    leaves.map((leaf) => leafHash(Buffer.from(leaf))),
  )
}

/** The trees of the teams of a block's records, by rising team id. */
export function treesOf(payloads: readonly Buffer[]): BlockTree[] {
  const teams = new Map<string, RequestLeaves[]>()
  let head: RecordHead | null = null
  let before: Buffer = Buffer.alloc(0)
  for (const payload of payloads) {
    const bytes = payload.subarray(HEAD_AT, HEAD_AT + payload.readUInt16LE(1))
    if (head === null || !bytes.equals(before)) head = readHeadV4(bytes)
    before = bytes
    const requests = teams.get(head.teamId)
    const leaves = leavesOf(payload, head)
    if (requests === undefined) teams.set(head.teamId, [leaves])
    else requests.push(leaves)
  }
  return [...teams]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([teamId, requests]) => {
      const hashes = leafHashesOf(requests)
      return { teamId, size: hashes.length, root: rootOf(hashes) }
    })
}
