import { RollupSums } from '../../rollups/rollup-sums.ts'
import type { ModelsById } from '../record/model-source.ts'
import {
  BUCKET_AT,
  FIXED_FACTS_BYTES,
  FLAGS_AT,
  HEAD_AT,
  IS_BATCH,
  LATENCY_AT,
  NO_BUCKET,
  RECORD_V4,
  ROWS_AT,
  readHeadV4,
  SCORED_AT,
  SERVED_AT,
} from '../record/record-v4.ts'
import { writeSums } from './block-sums.ts'
import { ByteWriter } from './bytes.ts'
import { writeBytes, writeDeltas, writePlanes } from './columns.ts'
import { packed } from './compression.ts'
import { GroupEncoder } from './group-encoder.ts'
import { deploymentHash, ReferenceFilter } from './hashes.ts'
import { RequestIdColumn } from './request-id-column.ts'
import type { BlockData } from './stored-block.ts'

/** Version of the payload. */
export const BLOCK_FORM = 1

/** A block as it is stored. */
export interface EncodedBlock extends BlockData {
  readonly firstAtMs: number
  readonly lastAtMs: number
  readonly idFromMs: number
  readonly idToMs: number
  readonly records: number
  readonly applicants: number
  /** Results of all models. */
  readonly results: number
  /** Hashes of the deployments, rising. */
  readonly deployments: readonly number[]
  /** See `readSums`. */
  readonly sums: Buffer
  /** Null without references. */
  readonly referenceFilter: Buffer | null
}

/**
 * Turns records of version 4 into one block. After an error the encoder must be thrown away.
 *
 *     columns = u8 form | varint requests | varint heads | each: varint bytes, head
 *             | varint keys | each: varint bytes, key
 *             | columns of the requests: head, key, scored at, id, latency, bucket, served, flags,
 *               rows, references
 *             | for each head: kinds, numbers and texts of the record ids
 *               | for each model: status, warnings, cells by feature, results
 */
export class BlockEncoder {
  private readonly models: ModelsById
  private readonly groups: GroupEncoder[] = []
  /** Index of the group of each head, by the head's bytes as latin1. */
  private readonly groupIndexes = new Map<string, number>()
  private readonly keys = new Map<string, number>()
  private readonly ids = new RequestIdColumn()
  private readonly sums = new RollupSums()
  private readonly heads: number[] = []
  private readonly keyIndexes: number[] = []
  private readonly scoredAt: number[] = []
  private readonly latencies: number[] = []
  private readonly buckets: number[] = []
  private readonly served: number[] = []
  private readonly flags: number[] = []
  private readonly rows: number[] = []
  private readonly references = new ByteWriter()
  private hasReferences = false
  /** Over references and the record ids of batches. */
  private readonly filter = new ReferenceFilter()
  private applicants = 0
  private firstAtMs = Number.POSITIVE_INFINITY
  private lastAtMs = Number.NEGATIVE_INFINITY

  /** @param models those of the records; results of others are stored whole */
  constructor(models: ModelsById) {
    this.models = models
  }

  get records(): number {
    return this.heads.length
  }

  /** @throws Error that says what is wrong with the record, without quoting it */
  add(payload: Buffer): void {
    if (payload.readUInt8(0) !== RECORD_V4) throw new Error('the record is of another version')
    const headEnd = HEAD_AT + payload.readUInt16LE(1)
    const head = this.groupOf(payload, headEnd)
    const group = this.groups[head]
    if (group === undefined) return
    const scoredAtMs = payload.readDoubleLE(headEnd + SCORED_AT)
    const latencyUs = payload.readUInt32LE(headEnd + LATENCY_AT)
    const bucket = payload.readInt16LE(headEnd + BUCKET_AT)
    const served = payload.readUInt8(headEnd + SERVED_AT)
    const flags = payload.readUInt8(headEnd + FLAGS_AT)
    const rowCount = payload.readUInt32LE(headEnd + ROWS_AT)
    if (!Number.isFinite(scoredAtMs))
      throw new Error('the record does not say when it was answered')
    if (flags > IS_BATCH || bucket < NO_BUCKET) throw new Error('the record has unknown facts')
    let at = headEnd + FIXED_FACTS_BYTES
    const idEnd = endOfText(payload, at)
    this.ids.add(payload.toString('latin1', at + 1, idEnd), scoredAtMs)
    at = idEnd
    const keyEnd = endOfText(payload, at)
    this.keyIndexes.push(this.keyOf(payload.toString('latin1', at + 1, keyEnd)))
    at = keyEnd
    const referenceEnd = endOfText(payload, at)
    if (referenceEnd > at + 1) {
      this.hasReferences = true
      this.filter.add(group.head.teamId, payload.toString('utf8', at + 1, referenceEnd))
    }
    this.references.copy(payload, at, referenceEnd)
    const results = group.add(payload, referenceEnd, {
      rowCount,
      served,
      // In a batch the record's id is the reference.
      ...(flags === IS_BATCH && {
        onId: (id) => {
          if (id !== null) this.filter.add(group.head.teamId, id)
        },
      }),
    })
    this.sums.add({
      record: { deploymentId: group.head.deploymentId, modelCount: group.head.models.length },
      served: { scoredAtMs, latencyMs: latencyUs / 1_000, ...results },
    })
    this.heads.push(head)
    this.scoredAt.push(scoredAtMs)
    this.latencies.push(latencyUs)
    this.buckets.push(bucket + 1)
    this.served.push(served)
    this.flags.push(flags)
    this.rows.push(rowCount)
    this.applicants += rowCount
    this.firstAtMs = Math.min(this.firstAtMs, scoredAtMs)
    this.lastAtMs = Math.max(this.lastAtMs, scoredAtMs)
  }

  /** @returns null without records */
  encode(): EncodedBlock | null {
    if (this.records === 0) return null
    const columns = new ByteWriter()
    const random = new ByteWriter()
    this.write(columns, random)
    const deployments = new Set(this.groups.map(({ head }) => deploymentHash(head.deploymentId)))
    return {
      ...packed(columns.written(), random.written()),
      firstAtMs: this.firstAtMs,
      lastAtMs: this.lastAtMs,
      idFromMs: this.ids.fromMs,
      idToMs: this.ids.toMs,
      records: this.records,
      applicants: this.applicants,
      results: this.sums.results,
      deployments: [...deployments].sort((a, b) => a - b),
      sums: writeSums(this.sums.minuteRollups()),
      referenceFilter: this.filter.bytes(),
    }
  }

  private write(out: ByteWriter, random: ByteWriter): void {
    out.u8(BLOCK_FORM)
    out.varint(this.records)
    out.varint(this.groups.length)
    for (const { headBytes } of this.groups) out.block(headBytes)
    out.varint(this.keys.size)
    for (const key of this.keys.keys()) out.block(Buffer.from(key, 'latin1'))
    writePlanes(out, this.heads)
    writePlanes(out, this.keyIndexes)
    writeDeltas(out, this.scoredAt)
    this.ids.write(out, random)
    writePlanes(out, this.latencies)
    writePlanes(out, this.buckets)
    writeBytes(out, Uint8Array.from(this.served))
    writeBytes(out, Uint8Array.from(this.flags))
    writePlanes(out, this.rows)
    out.u8(this.hasReferences ? 1 : 0)
    if (this.hasReferences) out.copy(this.references.written(), 0, this.references.length)
    for (const group of this.groups) group.write(out)
  }

  /** Often the head is that of the record before. */
  private groupOf(payload: Buffer, headEnd: number): number {
    const last = this.heads.at(-1) ?? -1
    const before = this.groups[last]?.headBytes
    const isBefore =
      before?.length === headEnd - HEAD_AT &&
      payload.compare(before, 0, before.length, HEAD_AT, headEnd) === 0
    if (isBefore) return last
    const head = payload.toString('latin1', HEAD_AT, headEnd)
    const found = this.groupIndexes.get(head)
    if (found !== undefined) return found
    if (headEnd > payload.length) throw new Error('the record is cut off')
    const headBytes = Buffer.from(payload.subarray(HEAD_AT, headEnd))
    const group = new GroupEncoder(readHeadV4(headBytes), headBytes, this.models)
    this.groupIndexes.set(head, this.groups.length)
    return this.groups.push(group) - 1
  }

  private keyOf(key: string): number {
    const found = this.keys.get(key)
    if (found !== undefined) return found
    this.keys.set(key, this.keys.size)
    return this.keys.size - 1
  }
}

/** Offset after a text with a byte of length before it. */
function endOfText(payload: Buffer, at: number): number {
  const end = at + 1 + payload.readUInt8(at)
  if (end > payload.length) throw new Error('the record is cut off')
  return end
}
