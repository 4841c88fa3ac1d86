import type { LogReader } from '../log/index.ts'
import type { Deps } from '../platform/deps.ts'
import { errorFacts } from '../platform/error-facts.ts'
import { OutcomeDefinitions } from './definitions.ts'
import { ImportDirectory } from './import-files.ts'
import { ImportStore } from './import-store.ts'
import { OutcomeImports } from './imports.ts'
import { OutcomeMatcher } from './matcher.ts'
import { OutcomeService } from './service.ts'
import { OutcomeStore } from './store.ts'
import { OutcomeWorker } from './worker.ts'

interface OutcomesOptions {
  readonly reader: LogReader
  /** For the files of imports. */
  readonly directory: string
  /** Time for which an outcome waits for its score. */
  readonly holdDays: number
}

/** Wires the outcomes and starts the work behind them, which `outcomeWorker.close` ends. */
export function openOutcomes(
  { db, guarded, clock, log }: Deps,
  { reader, directory, holdDays }: OutcomesOptions,
) {
  const store = guarded(new OutcomeStore(db))
  const imports = guarded(new ImportStore(db))
  const files = new ImportDirectory(directory)
  const matcher = new OutcomeMatcher(reader, store, holdDays)
  const outcomes = new OutcomeService(matcher, store, clock, holdDays)
  const outcomeWorker = new OutcomeWorker({
    outcomes,
    store,
    imports,
    files,
    clock,
    log: { failed: (what, error) => log.warn({ err: errorFacts(error) }, `failed: ${what}`) },
  })
  outcomeWorker.start()
  return {
    outcomes,
    outcomeDefinitions: new OutcomeDefinitions(store, clock),
    outcomeImports: new OutcomeImports({
      store: imports,
      files,
      clock,
      reserve: (teamId) => outcomeWorker.reserve(teamId),
      start: (id, teamId) => outcomeWorker.run(id, teamId),
    }),
    outcomeWorker,
  }
}
