import type { ModelScore } from '../engine/index.ts'
import type { PreparedHead } from './record/prepared-head.ts'
import type { ModelParts } from './record/record-v4.ts'
import type { RequestFacts, ResponseFacts } from './record/record-writer.ts'

/**
 * The events that a response can wait for: a record that survives the end of the process, that
 * survives loss of power, or that the database has committed.
 */
export type Durability = 'process' | 'disk' | 'database'

/** Takes the results of one request, row after row. */
export interface ResultsWriter {
  /** @param id the applicant's record id; null unless it is a text or a finite number */
  openRow(id: unknown): void
  /** Writes the result of a model; models come in the order of the head. */
  result(modelScore: ModelScore, parts: ModelParts, warningCount: number): void
  noResult(): void
  closeRow(): void
  /** Adds rows that were written elsewhere below the same head, each of them closed. */
  addRows(rows: Uint8Array, count: number): void
}

/** Facts of a request before it is scored. */
export interface LoggedFacts extends RequestFacts {
  readonly head: PreparedHead
}

export interface Scored<Response> {
  readonly facts: ResponseFacts
  readonly response: Response
}

/** Scores a request and writes its results. @returns null to drop the record */
export type Score<Response> = (rows: ResultsWriter) => Scored<Response> | null

/** Called once, with the response or the reason for a refusal. */
export type OnOutcome<Response> = (outcome: Response | Error) => void

/** Logs each result before its response is sent. */
export interface ScoreLog {
  /**
   * Logs one request.
   *
   * @param score called within this call
   * @param onOutcome receives the response when the record is as safe as configured, or AppError
   *   `unavailable` if it is not logged. A callback, because a promise for each request costs more
   *   than scoring
   * @returns false if the record was dropped
   * @throws AppError `unavailable` if the log is full or the disk fails, before `score` is called,
   *   and what `score` throws
   */
  append<T>(facts: LoggedFacts, score: Score<T>, onOutcome: OnOutcome<T>): boolean
}

/** Called once: with null, or with the reason why the record is not logged. */
export type OnLogged = (failure: Error | null) => void
