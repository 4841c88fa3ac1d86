import type { OnOutcome, ResultsWriter, Score, ScoreLog } from '../../src/log/score-log.ts'

const DISCARDING_WRITER: ResultsWriter = {
  openRow: () => undefined,
  result: () => undefined,
  noResult: () => undefined,
  closeRow: () => undefined,
  addRows: () => undefined,
}

/** A score log that stores nothing, to measure what the log costs. */
export class DiscardingScoreLog implements ScoreLog {
  append<T>(_facts: unknown, score: Score<T>, onOutcome: OnOutcome<T>): boolean {
    const scored = score(DISCARDING_WRITER)
    if (scored !== null) onOutcome(scored.response)
    return scored !== null
  }
}
