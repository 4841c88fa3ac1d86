import { finishSteps, type Steps } from '../../platform/steps.ts'
import type { ModelsById } from '../record/model-source.ts'
import { RecordScanner } from '../record/record-scanner.ts'
import { HAS_SCORE_KEY, IS_BATCH, NO_BUCKET, RECORD_V4 } from '../record/record-v4.ts'
import { RollupSums } from '../rollups/rollup-sums.ts'
import { writeSums } from './block-sums.ts'
import { ByteWriter, packed } from './bytes.ts'
import { writeBytes, writeDeltas, writePlanes } from './columns.ts'
import { countResults } from './count-results.ts'
import { GroupEncoder } from './group-encoder.ts'
import { deploymentHash, ReferenceFilter } from './hashes.ts'
import { type KnownHead, KnownHeads } from './known-heads.ts'
import { RequestIdColumn } from './request-id-column.ts'
import type { BlockData } from './stored-block.ts'

/** Version of the payload. */
export const BLOCK_FORM = 1

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
  /** See `countResults`. */
  readonly counts: Buffer | null
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
  private readonly groupIndexes = new Map<KnownHead, number>()
  private readonly scanner = new RecordScanner()
  private readonly known = new KnownHeads()
  private readonly keys = new KeyIndexes()
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
    this.addScanned(this.scanner.scan(payload), this.known.of(payload))
  }

  /**
   * As `add`, for a record of version 4 that was scanned.
   *
   * @param known its head
   */
  addScanned(record: RecordScanner, known: KnownHead): void {
    const { payload, scoredAtMs, latencyUs, bucket, flags, referenceAt, textsEnd } = record
    const head = this.findGroup(known)
    const group = this.groups[head]
    if (group === undefined) return
    if (!Number.isFinite(scoredAtMs))
      throw new Error('the record does not say when it was answered')
    if (flags > HAS_SCORE_KEY || bucket < NO_BUCKET) throw new Error('the record has unknown facts')
    this.ids.add(record.requestId, scoredAtMs)
    const { deploymentId, teamId, models } = group.head
    if (textsEnd > referenceAt + 1) {
      this.hasReferences = true
      this.filter.add(teamId, payload.toString('utf8', referenceAt + 1, textsEnd))
    }
    this.references.copy(payload, referenceAt, textsEnd)
    // In a batch the record's id is the reference.
    const served = group.add(record, flags === IS_BATCH ? this.filter : null)
    group.sums = this.sums.add(
      { deploymentId, modelCount: models.length },
      { scoredAtMs, latencyMs: latencyUs / 1_000, scores: served.scores, pds: served.pds },
      group.sums,
    )
    this.heads.push(head)
    this.keyIndexes.push(this.keys.findIndex(record))
    this.scoredAt.push(scoredAtMs)
    this.latencies.push(latencyUs)
    this.buckets.push(bucket + 1)
    this.served.push(record.served)
    // The key has a table of its own, and no reader of the log wants it.
    this.flags.push(flags & IS_BATCH)
    this.rows.push(record.rows)
    this.applicants += record.rows
    if (scoredAtMs < this.firstAtMs) this.firstAtMs = scoredAtMs
    if (scoredAtMs > this.lastAtMs) this.lastAtMs = scoredAtMs
  }

  /** @returns null without records */
  encode(): EncodedBlock | null {
    return finishSteps(this.encodeSteps())
  }

  /** As `encode`, in steps: results of the largest cards take 100 ms. */
  *encodeSteps(): Steps<EncodedBlock | null> {
    if (this.records === 0) return null
    const columns = new ByteWriter()
    const random = new ByteWriter()
    yield* this.write(columns, random)
    yield
    const deployments = new Set(this.groups.map(({ head }) => deploymentHash(head.deploymentId)))
    const data = packed(columns.written(), random.written())
    return {
      ...data,
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
      counts: yield* countResults(data.checksum, this.groups),
    }
  }

  private *write(out: ByteWriter, random: ByteWriter): Steps<void> {
    out.u8(BLOCK_FORM)
    out.varint(this.records)
    out.varint(this.groups.length)
    for (const { headBytes } of this.groups) out.block(headBytes)
    out.varint(this.keys.size)
    for (const key of this.keys.all()) out.block(key)
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
    for (const group of this.groups) yield* group.write(out)
  }

  private findGroup(known: KnownHead): number {
    const found = this.groupIndexes.get(known)
    if (found !== undefined) return found
    this.groupIndexes.set(known, this.groups.length)
    return this.groups.push(new GroupEncoder(known, this.models)) - 1
  }
}

/** The keys of a block's records, each with an index. */
class KeyIndexes {
  /** By the key's bytes as latin1. */
  private readonly indexes = new Map<string, number>()

  get size(): number {
    return this.indexes.size
  }

  /** In the order of their indexes. */
  all(): Buffer[] {
    return [...this.indexes.keys()].map((key) => Buffer.from(key, 'latin1'))
  }

  /** Index of the key of a record. */
  findIndex({ payload, keyAt, referenceAt }: RecordScanner): number {
    const key = payload.toString('latin1', keyAt + 1, referenceAt)
    const index = this.indexes.get(key) ?? this.size
    if (index === this.size) this.indexes.set(key, index)
    return index
  }
}
