import type { ScoreSheet } from '../engine/index.ts'
import type { ModelParts } from './model-parts.ts'

/** What an answer waits for: the record survives the end of the process, loss of power, or is committed. */
export const DURABILITIES = ['process', 'disk', 'database'] as const
export type Durability = (typeof DURABILITIES)[number]

/**
 * Takes the results of one request, row after row; within one turn of the event loop. What was begun and not
 * ended is gone with the next request.
 */
export interface ResultsWriter {
  /** @param idText the applicant's record id as JSON */
  openRow(idText: string): void
  /** The result that stands in a model's sheet; models in the order of the head. */
  result(sheet: ScoreSheet, parts: ModelParts, warningCount: number): void
  /** In place of the result of a model that has none. */
  noResult(): void
  closeRow(): void
}

/** Keeps what is answered, before it is. */
export interface ScoreLog {
  /**
   * Begins the record of a request.
   *
   * @param head of the results, `{"models":[…],"results":[`
   * @throws AppError `unavailable` when there is no room for another
   */
  begin(head: Buffer): ResultsWriter
  /**
   * Ends the record that was begun.
   *
   * @param facts of the request, a text
   * @param told when the record is as safe as configured, or with AppError `unavailable` when it is not logged.
   *   Not a promise: one for each request, and what waits for it, costs more than scoring
   */
  end(requestId: string, facts: string, told: Told): void
}

/** Told once: null, or why not. */
export type Told = (failure: Error | null) => void

const WRITES_NOTHING: ResultsWriter = {
  openRow: () => undefined,
  result: () => undefined,
  noResult: () => undefined,
  closeRow: () => undefined,
}

/** No log at all, to measure what the log costs. */
export const NO_SCORE_LOG: ScoreLog = {
  begin: () => WRITES_NOTHING,
  end: (_requestId, _facts, told) => told(null),
}
