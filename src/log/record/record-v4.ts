import type { CompiledModel } from '../../engine/index.ts'

/**
 * Version 4 of the record of one answered request: binary, little-endian. `text8` is a byte with
 * the length, then UTF-8.
 *
 *     payload = u8 4 | u16 bytes of the head | head | facts | rows
 *     head    = u16 engine version | text8 team | text8 deployment | u32 cache version
 *               | u8 models | for each, champion first: text8 model | text8 challenger, empty for
 *               the champion | 32 bytes SHA-256 of the spec, zeros if the model was not loaded
 *               | text8 baseline, empty for none | u16 features | u8 bytes of a cell, 1 or 2
 *     facts   = f64 scored at, ms | u32 latency, us | i16 bucket, -1 for none | u8 served model
 *               | u8 flags, 0, 1 for a batch or 2 with a score key | u32 rows | text8 request
 *               | text8 key | text8 reference, empty for none
 *               | with a score key: 16 bytes hash of the key | 8 bytes hash of the body
 *     row     = record id | for each model: u8 0 if it failed, else 1 | f64 score | f64 pd, NaN for
 *               none | u32 grade, 0xffffffff for none | u16 warnings | a cell for each feature
 *     id      = u8 0 null | u8 1 | f64 number | u8 2 | u32 bytes | UTF-8
 *               | u8 3 | u32 bytes | UTF-16 of a text that UTF-8 can't hold
 *
 * Cells are those of `cells.ts` of the engine.
 */
export const RECORD_V4 = 4

/** Version and length of the head. */
export const HEAD_AT = 3
export const HEAD_BYTES_MAX = 0xffff
/** The facts before the texts. */
export const FIXED_FACTS_BYTES = 20
export const SCORED_AT = 0
export const LATENCY_AT = 8
export const BUCKET_AT = 12
export const SERVED_AT = 14
export const FLAGS_AT = 15
export const ROWS_AT = 16
export const LATENCY_US_MAX = 0xffff_ffff
export const NO_BUCKET = -1
export const IS_BATCH = 1
/** Never together with the other: a batch has no score key. */
export const HAS_SCORE_KEY = 2
export const KEY_HASH_BYTES = 16
export const BODY_HASH_BYTES = 8
export const SCORE_KEY_BYTES = KEY_HASH_BYTES + BODY_HASH_BYTES
export const SHA256_BYTES = 32
export const ID_NULL = 0
export const ID_NUMBER = 1
export const ID_UTF8 = 2
export const ID_UTF16 = 3
/** Kind of the record id, and the length of a text. */
export const ID_HEADER_BYTES = 5
export const FAILED = 0
export const SCORED = 1
/** 32 bits: cards that were stored before grades had a bound have more than 65,535. */
export const NO_GRADE = 0xffff_ffff
export const WARNINGS_MAX = 0xffff
/** Status, score, probability, grade and warnings; the cells follow. */
export const RESULT_HEADER_BYTES = 23

/** Facts that all records of one state of a deployment share. */
export interface RecordHead {
  readonly engineVersion: number
  readonly teamId: string
  readonly deploymentId: string
  readonly cacheVersion: number
  /** Champion first. */
  readonly models: readonly RecordModel[]
}

export interface RecordModel {
  readonly modelId: string
  /** Null for the champion. */
  readonly challengerId: string | null
  /** 64 hexadecimal digits; null for a challenger that could not be loaded and failed always. */
  readonly specSha256: string | null
  /** The reason baseline; null for none. */
  readonly baselineId: string | null
  readonly features: number
  readonly bytesPerCell: 1 | 2
}

/** The `Idempotency-Key` of a single score. */
export interface ScoreKey {
  /** `KEY_HASH_BYTES`. */
  readonly keyHash: Uint8Array
  /** `BODY_HASH_BYTES`. */
  readonly bodyHash: Uint8Array
}

/** Facts that differ between the records of one state of a deployment. */
interface RecordFacts {
  readonly requestId: string
  readonly keyId: string
  /** The lender's application number; null for none. */
  readonly reference: string | null
  /** Null for none. */
  readonly key: ScoreKey | null
  readonly scoredAtMs: number
  readonly latencyUs: number
  /** Bucket of a live split, else null. */
  readonly bucket: number | null
  /** Position in the models of the one that answered. */
  readonly served: number
  readonly isBatch: boolean
  /** Number of applicants; 0 for an empty batch. */
  readonly rowCount: number
}

export interface RecordV4 extends RecordFacts {
  readonly version: typeof RECORD_V4
  readonly payload: Buffer
  /** For `readHeadV4`. Equal bytes are an equal head. */
  readonly headBytes: Buffer
  /** For `readRowsV4`. */
  readonly rowBytes: Buffer
}

/** One applicant: their record id, and a result of each model, null if it failed. */
interface RecordRow {
  readonly id: string | number | null
  readonly results: readonly (RecordResult | null)[]
}

export interface RecordResult {
  readonly score: number
  /** NaN for none. */
  readonly pd: number
  /** Index in the names of the model's grades; null for none. */
  readonly grade: number | null
  readonly warningCount: number
  /** Cell of each feature, in `bytesPerCell` bytes each; part of the payload's memory. */
  readonly cellBytes: Buffer
}

/**
 * Reads the facts of a record; head and rows are for the two functions below.
 *
 * @throws Error that says what is wrong with the record, without quoting it
 */
export function readRecordV4(payload: Buffer): RecordV4 {
  const cursor = new Cursor(payload)
  if (cursor.u8() !== RECORD_V4) throw new Error('the record is of another version')
  const headBytes = cursor.take(cursor.u16())
  const scoredAtMs = cursor.f64()
  const latencyUs = cursor.u32()
  const bucket = cursor.i16()
  const served = cursor.u8()
  const flags = cursor.u8()
  const rowCount = cursor.u32()
  const facts = { requestId: cursor.text8(), keyId: cursor.text8(), reference: cursor.text8() }
  if (!Number.isFinite(scoredAtMs)) throw new Error('the record does not say when it was answered')
  if (flags > HAS_SCORE_KEY || bucket < NO_BUCKET) throw new Error('the record has unknown facts')
  return {
    version: RECORD_V4,
    payload,
    headBytes,
    requestId: facts.requestId,
    keyId: facts.keyId,
    reference: facts.reference || null,
    key: flags === HAS_SCORE_KEY ? readScoreKey(cursor) : null,
    scoredAtMs,
    latencyUs,
    bucket: bucket === NO_BUCKET ? null : bucket,
    served,
    isBatch: flags === IS_BATCH,
    rowCount,
    rowBytes: cursor.rest(),
  }
}

function readScoreKey(cursor: Cursor): ScoreKey {
  return { keyHash: cursor.take(KEY_HASH_BYTES), bodyHash: cursor.take(BODY_HASH_BYTES) }
}

/**
 * Reads the head of a record.
 *
 * @throws Error as `readRecordV4`
 */
export function readHeadV4(headBytes: Buffer): RecordHead {
  const cursor = new Cursor(headBytes)
  const engineVersion = cursor.u16()
  const teamId = cursor.text8()
  const deploymentId = cursor.text8()
  const cacheVersion = cursor.u32()
  const models: RecordModel[] = []
  for (let rest = cursor.u8(); rest > 0; rest--) models.push(readModel(cursor))
  cursor.expectEnd()
  if (models.length === 0) throw new Error('the record has no model')
  return { engineVersion, teamId, deploymentId, cacheVersion, models }
}

function readModel(cursor: Cursor): RecordModel {
  const modelId = cursor.text8()
  const challengerId = cursor.text8() || null
  const sha256 = cursor.take(SHA256_BYTES)
  const baselineId = cursor.text8() || null
  const features = cursor.u16()
  const bytesPerCell = cursor.u8()
  if (bytesPerCell !== 1 && bytesPerCell !== 2) throw new Error('the record has cells of no size')
  const isLoaded = sha256.some((byte) => byte !== 0)
  const specSha256 = isLoaded ? sha256.toString('hex') : null
  return { modelId, challengerId, specSha256, baselineId, features, bytesPerCell }
}

/** @throws Error for a record that no answered request can have written */
export function requireSound(record: RecordV4): void {
  readRowsV4(record, readHeadV4(record.headBytes))
}

export function isSound(record: RecordV4): boolean {
  try {
    requireSound(record)
    return true
  } catch {
    return false
  }
}

/**
 * Reads all rows of a record.
 *
 * @throws Error as `readRecordV4`
 */
export function readRowsV4(record: RecordV4, { models }: RecordHead): RecordRow[] {
  if (record.served >= models.length) throw new Error('the record lacks the model that answered')
  const cursor = new Cursor(record.rowBytes)
  const rows: RecordRow[] = []
  for (let row = 0; row < record.rowCount; row++) {
    const id = readId(cursor)
    const results = models.map((model) => readResult(cursor, model))
    if (results[record.served] === null) throw new Error('the record lacks a result')
    rows.push({ id, results })
  }
  cursor.expectEnd()
  return rows
}

function readId(cursor: Cursor): string | number | null {
  const kind = cursor.u8()
  if (kind === ID_NULL) return null
  if (kind === ID_NUMBER) return cursor.f64()
  if (kind === ID_UTF8) return cursor.take(cursor.u32()).toString('utf8')
  if (kind === ID_UTF16) return cursor.take(cursor.u32()).toString('utf16le')
  throw new Error('the record has a record id of an unknown kind')
}

function readResult(cursor: Cursor, model: RecordModel): RecordResult | null {
  const status = cursor.u8()
  if (status === FAILED) return null
  if (status !== SCORED) throw new Error('the record has a result of an unknown kind')
  const score = cursor.f64()
  const pd = cursor.f64()
  const grade = cursor.u32()
  const warningCount = cursor.u16()
  const cellBytes = cursor.take(model.features * model.bytesPerCell)
  return { score, pd, grade: grade === NO_GRADE ? null : grade, warningCount, cellBytes }
}

/** Cells as numbers. */
export function findCells(cellBytes: Buffer, bytesPerCell: 1 | 2): number[] {
  if (bytesPerCell === 1) return [...cellBytes]
  return Array.from({ length: cellBytes.length / 2 }, (_, n) => cellBytes.readUInt16LE(2 * n))
}

/** Reads values one after the other, and throws at the end of the bytes. */
class Cursor {
  private readonly bytes: Buffer
  private at = 0

  constructor(bytes: Buffer) {
    this.bytes = bytes
  }

  u8(): number {
    return this.bytes.readUInt8(this.step(1))
  }

  u16(): number {
    return this.bytes.readUInt16LE(this.step(2))
  }

  i16(): number {
    return this.bytes.readInt16LE(this.step(2))
  }

  u32(): number {
    return this.bytes.readUInt32LE(this.step(4))
  }

  f64(): number {
    return this.bytes.readDoubleLE(this.step(8))
  }

  text8(): string {
    return this.take(this.u8()).toString('utf8')
  }

  take(length: number): Buffer {
    const start = this.step(length)
    return this.bytes.subarray(start, start + length)
  }

  rest(): Buffer {
    return this.take(this.bytes.length - this.at)
  }

  expectEnd(): void {
    if (this.at !== this.bytes.length) throw new Error('the record is longer than its contents')
  }

  private step(length: number): number {
    const start = this.at
    if (start + length > this.bytes.length) throw new Error('the record is cut off')
    this.at = start + length
    return start
  }
}

/** The facts of a model that its results in the score log need, prepared once. */
export class ModelParts {
  /** SHA-256 of the spec's stored text. */
  readonly specSha256: Uint8Array
  readonly features: number
  readonly cellOfSlot: Uint16Array
  readonly bytesPerCell: 1 | 2
  readonly resultBytes: number

  constructor(model: CompiledModel, specSha256: Uint8Array) {
    if (specSha256.length !== SHA256_BYTES) throw new Error('a SHA-256 has 32 bytes')
    this.specSha256 = specSha256
    this.features = model.featureNames.length
    this.cellOfSlot = model.cellOfSlot
    this.bytesPerCell = model.bytesPerCell
    this.resultBytes = RESULT_HEADER_BYTES + this.features * this.bytesPerCell
  }
}
