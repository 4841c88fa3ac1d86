import type { ModelScore } from '../engine/index.ts'
import type { ModelParts } from './record/model-parts.ts'
import type { PreparedHead } from './record/prepared-head.ts'
import type { RequestFacts, ResponseFacts } from './record/record-writer.ts'

/**
 * What a response waits for: a record that survives the end of the process, that survives loss of
 * power, or that the database has committed.
 */
export const DURABILITIES = ['process', 'disk', 'database'] as const
export type Durability = (typeof DURABILITIES)[number]

/**
 * Takes the results of one request, row after row, within one turn of the event loop. The next
 * request drops a record that was not ended.
 */
export interface ResultsWriter {
  /** @param id the applicant's record id; null unless it is a text or a finite number */
  openRow(id: unknown): void
  /** Writes the result of a model; models come in the order of the head. */
  result(modelScore: ModelScore, parts: ModelParts, warningCount: number): void
  /** Writes that a model has no result. */
  noResult(): void
  closeRow(): void
  /** Adds rows that were written elsewhere below the same head, each of them closed. */
  addRows(rows: Uint8Array, count: number): void
}

/** Logs each result before its response is sent. */
export interface ScoreLog {
  /**
   * Begins the record of a request.
   *
   * @throws AppError `unavailable` if the log is full or the disk fails
   */
  begin(head: PreparedHead, request: RequestFacts): ResultsWriter
  /**
   * Ends the open record.
   *
   * @param onLogged called when the record is as safe as configured, or with AppError `unavailable`
   *   if it is not logged. A callback, because a promise for each request costs more than scoring
   */
  end(facts: ResponseFacts, onLogged: OnLogged): void
}

/** Called once: with null, or with the reason why the record is not logged. */
export type OnLogged = (failure: Error | null) => void
