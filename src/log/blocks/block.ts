import type { LoggedRequest } from '../record/logged-request.ts'
import type { ModelsById } from '../record/model-source.ts'

/** One model of a head, with its columns: one item for each row (applicant) of the group. */
export interface ModelColumns {
  readonly modelId: string
  readonly role: 'champion' | 'challenger'
  readonly challengerId: string | null
  readonly specSha256: string | null
  readonly baselineId: string | null
  /** 1 where the model gave a result, 0 where it failed. */
  readonly scored: Uint8Array
  readonly warningCounts: Uint16Array
  /** Cell codes, an array for each feature in spec order; 0 where the model failed. */
  readonly cells: readonly (Uint8Array | Uint16Array)[]
}

/** Takes a name of an applicant; equal texts are the same name in either form. */
export interface NameHasher {
  ofText(text: string): void
  ofUtf8(bytes: Uint8Array, start: number, end: number): void
}

/** The requests of a block with the same head: one state of one deployment. */
export interface BlockGroup {
  readonly engineVersion: number
  readonly teamId: string
  readonly deploymentId: string
  readonly cacheVersion: number
  /** Number of applicants. */
  readonly rows: number
  /** The request of each row, as an index in the block. */
  readonly requestOfRow: Int32Array
  /** Champion first. */
  readonly models: readonly ModelColumns[]
}

/** Score, probability and grade of each row of a group; NaN and null where the model failed. */
export interface ResultColumns {
  readonly scores: Float64Array
  /** NaN also if the model has no scale. */
  readonly pds: Float64Array
  /** Index in the names of the model's grades; `NO_GRADE` for none. */
  readonly grades: Uint32Array
}

/**
 * The requests of a block. Columns are read on first use, and `payload` restores the bytes of
 * record version 4 as they were drained.
 */
export interface OpenBlock {
  readonly count: number
  /** The models that `payload` and `results` need. */
  readonly modelIds: readonly string[]
  readonly groups: readonly BlockGroup[]
  requestId(index: number): string
  scoredAtMs(index: number): number
  latencyMs(index: number): number
  teamId(index: number): string
  deploymentId(index: number): string
  /** Position of the model that answered. */
  served(index: number): number
  isBatch(index: number): boolean
  applicants(index: number): number
  /** The applicant's own id, of a row counted from the first of the request. */
  recordId(index: number, row: number): string | number | null
  reference(index: number): string | null
  /** Index in `groups` of the group with the rows of a request, and the first of those rows. */
  findGroup(index: number): number
  findFirstRow(index: number): number
  /** Tells whether a request of a group can have a reference, or a row of it a record id. */
  hasNames(group: number): boolean
  /**
   * Hands over the reference of a single request, or the id of a record of a batch, without making
   * a string of it.
   *
   * @param row of a batch, counted from the first of the request
   * @returns false without one
   */
  hashName(index: number, row: number, hasher: NameHasher): boolean
  /** Index of the request; -1 if the block does not hold it. */
  find(requestId: string): number
  /**
   * The results of one model of a group.
   *
   * @throws Error if the model is not in `models` and its results are not stored
   */
  results(group: number, model: number, models: ModelsById): ResultColumns
  /**
   * A request as readers see it.
   *
   * @throws Error as `results`
   */
  request(index: number, models: ModelsById): LoggedRequest
  /**
   * The record of a request in version 4.
   *
   * @throws Error as `results`
   */
  payload(index: number, models: ModelsById): Buffer
}
