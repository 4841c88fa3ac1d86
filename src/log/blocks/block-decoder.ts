import { type LoggedRequest, loggedModels } from '../record/logged-request.ts'
import type { ModelsById } from '../record/model-source.ts'
import {
  BUCKET_AT,
  FAILED,
  FIXED_FACTS_BYTES,
  FLAGS_AT,
  ID_NUMBER,
  ID_UTF16,
  IS_BATCH,
  LATENCY_AT,
  NO_BUCKET,
  RECORD_V4,
  ROWS_AT,
  readHeadV4,
  SCORED,
  SCORED_AT,
  SERVED_AT,
} from '../record/record-v4.ts'
import { BLOCK_FORM } from './block-encoder.ts'
import { ByteReader, ByteWriter, unpacked } from './bytes.ts'
import {
  laterPlanes,
  type NameHasher,
  type ResultColumns,
  readBytes,
  readDeltas,
  readPlanes,
} from './columns.ts'
import { BlockGroup } from './group-decoder.ts'
import { RequestIds } from './request-id-column.ts'
import type { BlockData } from './stored-block.ts'

/**
 * Opens a block.
 *
 * @throws RangeError if the block is damaged or of an unknown form
 */
export function openBlock(block: BlockData): OpenBlock {
  const { columns, random } = unpacked(block)
  return new OpenBlock(new ByteReader(columns), new ByteReader(random))
}

/**
 * The requests of a block, as `BlockEncoder` wrote them. Columns are read on first use, and
 * `payload` restores the bytes of record version 4 as they were drained.
 */
export class OpenBlock {
  readonly count: number
  private readonly heads: readonly Buffer[]
  private readonly keys: readonly string[]
  private readonly headOf: Uint32Array
  private readonly readKeys: () => Uint32Array
  private readonly scoredAt: Float64Array
  private readonly ids: RequestIds
  private readonly latencies: () => Uint32Array
  private readonly buckets: () => Uint32Array
  private readonly servedBy: Uint8Array
  private readonly flags: Uint8Array
  private readonly rowCounts: Uint32Array
  private readonly references: ShortTexts | null
  /** First row of each request within its group. */
  private readonly firstRow: Int32Array
  readonly groups: readonly BlockGroup[]

  constructor(from: ByteReader, random: ByteReader) {
    if (from.u8() !== BLOCK_FORM) throw new RangeError('the block is of another form')
    const count = from.varint()
    this.count = count
    this.heads = Array.from({ length: from.varint() }, () => from.block())
    this.keys = Array.from({ length: from.varint() }, () => from.block().toString('latin1'))
    this.headOf = readPlanes(from, count)
    this.readKeys = laterPlanes(from, count)
    this.scoredAt = readDeltas(from, count)
    this.ids = new RequestIds(from, random, this.scoredAt)
    this.latencies = laterPlanes(from, count)
    this.buckets = laterPlanes(from, count)
    this.servedBy = readBytes(from, count)
    this.flags = readBytes(from, count)
    this.rowCounts = readPlanes(from, count)
    this.references = from.u8() === 0 ? null : new ShortTexts(from, count)
    this.firstRow = new Int32Array(count)
    const requests = this.requestsByHead()
    this.groups = this.heads.map((bytes, head) => {
      const requestOfRow = requests[head] ?? new Int32Array(0)
      return new BlockGroup(readHeadV4(bytes), bytes, requestOfRow, from)
    })
  }

  /** The models that `payload` and `results` need. */
  get modelIds(): string[] {
    const ids = this.groups.flatMap(({ head }) => head.models.map(({ modelId }) => modelId))
    return [...new Set(ids)]
  }

  requestId(index: number): string {
    return this.ids.at(index)
  }

  scoredAtMs(index: number): number {
    return this.scoredAt[index] ?? Number.NaN
  }

  latencyMs(index: number): number {
    return (this.latencies()[index] ?? 0) / 1_000
  }

  teamId(index: number): string {
    return this.findDecoder(index).teamId
  }

  deploymentId(index: number): string {
    return this.findDecoder(index).deploymentId
  }

  /** Position of the model that answered. */
  served(index: number): number {
    return this.servedBy[index] ?? 0
  }

  isBatch(index: number): boolean {
    return this.flags[index] === IS_BATCH
  }

  applicants(index: number): number {
    return this.rowCounts[index] ?? 0
  }

  /** First row of a request in its group. */
  findFirstRow(index: number): number {
    return this.firstRow[index] ?? 0
  }

  /** Index in `groups` of the group with the rows of a request. */
  findGroup(index: number): number {
    return this.headOf[index] ?? 0
  }

  /** The applicant's own id, of a row counted from the first of the request. */
  recordId(index: number, row: number): string | number | null {
    const decoder = this.findDecoder(index)
    const at = this.findFirstRow(index) + row
    const id = decoder.readId(at)
    if (!Buffer.isBuffer(id)) return id
    return id.toString(decoder.idKinds[at] === ID_UTF16 ? 'utf16le' : 'utf8')
  }

  reference(index: number): string | null {
    return this.references?.at(index).toString() || null
  }

  /** Tells whether a request of a group can have a reference, or a row of it a record id. */
  hasNames(group: number): boolean {
    return this.references !== null || this.groups[group]?.hasIds === true
  }

  /**
   * Hands over the reference of a single request, or the id of a record of a batch, without making
   * a string of it.
   *
   * @param row of a batch, counted from the first of the request
   * @returns false without one
   */
  hashName(index: number, row: number, hasher: NameHasher): boolean {
    const { references } = this
    if (this.isBatch(index)) {
      return this.findDecoder(index).hashId(this.findFirstRow(index) + row, hasher)
    }
    const length = references?.readLength(index) ?? 0
    if (references === null || length === 0) return false
    const start = references.findStart(index)
    hasher.ofUtf8(references.bytes, start, start + length)
    return true
  }

  /** Index of the request; -1 if the block does not hold it. */
  find(requestId: string): number {
    return this.ids.findIndex(requestId)
  }

  /**
   * The results of one model of a group.
   *
   * @throws Error if the model is not in `models` and its results are not stored
   */
  results(group: number, model: number, models: ModelsById): ResultColumns {
    const decoder = this.groups[group]
    if (decoder === undefined) throw new RangeError('the block has no such group')
    return decoder.results(model, models)
  }

  /** A request as readers see it. @throws Error as `results` */
  request(index: number, models: ModelsById): LoggedRequest {
    const { head, models: columns } = this.findDecoder(index)
    const first = this.findFirstRow(index)
    const bucket = (this.buckets()[index] ?? 0) - 1
    return {
      requestId: utf8Text(this.requestId(index)),
      scoredAtMs: this.scoredAtMs(index),
      latencyMs: this.latencyMs(index),
      teamId: head.teamId,
      deploymentId: head.deploymentId,
      cacheVersion: head.cacheVersion,
      keyId: utf8Text(this.keyId(index)),
      bucket: bucket === NO_BUCKET ? null : bucket,
      reference: this.reference(index),
      isBatch: this.isBatch(index),
      served: this.served(index),
      engineVersion: head.engineVersion,
      models: loggedModels(head),
      rows: Array.from({ length: this.applicants(index) }, (_, row) => ({
        id: this.recordId(index, row),
        results: columns.map((model) => model.resultAt(first + row, models)),
      })),
    }
  }

  /** The record of a request in version 4. @throws Error as `results` */
  payload(index: number, models: ModelsById): Buffer {
    const { headBytes } = this.findDecoder(index)
    const out = new ByteWriter()
    out.u8(RECORD_V4)
    out.u16(headBytes.length)
    out.copy(headBytes, 0, headBytes.length)
    const facts = out.room(FIXED_FACTS_BYTES)
    facts.writeDoubleLE(this.scoredAtMs(index), SCORED_AT)
    facts.writeUInt32LE(this.latencies()[index] ?? 0, LATENCY_AT)
    facts.writeInt16LE((this.buckets()[index] ?? 0) - 1, BUCKET_AT)
    facts[SERVED_AT] = this.served(index)
    facts[FLAGS_AT] = this.flags[index] ?? 0
    facts.writeUInt32LE(this.applicants(index), ROWS_AT)
    writeText(out, Buffer.from(this.requestId(index), 'latin1'))
    writeText(out, Buffer.from(this.keyId(index), 'latin1'))
    writeText(out, this.references?.at(index) ?? Buffer.alloc(0))
    this.writeRows(out, index, models)
    return Buffer.from(out.written())
  }

  /** Each byte a character. */
  private keyId(index: number): string {
    return this.keys[this.readKeys()[index] ?? 0] ?? ''
  }

  private writeRows(out: ByteWriter, index: number, models: ModelsById): void {
    const decoder = this.findDecoder(index)
    const columns = decoder.models
    const first = this.findFirstRow(index)
    for (let row = first; row < first + this.applicants(index); row++) {
      writeId(out, decoder.idKinds[row] ?? 0, decoder.readId(row))
      for (const [position, { features, bytesPerCell }] of decoder.head.models.entries()) {
        const model = columns[position]
        if (model?.scored[row] !== SCORED) {
          out.u8(FAILED)
          continue
        }
        const { scores, pds, grades } = decoder.results(position, models)
        out.u8(SCORED)
        out.f64(scores[row] ?? 0)
        out.f64(pds[row] ?? 0)
        out.u32(grades[row] ?? 0)
        out.u16(model.warningCounts[row] ?? 0)
        model.copyCells(row, out.room(features * bytesPerCell))
      }
    }
  }

  private findDecoder(index: number): BlockGroup {
    const decoder = this.groups[this.headOf[index] ?? 0]
    if (decoder === undefined || index >= this.count) {
      throw new RangeError('the block has no such request')
    }
    return decoder
  }

  private requestsByHead(): Int32Array[] {
    const rows = this.heads.map(() => 0)
    for (let index = 0; index < this.count; index++) {
      const head = this.headOf[index] ?? 0
      rows[head] = (rows[head] ?? 0) + (this.rowCounts[index] ?? 0)
    }
    const requests = rows.map((length) => new Int32Array(length))
    const filled = this.heads.map(() => 0)
    for (let index = 0; index < this.count; index++) {
      const head = this.headOf[index] ?? 0
      const start = filled[head] ?? 0
      const end = start + (this.rowCounts[index] ?? 0)
      this.firstRow[index] = start
      const ofHead = requests[head]
      // A call of `fill` for each single score costs more than the loop.
      if (ofHead !== undefined) for (let row = start; row < end; row++) ofHead[row] = index
      filled[head] = end
    }
    return requests
  }
}

/** Makes a text of bytes of which each is a character. */
function utf8Text(bytes: string): string {
  return Buffer.from(bytes, 'latin1').toString()
}

function writeText(out: ByteWriter, bytes: Buffer): void {
  out.u8(bytes.length)
  out.copy(bytes, 0, bytes.length)
}

function writeId(out: ByteWriter, kind: number, id: number | Buffer | null): void {
  out.u8(kind)
  if (kind === ID_NUMBER) out.f64(typeof id === 'number' ? id : 0)
  else if (Buffer.isBuffer(id)) {
    out.u32(id.length)
    out.copy(id, 0, id.length)
  }
}

/** Texts of at most 255 bytes, each found by its position: most readers want none. */
class ShortTexts {
  readonly bytes: Buffer
  /** Position of the byte with the length of each text. */
  private readonly positions: Uint32Array

  constructor(from: ByteReader, count: number) {
    this.bytes = from.bytes
    this.positions = new Uint32Array(count)
    for (let index = 0; index < count; index++) {
      this.positions[index] = from.position
      from.skip(from.u8())
    }
  }

  /** @returns a view of the block; empty beyond the texts */
  at(index: number): Buffer {
    const start = this.findStart(index)
    return this.bytes.subarray(start, start + this.readLength(index))
  }

  findStart(index: number): number {
    return (this.positions[index] ?? this.bytes.length) + 1
  }

  readLength(index: number): number {
    return this.bytes[this.findStart(index) - 1] ?? 0
  }
}
