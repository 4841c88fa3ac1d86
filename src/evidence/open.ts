import type { Logger } from 'pino'
import { BACKTEST_JOB, BacktestService } from '../backtest/service.ts'
import { BATCH_JOB } from '../batches/batch.ts'
import { tellBatchEnded } from '../batches/end-event.ts'
import { type BatchOrigins, openBatches } from '../batches/open.ts'
import type { BatchService } from '../batches/service.ts'
import { openJobs } from '../jobs/open.ts'
import type { JobCounts } from '../jobs/runner.ts'
import type { JobService } from '../jobs/service.ts'
import { PostgresJobStore } from '../jobs/store.ts'
import type { ModelService } from '../models/service.ts'
import type { OutcomeDefinitions } from '../outcomes/definitions.ts'
import { PostgresPerformanceStore } from '../performance/store.ts'
import type { Clock } from '../platform/clock.ts'
import type { Database } from '../platform/db/client.ts'
import { ProofService } from '../proof/service.ts'
import type { ScoreReadingService } from '../reading/service.ts'
import type { NightlyReplay } from '../replay/nightly.ts'
import { openReplay } from '../replay/open.ts'
import { REPLAY_JOB, type ReplayService } from '../replay/service.ts'
import { PostgresReplayStore } from '../replay/store.ts'
import { CheckpointSigner } from '../score-log/proof/checkpoint.ts'
import { PostgresTreeStore } from '../score-log/proof/tree-store.ts'
import type { OpenLogReader } from '../score-log/reading/open-reader.ts'

interface EvidenceOptions {
  readonly db: Database
  /** Bounds the calls of a store, see `guardStore`. */
  readonly guarded: <Store extends object>(store: Store) => Store
  /** What reads the log for all requests. */
  readonly logReader: OpenLogReader
  readonly reading: ScoreReadingService
  readonly models: ModelService
  readonly definitions: OutcomeDefinitions
  /** What batches need beside this. */
  readonly batches: BatchOrigins
  readonly jwtSecret: string | Buffer
  /** While the secret is rotated; else null. */
  readonly formerJwtSecret: string | null
  readonly clock: Clock
  readonly log: Logger
  /** The facts of an error that may appear in the service's log. */
  readonly factsOf: (error: unknown) => object
}

/** What is computed from the log again, and the jobs that do it. */
export interface Evidence {
  readonly services: {
    readonly jobs: JobService
    readonly replays: ReplayService
    readonly backtests: BacktestService
    readonly batches: BatchService
    readonly proofs: ProofService
  }
  readonly nightly: NightlyReplay
  readonly jobCounts: ReadonlyMap<string, JobCounts>
  readonly batchUpkeep: { readonly failures: number }
  close(): Promise<void>
}

/** Wires replay, backtest and proof, and begins to run their jobs. */
export function openEvidence(options: EvidenceOptions): Evidence {
  const { db, guarded, logReader, reading, models, definitions, clock, log, factsOf } = options
  const jobs = openJobs({
    store: guarded(new PostgresJobStore(db, { [BATCH_JOB]: tellBatchEnded })),
    clock,
    log,
    factsOf,
    cancelActions: { [BATCH_JOB]: 'batch.cancel' },
  })
  const store = guarded(new PostgresReplayStore(db))
  const replay = openReplay({
    store,
    // A card that was changed in the database must not be hidden by one in memory.
    openSource: logReader.openAnew,
    jobs: jobs.service,
    reading,
    clock,
    log,
    factsOf,
  })
  const backtests = new BacktestService({
    jobs: jobs.service,
    reading,
    models,
    source: logReader,
    outcomes: { definitions, store: guarded(new PostgresPerformanceStore(db)) },
    sizes: store,
  })
  const proofs = new ProofService({
    reading,
    blocks: logReader.blocks,
    models: logReader.models,
    trees: guarded(new PostgresTreeStore(db)),
    signer: new CheckpointSigner(options.jwtSecret, options.formerJwtSecret),
  })
  jobs.start({ [REPLAY_JOB]: replay.service.run, [BACKTEST_JOB]: backtests.run })
  replay.nightly.start()
  const batches = openBatches({
    ...options.batches,
    db,
    guarded,
    jobs,
    clock,
    log,
    factsOf,
  })
  return {
    services: {
      jobs: jobs.service,
      replays: replay.service,
      backtests,
      batches: batches.service,
      proofs,
    },
    nightly: replay.nightly,
    jobCounts: jobs.counts,
    batchUpkeep: batches.upkeep,
    close: async () => {
      await Promise.all([jobs.close(), replay.nightly.close()])
      await batches.close()
    },
  }
}
