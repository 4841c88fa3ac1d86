import type { ResultsWriter, ScoreLog } from '../../src/score-log/score-log.ts'

const DISCARDING_WRITER: ResultsWriter = {
  openRow: () => undefined,
  result: () => undefined,
  noResult: () => undefined,
  closeRow: () => undefined,
  addRows: () => undefined,
}

/** A score log that stores nothing, to measure what the log costs. */
export class DiscardingScoreLog implements ScoreLog {
  begin(): ResultsWriter {
    return DISCARDING_WRITER
  }

  end(_facts: unknown, onLogged: (failure: Error | null) => void): void {
    onLogged(null)
  }
}
