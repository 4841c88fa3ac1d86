import type { Clock } from '../platform/clock.ts'
import type { Database } from '../platform/db/client.ts'
import type { LogReader } from '../score-log/reading/log-reader.ts'
import { OutcomeDefinitions } from './definitions.ts'
import { ImportDirectory } from './import-files.ts'
import { PostgresImportStore } from './import-store.ts'
import { OutcomeImports } from './imports.ts'
import { OutcomeMatcher } from './matcher.ts'
import { OutcomeService } from './service.ts'
import { PostgresOutcomeStore } from './store.ts'
import { OutcomeWorker, type OutcomeWorkLog } from './worker.ts'

interface OutcomesOptions {
  readonly db: Database
  /** Bounds the calls of a store, see `guardStore`. */
  readonly guarded: <Store extends object>(store: Store) => Store
  readonly reader: LogReader
  readonly clock: Clock
  /** For the files of imports. */
  readonly directory: string
  /** How long an outcome waits for its score. */
  readonly holdDays: number
  readonly log: OutcomeWorkLog
}

export interface OutcomeServices {
  readonly outcomes: OutcomeService
  readonly outcomeDefinitions: OutcomeDefinitions
  readonly outcomeImports: OutcomeImports
  readonly outcomeWorker: OutcomeWorker
}

/** Wires the outcomes and starts the work behind them, which `outcomeWorker.close` ends. */
export function openOutcomes(options: OutcomesOptions): OutcomeServices {
  const { db, guarded, reader, clock, directory, holdDays, log } = options
  const store = guarded(new PostgresOutcomeStore(db))
  const imports = guarded(new PostgresImportStore(db))
  const files = new ImportDirectory(directory)
  const matcher = new OutcomeMatcher(reader, store, holdDays)
  const outcomes = new OutcomeService(matcher, store, clock, holdDays)
  const outcomeWorker = new OutcomeWorker({ outcomes, store, imports, files, log })
  void outcomeWorker.start()
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
