import type { Readiness } from '../http/health.ts'
import type { KeyService } from '../identity/keys/service.ts'
import { KeysInUseStore } from '../identity/keys/store.ts'
import type { LogReader, ScoreLog } from '../log/index.ts'
import { WarmUp } from '../platform/caches/warm-up.ts'
import type { Deps } from '../platform/deps.ts'
import { errorFacts } from '../platform/error-facts.ts'
import { BatchThreads } from './batch-threads/batch-threads.ts'
import { ChallengerFailures } from './challenger-failures.ts'
import { ServingCache } from './model-cache.ts'
import { RemadeAnswers } from './remade-answers.ts'
import { ScoringService } from './service.ts'
import { DeploymentsInUseStore, PostgresServingStore } from './store.ts'
import { type ApplicantRouteOptions, TrialService } from './trial.ts'

interface ScoringOptions {
  readonly readiness: Readiness
  readonly keys: KeyService
  /**
   * Time for which a deployment is served without a check, and while the database is unavailable.
   */
  readonly ttlMs: number
  readonly unavailableTtlMs: number
  readonly scoreLog: ScoreLog
  readonly reader: LogReader
  /** Number of deployments with metrics of their own. */
  readonly countedDeployments: number
  readonly batchThreads: number
}

/** Wires scoring with what it keeps in memory, and begins to load what is in use. */
export function openScoring({ db, guarded, clock, log }: Deps, options: ScoringOptions) {
  const { readiness, keys, ttlMs, unavailableTtlMs } = options
  const challengerFailures = new ChallengerFailures(clock, (challenger, error) =>
    log.error({ ...challenger, err: errorFacts(error) }, 'a challenger failed'),
  )
  const serving = guarded(new PostgresServingStore(db))
  const cache = new ServingCache({
    store: serving,
    clock,
    ttlMs,
    unavailableTtlMs,
    challengerFaults: challengerFailures,
  })
  const scoring = new ScoringService({
    cache,
    challengerFailures,
    log: options.scoreLog,
    clock,
    countedDeployments: options.countedDeployments,
  })
  const { reader } = options
  const remadeAnswers = new RemadeAnswers({ reader, cache, models: serving, clock })
  const trials = new TrialService(cache, clock)
  const batchThreads = new BatchThreads({
    threads: options.batchThreads,
    source: serving,
    singles: () => scoring.singles,
    onCrash: (error) => log.error({ err: errorFacts(error) }, 'a thread for batches ended'),
  })
  const applicants: ApplicantRouteOptions = { trials, cache, serving }
  const deploymentsInUse = guarded(new DeploymentsInUseStore(db))
  const keysInUse = guarded(new KeysInUseStore(db))
  const warmUp = new WarmUp({
    clock,
    caches: [
      {
        list: (max) => deploymentsInUse.list(max),
        warm: (id) => cache.warm(id),
        isUnknown: (id) => cache.isUnknown(id),
      },
      {
        list: (max) => keysInUse.list(max),
        warm: (hash) => keys.warm(hash),
        isUnknown: (hash) => keys.isUnknownHash(hash),
      },
    ],
    onFailed: (error) =>
      log.warn({ err: errorFacts(error) }, 'deployments and keys could not be loaded yet'),
  })
  readiness.add('memory', () => warmUp.refusal)
  warmUp.start()
  const services = { scoring, remadeAnswers, applicants, batchThreads, warmUp }
  return { ...services, serving, cache, challengerFailures }
}
